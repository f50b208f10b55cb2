"""The whole way over HTTP, with the SDK's own client: from a 401 at ``/mcp`` to a call as whom the person chose."""

from __future__ import annotations

import base64
import hashlib
import secrets
import time
from collections.abc import AsyncIterator, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

import httpx
import httpx2
import pytest
from mcp import Client
from mcp.client.auth import AuthorizationCodeResult, OAuthClientProvider
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.auth import OAuthClientInformationFull, OAuthClientMetadata, OAuthToken
from pydantic import AnyUrl

from tests.live import HandMachine, Live, Person, until
from tests.mcp.peers import agent_of
from tests.oauth.at_the_server import lets_in

CALLBACK = "http://127.0.0.1:41414/callback"


@dataclass
class Kept:
    """What the SDK's client keeps on the person's disk."""

    tokens: OAuthToken | None = None
    client: OAuthClientInformationFull | None = None
    made: list[str] = field(default_factory=list)

    async def get_tokens(self) -> OAuthToken | None:
        return self.tokens

    async def set_tokens(self, tokens: OAuthToken) -> None:
        self.tokens = tokens
        self.made.append(tokens.access_token)

    async def get_client_info(self) -> OAuthClientInformationFull | None:
        return self.client

    async def set_client_info(self, client_info: OAuthClientInformationFull) -> None:
        self.client = client_info


@asynccontextmanager
async def signing_in(live: Live, person: Person, identity: str, kept: Kept) -> AsyncIterator[Client]:
    """The SDK's client, which knows nothing but the URL, and a person who answers in the browser."""
    led: list[str] = []

    async def redirect(url: str) -> None:
        led.append(lets_in(person, url, identity))

    async def callback() -> AuthorizationCodeResult:
        said = {name: values[0] for name, values in parse_qs(urlsplit(led[-1]).query).items()}
        return AuthorizationCodeResult(code=said["code"], state=said["state"], iss=said["iss"])

    metadata = OAuthClientMetadata(
        client_name="SDK", redirect_uris=[AnyUrl(CALLBACK)], grant_types=["authorization_code", "refresh_token"]
    )
    provider = OAuthClientProvider(f"{live.url}/mcp", metadata, kept, redirect, callback)
    async with (
        httpx2.AsyncClient(auth=provider, trust_env=False, timeout=30) as http,
        Client(streamable_http_client(f"{live.url}/mcp", http_client=http), cache=None) as client,
    ):
        yield client


@pytest.fixture
def alice(live: Live) -> Person:
    return live.person("alice")


@pytest.fixture
def identity(live: Live, alice: Person) -> Iterator[str]:
    """Alice's claude in a kitchen of hers, as the consent page names it."""
    kitchen = alice.make_room(f"kitchen {secrets.token_hex(3)}")
    machine = HandMachine(alice, f"laptop {secrets.token_hex(3)}")
    handle = f"claude{secrets.token_hex(3)}"
    agent_of(alice, machine, handle)
    alice.seat_agent(kitchen, handle)
    [(agent,)] = live.stored.rows("SELECT id FROM rooms_agent WHERE handle = ?", handle)
    yield f"{agent}:{kitchen}"
    machine.close()


async def test_the_url_alone_leads_a_client_through_the_browser_and_in(
    live: Live, alice: Person, identity: str
) -> None:
    kept = Kept()
    async with signing_in(live, alice, identity, kept) as client:
        assert (await client.list_tools()).tools
    assert kept.tokens is not None
    assert kept.tokens.expires_in == 12 * 3600
    # A later start takes what its refresh token gives, and asks nobody.
    assert kept.client is not None
    async with httpx.AsyncClient(base_url=live.url, trust_env=False) as http:
        renewed = await http.post(
            "/identity/o/api/token",
            data={
                "grant_type": "refresh_token",
                "refresh_token": kept.tokens.refresh_token or "",
                "client_id": kept.client.client_id or "",
                "client_secret": kept.client.client_secret or "",
                "resource": f"{live.url}/mcp",
            },
        )
    kept.tokens = OAuthToken.model_validate(renewed.json())
    async with signing_in(live, live.stranger(), identity, kept) as client:
        assert (await client.list_tools()).tools
    short = hashlib.sha256(kept.made[0].encode()).hexdigest()[:8]
    shown = alice.get("/connections/").text
    assert f"signed in · {short} · since" in shown
    assert shown.count("SDK ") == 1


def program(live: Live, person: Person, identity: str = "account") -> tuple[httpx.Client, dict[str, Any]]:
    """A public client that signed in: its HTTP, and its tokens with its ``client_id``."""
    http = httpx.Client(base_url=live.url, trust_env=False, timeout=30)
    introduced = http.post(
        "/identity/o/api/clients",
        json={
            "client_name": "Racer",
            "redirect_uris": [CALLBACK],
            "grant_types": ["authorization_code", "refresh_token"],
            "token_endpoint_auth_method": "none",
        },
    ).json()
    verifier = secrets.token_urlsafe(48)
    asked = {
        "response_type": "code",
        "client_id": introduced["client_id"],
        "redirect_uri": CALLBACK,
        "code_challenge": base64.urlsafe_b64encode(hashlib.sha256(verifier.encode()).digest()).rstrip(b"=").decode(),
        "code_challenge_method": "S256",
    }
    led = lets_in(person, f"{live.url}/identity/o/authorize?{urlencode(asked)}", identity)
    made = http.post(
        "/identity/o/api/token",
        data={
            "grant_type": "authorization_code",
            "code": parse_qs(urlsplit(led).query)["code"][0],
            "code_verifier": verifier,
            "redirect_uri": CALLBACK,
            "client_id": introduced["client_id"],
        },
    )
    assert made.status_code == 200, made.text
    return http, made.json() | {"client_id": introduced["client_id"]}


def test_of_parallel_refreshes_one_wins_and_the_others_hear_so_calmly(live: Live, alice: Person) -> None:
    http, held = program(live, alice)
    with ThreadPoolExecutor(4) as pool:
        for _ in range(3):
            fields = {
                "grant_type": "refresh_token",
                "refresh_token": held["refresh_token"],
                "client_id": held["client_id"],
            }
            answers = list(pool.map(lambda given: http.post("/identity/o/api/token", data=given), [fields] * 4))
            assert sorted(answer.status_code for answer in answers) == [200, 400, 400, 400]
            assert {a.json()["error"] for a in answers if a.status_code == 400} == {"invalid_grant"}
            [held["refresh_token"]] = [a.json()["refresh_token"] for a in answers if a.status_code == 200]
    http.close()


def test_a_revoked_connection_is_shut_out_within_five_seconds(live: Live, alice: Person, identity: str) -> None:
    http, held = program(live, alice, identity)

    def status() -> int:
        headers = {"Authorization": f"Bearer {held['access_token']}"}
        return http.post("/mcp", json={"jsonrpc": "2.0", "id": 1, "method": "ping"}, headers=headers).status_code

    assert status() != 401
    short = hashlib.sha256(held["access_token"].encode()).hexdigest()
    [(connection,)] = live.stored.rows("SELECT id FROM rooms_connection WHERE token_hash = ?", short)
    alice.post(f"/connections/{connection}/revoke/")
    since = time.monotonic()
    until(lambda: status() == 401, seconds=10, what="a refusal")
    assert time.monotonic() - since < 6, "five seconds, and one for a busy machine"
    http.close()


def test_no_token_stands_in_the_servers_log_or_database(live: Live, alice: Person) -> None:
    http, held = program(live, alice)
    assert live.server is not None
    everything = live.server.said() + "".join(
        str(live.stored.rows(f"SELECT * FROM {table}"))  # noqa: S608 - our own names
        for table in ("allauth_idp_oidc_token", "allauth_idp_oidc_client", "rooms_connection", "rooms_consent")
    )
    for token in (held["access_token"], held["refresh_token"]):
        assert token not in everything
    http.close()
