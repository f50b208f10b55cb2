"""The way of one session to its inbox on the server: its tools speak to us, and we hold the token.

The runtime starts ``mail_program`` as a server of tools (MCP over its standard streams), which reaches a Unix socket of
ours. So no token is ever in a command line, in an environment or where an agent can read it, and a confined process
needs no network for it.
"""

from __future__ import annotations

import asyncio
import base64
import contextlib
import json
import os
import shutil
import sys
import tempfile
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx

from agentroom_machine.client import Client

PROGRAM = Path(__file__).parent.parent / "mail_program.py"
LATEST_OF_OLD = "2025-11-25"
MAX_LINE = 8_000_000
_VERSION = "io.modelcontextprotocol/protocolVersion"
_UNREACHABLE = -32001
_QUIET = httpx.Timeout(60, connect=10)
"""The server says something each 15 s while it has an answer open."""


@dataclass(frozen=True)
class Tools:
    """How a runtime starts the server of tools for mail."""

    command: str
    args: list[str]


class MailDoor:
    """A Unix socket that only this person's programs can reach."""

    def __init__(self, client: Client, url: str, token: str) -> None:
        self._client, self._token = client, token
        self._host = urlsplit(url).netloc
        self._path = urlsplit(url).path
        # Short, because a socket's path has room for about a hundred characters.
        self.folder = Path(tempfile.mkdtemp(prefix="ar-"))
        self.path = self.folder / "mail"
        self._server: asyncio.Server | None = None
        self._open: set[asyncio.Task[None]] = set()

    def tools(self, folder: Path | None = None) -> Tools:
        """What the runtime starts; ``folder``: where its process sees ours."""
        at = (folder or self.folder) / self.path.name
        return Tools(os.path.realpath(sys.executable), ["-I", "-S", str(PROGRAM), str(at)])

    async def start(self) -> None:
        self._server = await asyncio.start_unix_server(self._accept, str(self.path), limit=MAX_LINE)
        self.path.chmod(0o600)

    async def close(self) -> None:
        if self._server:
            self._server.close()
        for task in list(self._open):
            task.cancel()
        await asyncio.gather(*self._open, return_exceptions=True)
        await asyncio.to_thread(shutil.rmtree, self.folder, ignore_errors=True)

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._open.add(task)
        line = _Line(self, writer)
        try:
            while text := await reader.readline():
                line.take(text)
        except (OSError, ValueError, asyncio.CancelledError):
            pass  # a line that is too long, or a runtime that ended: it hears nothing more
        finally:
            await line.close()
            self._open.discard(task)
            writer.close()

    def send(self, message: Mapping[str, Any], version: str) -> contextlib.AbstractAsyncContextManager[httpx.Response]:
        headers = {
            "Authorization": f"Bearer {self._token}",
            "Host": self._host,
            "Accept": "application/json, text/event-stream",
            **_headers(message, version),
        }
        return self._client.stream("POST", self._path, json=message, headers=headers, timeout=_QUIET)


class _Line:
    """One runtime's open line: each request of it goes to the server by itself."""

    def __init__(self, door: MailDoor, writer: asyncio.StreamWriter) -> None:
        self._door, self._writer = door, writer
        self._version = LATEST_OF_OLD
        self._going: dict[str, asyncio.Task[None]] = {}

    def take(self, text: bytes) -> None:
        try:
            message = json.loads(text)
        except ValueError:
            self._say({"jsonrpc": "2.0", "id": None, "error": {"code": -32700, "message": "That is no JSON."}})
            return
        if not isinstance(message, dict):
            self._say({"jsonrpc": "2.0", "id": None, "error": {"code": -32600, "message": "One message a line."}})
            return
        if message.get("method") == "notifications/cancelled":
            given_up = self._going.get(_key((message.get("params") or {}).get("requestId")))
            if given_up:
                given_up.cancel()
            return
        key = _key(message["id"]) if "id" in message else f"notification {id(message)}"
        task = asyncio.create_task(self._carry(message))
        self._going[key] = task
        task.add_done_callback(lambda done: self._going.pop(key, None) if self._going.get(key) is done else None)

    async def close(self) -> None:
        going = list(self._going.values())
        for task in going:
            task.cancel()
        await asyncio.gather(*going, return_exceptions=True)

    async def _carry(self, message: dict[str, Any]) -> None:
        said = False
        try:
            async with self._door.send(message, self._version) as reply:
                async for answer in _answers(reply):
                    self._learn(message, answer)
                    said = said or answer.get("id") == message.get("id")
                    self._say(answer)
            words = {
                401: "This agent's connection has ended.",
                429: f"Too many calls. Wait {reply.headers.get('Retry-After', 'a few')} s.",
            }.get(reply.status_code, f"Agentroom's server answered {reply.status_code}.")
        except httpx.HTTPError as error:
            words = f"Agentroom's server can't be reached now ({type(error).__name__}). Try again in a minute."
        if not said and "id" in message:
            self._say({"jsonrpc": "2.0", "id": message["id"], "error": {"code": _UNREACHABLE, "message": words}})

    def _learn(self, message: Mapping[str, Any], answer: Mapping[str, Any]) -> None:
        result = answer.get("result")
        if message.get("method") == "initialize" and isinstance(result, dict):
            self._version = str(result.get("protocolVersion") or self._version)

    def _say(self, message: Mapping[str, Any]) -> None:
        if not self._writer.is_closing():
            self._writer.write(json.dumps(message, ensure_ascii=False).encode() + b"\n")


def _key(id: Any) -> str:
    return json.dumps(id)


def _headers(message: Mapping[str, Any], version: str) -> dict[str, str]:
    """What HTTP wants said beside the message. ``version`` is that of the line, where the message names none."""
    params = message.get("params")
    params = params if isinstance(params, dict) else {}
    meta = params.get("_meta")
    said = meta.get(_VERSION) if isinstance(meta, dict) else None
    if not isinstance(said, str):
        return {} if message.get("method") == "initialize" else {"MCP-Protocol-Version": version}
    headers = {"MCP-Protocol-Version": said, "Mcp-Method": str(message.get("method") or "")}
    name = params.get("uri") if message.get("method") == "resources/read" else params.get("name")
    if isinstance(name, str) and message.get("method") in {"tools/call", "resources/read", "prompts/get"}:
        headers["Mcp-Name"] = name if _plain(name) else f"=?base64?{base64.b64encode(name.encode()).decode()}?="
    return headers


def _plain(text: str) -> bool:
    return text.isascii() and text.isprintable() and text == text.strip() and not text.startswith("=?")


async def _answers(reply: httpx.Response) -> AsyncIterator[dict[str, Any]]:
    """Every message in a reply, as it comes: one of JSON, or a stream of them."""
    kind = reply.headers.get("Content-Type", "")
    if kind.startswith("text/event-stream"):
        data: list[str] = []
        async for line in reply.aiter_lines():
            if line.startswith("data:"):
                data.append(line[5:].removeprefix(" "))
            elif not line and data:
                if (message := _message("\n".join(data))) is not None:
                    yield message
                data = []
        return
    content = await reply.aread()
    if kind.startswith("application/json") and (message := _message(content)) is not None and "jsonrpc" in message:
        yield message


def _message(text: str | bytes) -> dict[str, Any] | None:
    with contextlib.suppress(ValueError):
        message = json.loads(text)
        if isinstance(message, dict):
            return message
    return None
