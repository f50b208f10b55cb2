"""What allauth's authorization server asks us: who we are, and which programs and resources it may know."""

from __future__ import annotations

import secrets
from typing import Any
from urllib.parse import urlsplit

from allauth.idp.oidc.adapter import DefaultOIDCAdapter
from allauth.idp.oidc.models import Client
from django.conf import settings
from django.core.exceptions import ValidationError

from agentroom.auth import SCOPE, for_us
from rooms import membership, tokens

LOOPBACK = ("127.0.0.1", "localhost", "::1")
APPS = ("cursor", "vscode", "vscode-insiders")
"""Schemes under which desktop programs that are known take their answer."""
GRANTS = {"authorization_code", "refresh_token", "urn:ietf:params:oauth:grant-type:device_code"}
MOST_UNUSED = 1000


class Adapter(DefaultOIDCAdapter):  # type: ignore[misc]
    scope_display = {
        SCOPE: "Read and send messages as whom you choose below",
        "openid": "Know which account this is, by a number",
    }

    def get_issuer(self) -> str:
        return str(settings.PUBLIC_URL)

    def generate_client_secret(self) -> str:
        # Programs put it into a Basic header, and not all of them encode what is special there.
        return secrets.token_urlsafe(48)

    def generate_user_code(self) -> str:
        return tokens.code()

    def populate_server_metadata(self, data: dict[str, Any]) -> None:
        for name, value in data.items():
            if name.endswith(("_endpoint", "_uri")):
                data[name] = f"{settings.PUBLIC_URL}{urlsplit(value).path}"
        # Signing out here is a person's own doing, on our own page.
        del data["end_session_endpoint"]
        data |= {
            "scopes_supported": ["openid", SCOPE],
            "response_types_supported": ["code"],
            "grant_types_supported": sorted(GRANTS),
            "authorization_response_iss_parameter_supported": True,
            "client_id_metadata_document_supported": settings.IDP_OIDC_CIMD_ENABLED,
            "revocation_endpoint_auth_methods_supported": data["token_endpoint_auth_methods_supported"],
        }

    def validate_resource_uris(self, *, uris: list[str], **more: Any) -> None:
        if not for_us(uris):
            raise ValidationError(f"This server has tokens for {settings.MCP_RESOURCE} only.")

    def validate_client_registration(self, *, client: Client, client_metadata: dict[str, Any], **more: Any) -> None:
        uris = client.get_redirect_uris()
        # Kept as lines of a text: what would read differently from there is refused too.
        if (
            not 1 <= len(uris) <= 10
            or uris != client_metadata["redirect_uris"]
            or not all(map(may_take_the_answer, uris))
        ):
            raise ValidationError("redirect_uris: at most ten, each https, or http on this computer (127.0.0.1).")
        if set(client.get_response_types()) != {"code"}:
            raise ValidationError("response_types: only code.")
        if not set(client.get_grant_types()) <= GRANTS:
            raise ValidationError("grant_types: only authorization_code, refresh_token and device_code.")
        if not membership.room_for_a_program(MOST_UNUSED):
            raise ValidationError("Too many programs introduced themselves just now. Try again in ten minutes.")
        # Few programs name our scope when they introduce themselves; who they may be is asked at each sign-in.
        client.set_scopes([SCOPE, "openid"])
        client.set_default_scopes([SCOPE])
        client.data = {"dcr": True}


def may_take_the_answer(uri: str) -> bool:
    """Whether a code may be sent there: to a site, to a program on the person's own computer, to a known app."""
    if len(uri) > 2000 or not uri.isascii() or not uri.isprintable() or set(uri) & set(' *#\\"<>'):
        return False
    try:
        where = urlsplit(uri)
        _ = where.port
    except ValueError:
        return False
    if "@" in where.netloc:
        return False
    if where.scheme == "http":
        return where.hostname in LOOPBACK
    return bool(where.hostname) and where.scheme in ("https", *APPS)
