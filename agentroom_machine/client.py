"""Talks to the server: one method for each call, errors as Offline or Rejected.

A token is the machine's, or for the account chat the account connection's.
"""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Callable, Sequence
from http import HTTPStatus
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import httpx
from pydantic import BaseModel, TypeAdapter, ValidationError

from agentroom_machine import wire
from agentroom_machine.errors import Offline, Rejected

Skip = Sequence[tuple[str, str]]
"""What to leave out of the chat: ("skip_topics", a topic) or ("skip_sessions", a session's name)."""
_AGENTS = TypeAdapter(list[wire.AgentSeen])
_CALL = httpx.Timeout(20, connect=10)
_FILE = httpx.Timeout(120, connect=10)
_FOREIGN = "What answers there does not speak like an Agentroom server"


class Client:
    def __init__(self, server: str, token: str | None, transport: httpx.AsyncBaseTransport | None = None) -> None:
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        self._http = httpx.AsyncClient(
            base_url=server.rstrip("/"), headers=headers, timeout=_CALL, transport=transport, follow_redirects=False
        )

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        await self._http.aclose()

    async def pair(self, request: wire.PairRequest) -> wire.PairReply:
        return await self._ask("POST", "/api/machine/pairings", wire.PairReply, request)

    async def pairing(self) -> wire.PairState:
        return await self._ask("GET", "/api/machine/pairing", wire.PairState)

    async def me(self) -> wire.PairState:
        return await self._ask("GET", "/api/machine/me", wire.PairState)

    async def agents(self) -> list[wire.AgentSeen]:
        reply = await self._send("GET", "/api/machine/agents")
        return _read(_AGENTS.validate_json, reply)

    async def add_agent(self, agent: wire.AgentNew) -> wire.AgentConfig:
        return await self._ask("POST", "/api/machine/agents", wire.AgentConfig, agent)

    async def edit_agent(self, handle: str, edit: wire.AgentEdit) -> wire.AgentConfig:
        return await self._ask("PATCH", f"/api/machine/agents/{handle}", wire.AgentConfig, edit)

    async def remove_agent(self, handle: str) -> None:
        await self._send("DELETE", f"/api/machine/agents/{handle}")

    async def sync(self, request: wire.SyncRequest) -> wire.SyncReply:
        timeout = httpx.Timeout(request.wait + 15, connect=10)
        return await self._ask("POST", "/api/machine/sync", wire.SyncReply, request, timeout)

    async def start(self, turn_id: int, request: wire.StartRequest) -> wire.StartReply:
        return await self._ask("POST", f"/api/machine/turns/{turn_id}/start", wire.StartReply, request)

    async def report(self, report: wire.Report) -> wire.Receipt:
        return await self._ask("POST", "/api/machine/facts", wire.Receipt, report, _FILE)

    async def stop(self, request: wire.StopRequest) -> wire.StopReply:
        return await self._ask("POST", "/api/machine/stop", wire.StopReply, request)

    async def has_file(self, sha256: str) -> bool:
        # Its answer has no body that could say whose it is: a wrong 404 costs one upload, which is answered in words.
        reply = await self._call("HEAD", f"/api/machine/files/{sha256}")
        if reply.status_code >= 300 and reply.status_code != 404:
            _raise(reply)
        return reply.status_code != 404

    async def put_file(self, sha256: str, path: Path) -> None:
        """Sends a file's bytes, read as they go out, so that a big one never stands in memory whole."""
        size = path.stat().st_size
        headers = {"Content-Type": "application/octet-stream", "Content-Length": str(size)}
        await self._send("PUT", f"/api/machine/files/{sha256}", content=_pieces(path), headers=headers, timeout=_FILE)

    async def attachment(self, turn_id: int, sha256: str) -> bytes:
        """The bytes of a file attached to a request; more than MAX_FILE is refused while it arrives."""
        url = f"/api/machine/turns/{turn_id}/files/{sha256}"
        try:
            async with self._http.stream("GET", url, timeout=_FILE) as reply:
                if reply.status_code >= 300:
                    await reply.aread()
                    _raise(reply)
                body = bytearray()
                async for piece in reply.aiter_bytes():
                    body += piece
                    if len(body) > wire.MAX_FILE:
                        raise Rejected(413, "too_large", "The attached file is too large.")
        except httpx.TransportError as error:
            raise Offline(_why(error)) from None
        return bytes(body)

    async def connect(self, new: wire.ConnectionNew) -> wire.ConnectionMade:
        return await self._ask("POST", "/api/machine/connections", wire.ConnectionMade, new)

    async def chat_send(self, new: wire.ChatNew, key: str) -> wire.ChatMessage:
        """With the same key it is sent once, however often this is called."""
        headers = {"Content-Type": "application/json", "Idempotency-Key": key}
        reply = await self._send("POST", "/api/chat/messages", content=new.model_dump_json(), headers=headers)
        return _read(wire.ChatMessage.model_validate_json, reply)

    async def chat_read(self, *, after: int, skip: Skip = (), limit: int = wire.CHAT_PAGE) -> wire.ChatPage:
        asked = [("after", str(after)), ("limit", str(limit)), *skip]
        return _read(wire.ChatPage.model_validate_json, await self._send("GET", "/api/chat/messages", params=asked))

    async def chat_wait(self, *, after: int, skip: Skip = (), timeout: float = wire.MAX_WAIT) -> wire.ChatHeard:
        asked = [("after", str(after)), ("timeout", str(timeout)), *skip]
        patience = httpx.Timeout(timeout + 15, connect=10)
        reply = await self._send("GET", "/api/chat/wait", params=asked, timeout=patience)
        return _read(wire.ChatHeard.model_validate_json, reply)

    def stream(self, method: str, path: str, **options: Any) -> contextlib.AbstractAsyncContextManager[httpx.Response]:
        """Whatever another door of the same server says, as it comes."""
        return self._http.stream(method, path, **options)

    async def reachable(self) -> httpx.Response:
        """GET /healthz: the raw answer, for the doctor, who looks at the clock in it too."""
        try:
            return await self._http.get("/healthz")
        except httpx.TransportError as error:
            raise Offline(_why(error)) from None

    async def _ask[Reply: BaseModel](
        self,
        method: str,
        path: str,
        reply: type[Reply],
        body: BaseModel | None = None,
        timeout: httpx.Timeout = _CALL,
    ) -> Reply:
        content = body.model_dump_json(exclude_none=method == "PATCH") if body else None
        answer = await self._send(
            method, path, content=content, headers={"Content-Type": "application/json"} if body else {}, timeout=timeout
        )
        return _read(reply.model_validate_json, answer)

    async def _send(self, method: str, path: str, **options: Any) -> httpx.Response:
        reply = await self._call(method, path, **options)
        if reply.status_code >= 300:
            _raise(reply)
        return reply

    async def _call(self, method: str, path: str, **options: Any) -> httpx.Response:
        try:
            return await self._http.request(method, path, **options)
        except (httpx.TransportError, httpx.InvalidURL) as error:
            raise Offline(_why(error)) from None


def _raise(reply: httpx.Response) -> None:
    if reply.status_code >= 500 or reply.status_code in {408, 425, 429}:
        raise Offline(f"The server answers {reply.status_code} for now.")
    try:
        problem = wire.Problem.model_validate_json(reply.content)
    except ValidationError:
        # A proxy whose server is away, a firewall or a captive portal: what they say is not the server's no.
        if reply.status_code != HTTPStatus.REQUEST_ENTITY_TOO_LARGE:
            words = "The server sends us elsewhere" if reply.is_redirect else _FOREIGN
            raise Offline(f"{words} ({reply.status_code}).") from None
        problem = wire.Problem(title="That is too large for what stands before the server.", status=reply.status_code)
    code = problem.code or {401: "revoked", 404: "not_found", 409: "conflict"}.get(reply.status_code, "")
    raise Rejected(reply.status_code, code, problem.title, problem.detail)


def _read[Reply](validate: Callable[[bytes], Reply], reply: httpx.Response) -> Reply:
    try:
        return validate(reply.content)
    except ValidationError:
        # A captive portal or a proxy's page answers 200 as well.
        raise Offline(f"{_FOREIGN}.") from None


def _why(error: Exception) -> str:
    return f"The server can't be reached: {str(error) or type(error).__name__}."


async def _pieces(path: Path) -> AsyncIterator[bytes]:
    with path.open("rb") as file:
        while piece := file.read(256 * 1024):
            yield piece
