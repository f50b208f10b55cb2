"""Listens for the hook program: each tool call that a runtime is about to make comes here first."""

from __future__ import annotations

import asyncio
import json
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Awaitable, Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from agentroom_machine.runtimes.launch import HOOK_PROGRAM, HOOK_SOCKET

PROBE = "agentroom-probe"


@dataclass(frozen=True)
class HookCall:
    """One tool call as the runtime's hook describes it."""

    id: str
    name: str
    input: Any
    cwd: str


@dataclass(frozen=True)
class HookAnswer:
    allow: bool
    reason: str = ""
    instead: str = ""
    """The same command in other words, for a runtime that would refuse it as it stands."""


Decide = Callable[[HookCall], Awaitable[HookAnswer]]


class HookServer:
    """A Unix socket that only this person's programs can reach; anything unreadable is refused."""

    def __init__(self, decide: Decide) -> None:
        self._decide = decide
        self._server: asyncio.Server | None = None
        # Short, because a socket's path has room for about a hundred characters.
        self._folder = Path(tempfile.mkdtemp(prefix="ar-"))
        self.path = str(self._folder / "hook")
        self._open: set[asyncio.Task[None]] = set()

    async def start(self) -> None:
        self._server = await asyncio.start_unix_server(self._accept, self.path, limit=64 * 1024 * 1024)
        Path(self.path).chmod(0o600)

    async def close(self) -> None:
        if self._server:
            self._server.close()
        for task in list(self._open):
            task.cancel()
        await asyncio.gather(*self._open, return_exceptions=True)
        shutil.rmtree(self._folder, ignore_errors=True)

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._open.add(task)
        try:
            answer = await self._answer(await reader.read(-1))
            writer.write(json.dumps(asdict(answer)).encode())
            await writer.drain()
        except (OSError, asyncio.CancelledError):
            pass  # the hook program reads an empty answer as no
        finally:
            self._open.discard(task)
            writer.close()

    async def _answer(self, data: bytes) -> HookAnswer:
        try:
            call = json.loads(data)
            read = HookCall(
                id=str(call.get("tool_use_id") or ""),
                name=str(call["tool_name"]),
                input=call.get("tool_input"),
                cwd=str(call.get("cwd") or ""),
            )
        except (ValueError, KeyError, TypeError, AttributeError):
            return HookAnswer(False, "The call could not be read.")
        if read.name == PROBE:
            return HookAnswer(True)
        return await self._decide(read)


async def probe(socket: str) -> str:
    """Runs the hook program as a runtime would; returns what is wrong, or nothing."""
    return await asyncio.to_thread(_probe, socket)


def _probe(socket: str) -> str:
    call = json.dumps({"tool_name": PROBE, "tool_use_id": "0", "tool_input": {}})
    try:
        done = subprocess.run(
            [sys.executable, "-I", str(HOOK_PROGRAM)],
            input=call,
            env={HOOK_SOCKET: socket},
            capture_output=True,
            text=True,
            timeout=20,
            check=False,
        )
    except (OSError, subprocess.SubprocessError) as error:
        return f"The hook can't run: {error}."
    return "" if done.returncode == 0 else f"The hook can't run: {done.stderr.strip() or done.returncode}."
