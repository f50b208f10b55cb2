"""The only way out of a box: connections to allowed hosts, asked for by name over a Unix socket."""

from __future__ import annotations

import asyncio
import contextlib
import ipaddress
import shutil
import socket
import tempfile
from collections import Counter
from pathlib import Path

from agentroom_machine.confine.hosts import Allowed, Target

_HEAD = 16 * 1024
_PATIENCE = 30.0
"""Seconds for a request's head, and for a host to answer."""


class Proxy:
    """Answers ``CONNECT``; what was refused is counted, so that the owner can be told."""

    def __init__(self, allowed: Allowed) -> None:
        self.allowed = allowed
        self.refused: Counter[str] = Counter()
        # Short, because a socket's path has room for about a hundred characters.
        self.folder = Path(tempfile.mkdtemp(prefix="ar-"))
        self.path = self.folder / "proxy"
        self._server: asyncio.Server | None = None
        self._open: set[asyncio.Task[None]] = set()

    async def start(self) -> None:
        self._server = await asyncio.start_unix_server(self._accept, str(self.path), limit=_HEAD)
        self.path.chmod(0o600)

    async def close(self) -> None:
        if self._server:
            self._server.close()
        for task in list(self._open):
            task.cancel()
        await asyncio.gather(*self._open, return_exceptions=True)
        shutil.rmtree(self.folder, ignore_errors=True)

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._open.add(task)
        try:
            with contextlib.suppress(OSError, TimeoutError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
                await self._answer(reader, writer)
        except asyncio.CancelledError:
            pass
        finally:
            self._open.discard(task)
            writer.close()

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        async with asyncio.timeout(_PATIENCE):
            head = await reader.readuntil(b"\r\n\r\n")
        target = _asked(head)
        if target is None:
            await _say(writer, "405 Method Not Allowed", "Only CONNECT to an allowed host leads out of here.")
            return
        if not self.allowed.permits(target.host, target.port):
            await self._refuse(writer, target)
            return
        try:
            async with asyncio.timeout(_PATIENCE):
                address = await self._resolve(target)
                if address is None:
                    await self._refuse(writer, target)
                    return
                far_reader, far_writer = await asyncio.open_connection(address, target.port)
        except (OSError, TimeoutError):
            await _say(writer, "502 Bad Gateway", f"{target} does not answer.")
            return
        try:
            writer.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
            await asyncio.gather(_pour(reader, far_writer), _pour(far_reader, writer))
        finally:
            far_writer.close()

    async def _resolve(self, target: Target) -> str | None:
        """The address to call; None for a public name that leads to this machine or into its network's own services."""
        found = await asyncio.get_running_loop().getaddrinfo(target.host, target.port, type=socket.SOCK_STREAM)
        named = target in self.allowed.targets
        for *_, address in found:
            ip = ipaddress.ip_address(str(address[0]).partition("%")[0])
            if named or not (ip.is_loopback or ip.is_link_local or ip.is_unspecified):
                return str(address[0])
        return None

    async def _refuse(self, writer: asyncio.StreamWriter, target: Target) -> None:
        self.refused[str(target)] += 1
        await _say(writer, "403 Forbidden", f"Agentroom's confinement does not let this agent reach {target}.")


def _asked(head: bytes) -> Target | None:
    try:
        method, where, _ = head.split(b"\r\n", 1)[0].decode("ascii").split(" ")
        host, _, port = where.rpartition(":")
        if method != "CONNECT" or not 0 < int(port) < 65536:
            return None
    except (ValueError, UnicodeError):
        return None
    host = host.removeprefix("[").removesuffix("]").casefold()
    return Target(host, int(port)) if host else None


async def _say(writer: asyncio.StreamWriter, status: str, words: str) -> None:
    body = words.encode() + b"\n"
    head = f"HTTP/1.1 {status}\r\nContent-Type: text/plain\r\nContent-Length: {len(body)}\r\nConnection: close\r\n\r\n"
    writer.write(head.encode() + body)
    await writer.drain()


async def _pour(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with contextlib.suppress(OSError):
        while piece := await reader.read(64 * 1024):
            writer.write(piece)
            await writer.drain()
    with contextlib.suppress(OSError, RuntimeError):
        if writer.can_write_eof():
            writer.write_eof()
