"""A session's way to its inbox: a real runtime's client on one end, a server on the other, and the token in between."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from agentroom_machine.client import Client
from agentroom_machine.daemon.mail_door import MailDoor

TOKEN = "arc_secret"


class Server:
    """Answers as an MCP server does, and remembers what it was asked."""

    def __init__(self) -> None:
        self.requests: list[httpx.Request] = []
        self.down = False
        self.status = 200
        self.streams = False

    def answer(self, request: httpx.Request) -> httpx.Response:
        self.requests.append(request)
        if self.down:
            raise httpx.ConnectError("refused", request=request)
        message = json.loads(request.content)
        if self.status != 200:
            return httpx.Response(self.status, json={"error": "no"}, headers={"Retry-After": "7"})
        if "id" not in message:
            return httpx.Response(202)
        result: dict[str, Any] = {"echo": message.get("params")}
        if message["method"] == "initialize":
            result = {"protocolVersion": "2025-06-18"}
        reply = {"jsonrpc": "2.0", "id": message["id"], "result": result}
        if self.streams:
            note = {"jsonrpc": "2.0", "method": "notifications/progress", "params": {"progress": 1}}
            text = f": ping\n\nevent: message\ndata: {json.dumps(note)}\n\ndata: {json.dumps(reply)}\n\n"
            return httpx.Response(200, text=text, headers={"Content-Type": "text/event-stream"})
        return httpx.Response(200, json=reply)


class Runtime:
    """The program as a runtime starts it."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self.process = process

    async def say(self, message: object) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write((message if isinstance(message, str) else json.dumps(message)).encode() + b"\n")
        await self.process.stdin.drain()

    async def hear(self) -> dict[str, Any]:
        assert self.process.stdout is not None
        async with asyncio.timeout(10):
            heard: dict[str, Any] = json.loads(await self.process.stdout.readline())
            return heard


@pytest.fixture
def server() -> Server:
    return Server()


@pytest.fixture
async def door(server: Server) -> AsyncIterator[MailDoor]:
    transport = httpx.MockTransport(server.answer)
    async with Client("http://here:8000", "arm_machine", transport) as client:
        door = MailDoor(client, "http://public.example/mcp", TOKEN)
        await door.start()
        yield door
        await door.close()


@pytest.fixture
async def runtime(door: MailDoor) -> AsyncIterator[Runtime]:
    tools = door.tools()
    process = await asyncio.create_subprocess_exec(
        tools.command, *tools.args, stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE
    )
    yield Runtime(process)
    if process.returncode is None:
        process.kill()
    await process.wait()


def call(number: int, method: str = "tools/call", **params: object) -> dict[str, object]:
    return {"jsonrpc": "2.0", "id": number, "method": method, "params": params}


async def test_a_call_goes_to_the_server_with_the_sessions_own_token(server: Server, runtime: Runtime) -> None:
    await runtime.say(call(1, "initialize", protocolVersion="2025-06-18"))
    assert (await runtime.hear())["id"] == 1
    await runtime.say({"jsonrpc": "2.0", "method": "notifications/initialized"})
    await runtime.say(call(2, name="agents_read_inbox", arguments={}))
    assert (await runtime.hear())["result"]["echo"]["name"] == "agents_read_inbox"
    first, *_, last = server.requests
    assert last.headers["Authorization"] == f"Bearer {TOKEN}"
    assert str(last.url) == "http://here:8000/mcp"
    assert last.headers["Host"] == "public.example"
    assert "MCP-Protocol-Version" not in first.headers
    assert last.headers["MCP-Protocol-Version"] == "2025-06-18"


async def test_a_client_of_the_newer_kind_is_understood_by_its_own_words(server: Server, runtime: Runtime) -> None:
    meta = {"io.modelcontextprotocol/protocolVersion": "2026-07-28"}
    await runtime.say(call(1, name="agents_send", arguments={}, _meta=meta))
    await runtime.hear()
    headers = server.requests[0].headers
    assert headers["MCP-Protocol-Version"] == "2026-07-28"
    assert (headers["Mcp-Method"], headers["Mcp-Name"]) == ("tools/call", "agents_send")
    await runtime.say(call(2, "resources/read", uri="agentroom://böx", _meta=meta))
    await runtime.hear()
    assert server.requests[1].headers["Mcp-Name"].startswith("=?base64?")


async def test_every_message_of_a_stream_arrives_in_order(server: Server, runtime: Runtime) -> None:
    server.streams = True
    await runtime.say(call(1, name="x"))
    assert (await runtime.hear())["method"] == "notifications/progress"
    assert (await runtime.hear())["id"] == 1


async def test_many_calls_at_once_are_each_answered_once(server: Server, runtime: Runtime) -> None:
    for number in range(50):
        await runtime.say(call(number, name="x"))
    assert sorted([(await runtime.hear())["id"] for _ in range(50)]) == list(range(50))


@pytest.mark.parametrize(
    ("status", "words"),
    [(401, "connection has ended"), (429, "Wait 7 s"), (500, "answered 500")],
)
async def test_a_refusal_is_said_in_words(server: Server, runtime: Runtime, status: int, words: str) -> None:
    server.status = status
    await runtime.say(call(1, name="x"))
    assert words in (await runtime.hear())["error"]["message"]


async def test_a_server_that_is_away_is_said_and_the_next_call_works(server: Server, runtime: Runtime) -> None:
    server.down = True
    await runtime.say(call(1, name="x"))
    assert "can't be reached" in (await runtime.hear())["error"]["message"]
    server.down = False
    await runtime.say(call(2, name="x"))
    assert "result" in await runtime.hear()


@pytest.mark.parametrize("line", ["{", "[]", '"x"'])
async def test_what_is_no_message_is_an_error_and_ends_nothing(runtime: Runtime, line: str) -> None:
    await runtime.say(line)
    assert "error" in await runtime.hear()
    await runtime.say(call(2, name="x"))
    assert (await runtime.hear())["id"] == 2


async def test_the_token_is_in_no_command_line_and_no_environment(door: MailDoor, runtime: Runtime) -> None:
    seen = Path(f"/proc/{runtime.process.pid}")
    for name in ("cmdline", "environ"):
        assert TOKEN not in (seen / name).read_text()
    assert door.path.stat().st_mode & 0o077 == 0
    assert door.folder.stat().st_mode & 0o077 == 0


async def test_the_program_ends_with_the_door(door: MailDoor, runtime: Runtime) -> None:
    await runtime.say(call(1, name="x"))
    await runtime.hear()
    await door.close()
    async with asyncio.timeout(10):
        assert await runtime.process.wait() == 0
    assert not door.folder.exists()


def test_without_a_daemon_it_says_so() -> None:
    program = Path(sys.modules[MailDoor.__module__].__file__ or "").parents[1] / "mail_program.py"
    done = subprocess.run([sys.executable, program, "/nonexistent/mail"], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "does not listen" in done.stderr
