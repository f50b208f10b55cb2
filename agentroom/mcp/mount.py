"""The door itself, as plain ASGI: who calls, what of HTTP is answered here, and the SDK for everything else."""

from __future__ import annotations

import asyncio
import contextvars
import time
from collections.abc import Mapping
from contextlib import AsyncExitStack
from http import HTTPStatus
from typing import Any
from urllib.parse import urlsplit

from django.conf import settings
from mcp.server.mcpserver import MCPServer
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.server.transport_security import TransportSecuritySettings
from mcp_types import INVALID_REQUEST, ErrorData, JSONRPCError

from agentroom import auth
from agentroom.callers import Callers
from agentroom.mcp import guards
from agentroom.mcp.guards import Receive, Scope, Send
from agentroom.mcp.identity import IN_SCOPE
from agentroom.mcp.pool import pool

PATH = "/mcp"
SCOPE = "agentroom"
"""The one OAuth scope: to act as the identity that was chosen on the consent page."""


class Mount:
    """Serves each kind of connection its own server: nobody sees a tool that their identity can't use."""

    def __init__(self, servers: Mapping[str, MCPServer[Any]], path: str = PATH) -> None:
        self.path = path
        self._servers = servers
        self._callers = Callers(pool)
        self._allowance = guards.Allowance()
        self._running: _Running | None = None

    def serves(self, path: str) -> bool:
        return path.rstrip("/") == self.path

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        # uvicorn leaves spaces behind a header's value, which the SDK compares with the message's words.
        headers = [(name, value.strip(b" \t")) for name, value in scope["headers"]]
        header = dict(headers).get(b"authorization", b"").decode("latin-1")
        try:
            caller = await self._callers.of(header)
        except auth.Unauthorised as error:
            await self._unauthorised(send, error, invalid=bool(auth.bearer(header)))
            return
        if scope["method"] != "POST":
            # The GET stream of older revisions would carry nothing: what they are told stands in their inbox.
            await _refuse(send, HTTPStatus.METHOD_NOT_ALLOWED, "POST it.", allow="POST")
            return
        wait = self._allowance.take(caller.connection.pk, a_minute=settings.MCP_CALLS_PER_MINUTE, now=time.monotonic())
        if wait:
            words = f"Too many calls: at most {settings.MCP_CALLS_PER_MINUTE} a minute. Wait {wait} s."
            await _refuse(send, HTTPStatus.TOO_MANY_REQUESTS, words, retry_after=str(wait))
            return
        try:
            raw = guards.sound(await guards.body(scope, receive))
        except guards.TooLarge:
            words = f"The request is too large: at most {guards.MAX_BODY:,} bytes."
            await _refuse(send, HTTPStatus.REQUEST_ENTITY_TOO_LARGE, words)
            return
        except guards.HungUp:
            return
        # The token goes no further than this.
        kept = [(name, value) for name, value in headers if name not in (b"authorization", b"content-length")]
        kept.append((b"content-length", str(len(raw)).encode()))
        manager = (await self._managers())[caller.kind]
        onward = {**scope, "headers": kept, IN_SCOPE: caller}
        await manager.handle_request(onward, guards.replay(raw, receive), send)  # type: ignore[arg-type] # dict is one

    async def lifespan(self, receive: Receive, send: Send) -> None:
        """Start with the server and end with it, where it says so; Daphne doesn't."""
        while True:
            kind = (await receive())["type"]
            if kind == "lifespan.startup":
                await self._managers()
            elif self._running is not None:
                await self._running.end()
            await send({"type": f"{kind}.complete"})
            if kind == "lifespan.shutdown":
                return

    async def _managers(self) -> Mapping[str, StreamableHTTPSessionManager]:
        loop = asyncio.get_running_loop()
        if self._running is None or self._running.loop is not loop:
            self._running = _Running(loop, {kind: _manager(server) for kind, server in self._servers.items()})
        return await self._running.managers()

    async def _unauthorised(self, send: Send, error: auth.Unauthorised, *, invalid: bool) -> None:
        metadata = f"{settings.PUBLIC_URL}/.well-known/oauth-protected-resource{self.path}"
        challenge = f'Bearer resource_metadata="{metadata}", scope="{SCOPE}"'
        if invalid:
            challenge += ', error="invalid_token", error_description="Unknown, expired or revoked."'
        await _refuse(send, HTTPStatus.UNAUTHORIZED, error.detail, www_authenticate=challenge)


class _Running:
    """The SDK's managers, entered and left in one task of their own, as their task groups want it."""

    def __init__(self, loop: asyncio.AbstractEventLoop, managers: Mapping[str, StreamableHTTPSessionManager]) -> None:
        self.loop = loop
        self._managers = managers
        self._ready = asyncio.Event()
        self._stop = asyncio.Event()
        # An empty context: the first request's must not be everybody's.
        self._task = loop.create_task(self._run(), context=contextvars.Context())

    async def _run(self) -> None:
        try:
            async with AsyncExitStack() as stack:
                for manager in self._managers.values():
                    await stack.enter_async_context(manager.run())
                self._ready.set()
                await self._stop.wait()
        finally:
            self._ready.set()

    async def managers(self) -> Mapping[str, StreamableHTTPSessionManager]:
        await self._ready.wait()
        if self._task.done():
            self._task.result()
        return self._managers

    async def end(self) -> None:
        self._stop.set()
        await self._task


def _manager(server: MCPServer[Any]) -> StreamableHTTPSessionManager:
    # What a page of another site can make a browser send is neither our address nor this computer's.
    hosts = [urlsplit(settings.PUBLIC_URL).netloc, "127.0.0.1:*", "localhost:*", "[::1]:*"]
    server.streamable_http_app(
        # Any process serves any request of any revision, also after a restart.
        stateless_http=True,
        max_request_body_size=guards.MAX_BODY,
        transport_security=TransportSecuritySettings(allowed_hosts=hosts, allowed_origins=[settings.PUBLIC_URL]),
    )
    return server.session_manager


async def _refuse(send: Send, status: HTTPStatus, words: str, **headers: str) -> None:
    error = JSONRPCError(jsonrpc="2.0", id=None, error=ErrorData(code=INVALID_REQUEST, message=words))
    raw = error.model_dump_json(by_alias=True, exclude_unset=True).encode()
    fields = {"content-type": "application/json", "content-length": str(len(raw)), "cache-control": "no-store"}
    fields |= {name.replace("_", "-"): value for name, value in headers.items()}
    await send(
        {
            "type": "http.response.start",
            "status": int(status),
            "headers": [(name.encode(), value.encode()) for name, value in fields.items()],
        }
    )
    await send({"type": "http.response.body", "body": raw})
