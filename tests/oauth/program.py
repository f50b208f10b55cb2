"""A program that signs in, as Claude Code or Codex do: it introduces itself, sends a person to the browser, waits."""

from __future__ import annotations

import base64
import hashlib
import secrets
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

from django.conf import settings
from django.http import HttpResponseBase
from django.test import Client

from rooms.models import User

AUTHORIZE = "/identity/o/authorize"
TOKEN = "/identity/o/api/token"
CLIENTS = "/identity/o/api/clients"
CALLBACK = "http://127.0.0.1:41414/callback"
DEVICE_GRANT = "urn:ietf:params:oauth:grant-type:device_code"
GRANTS = ["authorization_code", "refresh_token", DEVICE_GRANT]


def browser_of(user: User) -> Client:
    client = Client()
    client.force_login(user, "django.contrib.auth.backends.ModelBackend")
    return client


def told(location: str) -> dict[str, str]:
    """What the address that a browser is sent to tells the program."""
    return {name: values[0] for name, values in parse_qs(urlsplit(location).query).items()}


@dataclass
class Program:
    id: str
    secret: str = ""
    callback: str = CALLBACK
    verifier: str = field(default_factory=lambda: secrets.token_urlsafe(48))
    http: Client = field(default_factory=Client)

    @classmethod
    def introduced(cls, name: str = "Claude Code", callback: str = CALLBACK, **more: Any) -> Program:
        answer = introduce(client_name=name, redirect_uris=[callback], **more)
        assert answer.status_code == 201, answer.content
        made = answer.json()
        return cls(made["client_id"], made.get("client_secret", ""), callback)

    def asks(self, **more: str | None) -> dict[str, str]:
        """The query of its authorization request; None leaves a parameter out."""
        challenge = base64.urlsafe_b64encode(hashlib.sha256(self.verifier.encode()).digest()).rstrip(b"=").decode()
        given: dict[str, str | None] = {
            "response_type": "code",
            "client_id": self.id,
            "redirect_uri": self.callback,
            "scope": "agentroom",
            "state": "somewhere",
            "code_challenge": challenge,
            "code_challenge_method": "S256",
            "resource": settings.MCP_RESOURCE,
        }
        return {name: value for name, value in (given | more).items() if value is not None}

    def opens(self, browser: Client, **more: str | None) -> HttpResponseBase:
        """The person's browser at the consent page."""
        answer: HttpResponseBase = browser.get(AUTHORIZE, self.asks(**more))
        return answer

    def consented(self, browser: Client, identity: str, action: str = "grant", /, **more: str | None) -> Any:
        """The person answers the consent page."""
        page = self.opens(browser, **more)
        assert page.status_code == 200, page
        form = page.context["form"]  # type: ignore[attr-defined]
        fields = {
            "request": form["request"].value(),
            "scopes": form["scopes"].value(),
            "identity": identity,
            "action": action,
        }
        return browser.post(AUTHORIZE, fields)

    def post(self, path: str, fields: dict[str, str]) -> Any:
        identified = {"client_id": self.id} | ({"client_secret": self.secret} if self.secret else {})
        return self.http.post(path, urlencode(identified | fields), content_type="application/x-www-form-urlencoded")

    def redeems(self, code: str, **more: str) -> Any:
        fields = {
            "grant_type": "authorization_code",
            "code": code,
            "redirect_uri": self.callback,
            "code_verifier": self.verifier,
        }
        return self.post(TOKEN, fields | more)

    def refreshes(self, refresh_token: str, **more: str) -> Any:
        return self.post(TOKEN, {"grant_type": "refresh_token", "refresh_token": refresh_token} | more)

    def signs_in(self, user: User, identity: str = "account", **more: str | None) -> dict[str, Any]:
        """The whole way, to the tokens."""
        answer = self.consented(browser_of(user), identity, **more)
        assert answer.status_code == 302, answer.content
        tokens = self.redeems(told(answer["Location"])["code"])
        assert tokens.status_code == 200, tokens.content
        made: dict[str, Any] = tokens.json()
        return made


def introduce(**metadata: Any) -> Any:
    given = {"token_endpoint_auth_method": "none", "grant_types": GRANTS, "response_types": ["code"]} | metadata
    return Client().post(CLIENTS, given, content_type="application/json")
