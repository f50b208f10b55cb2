"""Starting what the tests of ``/mcp`` talk with: agents with tokens, servers for peers, the conformance suite."""

from __future__ import annotations

import hashlib
import re
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx2
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from mcp_types import CallToolResult, TextContent

from tests.live import HandMachine, Live, Person, until
from tests.live.processes import ROOT, Process
from tests.ports import free_port

PEERS = ROOT / "tests" / "peers" / "node_modules"


def agent_of(owner: Person, machine: HandMachine, handle: str) -> None:
    """Register an agent on a machine without a program."""
    reply = machine.client.post(
        "/api/machine/agents", json={"handle": handle, "runtime": "demo", "workdir": "/tmp/kitchen"}
    )
    assert reply.status_code == 201, reply.text


def token_of(live: Live, owner: Person, handle: str, room: int) -> str:
    """A bearer token for the owner's agent in this room, as they make one in the browser."""
    [(agent,)] = live.stored.rows(
        "SELECT a.id FROM rooms_agent a JOIN rooms_user u ON u.id = a.owner_id WHERE a.handle = ? AND u.username = ?",
        handle,
        owner.handle,
    )
    return _token(owner, f"{agent}:{room}")


def account_token(owner: Person) -> str:
    """A bearer token for their account."""
    return _token(owner, "account")


def _token(owner: Person, identity: str) -> str:
    page = owner.press("/connections/", "Make the token", {"identity": identity, "name": "by hand"})
    found = re.search(r'id="token"[^>]* value="(arc_[^"]+)"', page.html)
    assert found, page.text
    return found[1]


def revoke(live: Live, owner: Person, token: str) -> None:
    """End the connection of this token."""
    digest = hashlib.sha256(token.encode()).hexdigest()
    [(number,)] = live.stored.rows("SELECT id FROM rooms_connection WHERE token_hash = ?", digest)
    owner.post(f"/connections/{number}/revoke/")


@contextmanager
def peer_server(live: Live, token: str, *, what: str, server: str) -> Iterator[str]:
    """The URL of a server that puts ``token`` into each request: ``fixtures`` or the ``product``."""
    port = free_port()
    url = f"http://127.0.0.1:{port}"
    environment = live.environment | {
        "PUBLIC_URL": url,
        "AGENTROOM_SERVER": server,
        "AGENTROOM_PEER_TOKEN": token,
        "DJANGO_SETTINGS_MODULE": "agentroom.settings",
        # The suite calls as fast as it can.
        "MCP_CALLS_PER_MINUTE": "100000",
    }
    process = Process(
        [sys.executable, "-m", "tests.mcp.peer_server", str(port), what],
        env=environment,
        log=live.folder / f"peer-{what}-{server}-{port}.log",
    )
    try:
        until(lambda: "Ready" in process.said() or not process.alive, seconds=60, what=process.said)
        assert process.alive, process.said()
        yield f"{url}/mcp"
    finally:
        process.kill()


def suite(*args: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """Run the conformance suite against a server, in a folder where it may leave its findings."""
    return subprocess.run(
        [str(PEERS / ".bin" / "node"), str(PEERS / "@modelcontextprotocol/conformance/dist/index.js"), "server", *args],
        cwd=folder,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )


@asynccontextmanager
async def connected(url: str, token: str, mode: str = "auto") -> AsyncIterator[Client]:
    """The SDK's own client: ``auto`` speaks 2026-07-28, ``legacy`` the revisions with a handshake."""
    headers = {"Authorization": f"Bearer {token}"}
    try:
        async with (
            httpx2.AsyncClient(headers=headers, trust_env=False, timeout=30) as http,
            # Without its cache: each question reaches the server.
            Client(streamable_http_client(f"{url}/mcp", http_client=http), mode=mode, cache=None) as client,
        ):
            yield client
    except BaseExceptionGroup as group:
        raise innermost(group) from None


def innermost(error: BaseException) -> BaseException:
    """What a test's own failure is called again, out of the client's groups."""
    while isinstance(error, BaseExceptionGroup) and len(error.exceptions) == 1:
        error = error.exceptions[0]
    return error


async def call(client: Client, tool: str, **arguments: Any) -> dict[str, Any]:
    """What a tool answers, as data; AssertionError with its words when it is an error."""
    answer = await client.call_tool(tool, arguments)
    assert not answer.is_error, words_of(answer)
    assert isinstance(answer.structured_content, dict), answer
    return answer.structured_content


async def refused(client: Client, tool: str, **arguments: Any) -> str:
    """The words with which a tool refuses."""
    answer = await client.call_tool(tool, arguments)
    assert answer.is_error, answer.structured_content
    return words_of(answer)


def words_of(answer: CallToolResult) -> str:
    return "\n".join(block.text for block in answer.content if isinstance(block, TextContent))


@dataclass
class Kitchen:
    """alice's kitchen with her claude and codex, dana's gemini, bob and vera; and a cellar with claude and codex."""

    live: Live
    room: int
    cellar: int
    people: dict[str, Person]
    tokens: dict[str, str]
    """Of claude, codex and gemini in the kitchen; of claude below (``claude in the cellar``)."""

    def as_(self, agent: str, mode: str = "auto") -> AbstractAsyncContextManager[Client]:
        return connected(self.live.url, self.tokens[agent], mode)


@contextmanager
def kitchen_of(live: Live) -> Iterator[Kitchen]:
    alice = live.person("alice")
    room, cellar = alice.make_room("the kitchen"), alice.make_room("the cellar")
    members, viewers = alice.invite(room), alice.invite(room, role="viewer")
    people = {"alice": alice} | {handle: live.stranger(handle) for handle in ("bob", "dana", "vera")}
    for handle in ("bob", "dana", "vera"):
        people[handle].join(viewers if handle == "vera" else members, handle=handle, password="a long kitchen word")
    dana = people["dana"]
    laptop, desk = HandMachine(alice, "laptop"), HandMachine(dana, "desk")
    try:
        for owner, machine, handle in ((alice, laptop, "claude"), (alice, laptop, "codex"), (dana, desk, "gemini")):
            agent_of(owner, machine, handle)
            owner.seat_agent(room, handle)
        for handle in ("claude", "codex"):
            alice.seat_agent(cellar, handle)
        tokens = {
            "claude": token_of(live, alice, "claude", room),
            "codex": token_of(live, alice, "codex", room),
            "gemini": token_of(live, dana, "gemini", room),
            "claude in the cellar": token_of(live, alice, "claude", cellar),
        }
        yield Kitchen(live, room, cellar, people, tokens)
    finally:
        laptop.close()
        desk.close()
