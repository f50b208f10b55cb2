"""Starts an agent's process with everything that it will start, and ends all of it."""

from __future__ import annotations

import asyncio
import contextlib
import ctypes
import os
import secrets
import signal
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

import psutil

MARK = "AGENTROOM_TREE"
"""Variable that every process of an agent inherits, so that none is missed when it has left its parent."""
LIMIT = 64 * 1024 * 1024
"""Bytes in one line of the protocol."""
_PR_SET_CHILD_SUBREAPER = 36


def adopt_orphans() -> None:
    """On Linux, makes this process the parent of agents' orphans, so that they stay findable."""
    if sys.platform == "linux":
        with contextlib.suppress(OSError, AttributeError):
            ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


class Tree:
    """An agent's process and all its descendants."""

    def __init__(self, process: asyncio.subprocess.Process, mark: str) -> None:
        self.process = process
        self._mark = mark
        self._tail = ""
        self._draining = asyncio.create_task(self._drain())

    @classmethod
    async def start(cls, command: Sequence[str], *, cwd: Path, env: Mapping[str, str], owner: str) -> Tree:
        """Starts the command as leader of a session of its own; ``owner`` names the daemon's journal in the mark."""
        mark = f"{owner}.{secrets.token_hex(6)}"
        process = await asyncio.create_subprocess_exec(
            *command,
            cwd=cwd,
            env={**env, MARK: mark},
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            start_new_session=True,
            limit=LIMIT,
        )
        return cls(process, mark)

    async def _drain(self) -> None:
        """Reads what the agent says to its error output, so that it never blocks on it; keeps the last of it."""
        assert self.process.stderr is not None
        while piece := await self.process.stderr.read(16 * 1024):
            self._tail = (self._tail + piece.decode(errors="replace"))[-8192:]

    def last_words(self) -> str:
        lines = [line.strip()[:300] for line in self._tail.splitlines() if line.strip()]
        return "\n".join(lines[-8:])

    @property
    def alive(self) -> bool:
        return self.process.returncode is None

    async def ended(self) -> None:
        """Returns when the agent's own process is gone, even if a grandchild still holds its pipes open."""
        # Process.wait and the end of the stream would both wait for that grandchild.
        while self.alive:  # noqa: ASYNC110 - nothing else tells
            await asyncio.sleep(0.2)

    async def kill(self) -> None:
        """Ends every process of the tree at once and waits until they are gone."""
        # Twice: a process may have been starting another one while it was found.
        for _ in range(5):
            found = await asyncio.to_thread(_members, self.process.pid, self._mark)
            for process in found:
                with contextlib.suppress(psutil.Error):
                    process.kill()
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self.process.pid, signal.SIGKILL)
            if not await asyncio.to_thread(_outlive, found, self.process.pid) and len(found) <= 1:
                break
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self.process.wait(), 5)
        self._draining.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await self._draining
        transport = getattr(self.process, "_transport", None)
        if transport is not None:
            transport.close()  # a grandchild that got away must not keep our pipes open


def _members(root: int, mark: str) -> list[psutil.Process]:
    found: dict[int, psutil.Process] = {}
    sessions: set[int] = set()

    def add(process: psutil.Process) -> None:
        found[process.pid] = process
        with contextlib.suppress(OSError):
            sessions.add(os.getsid(process.pid))

    with contextlib.suppress(psutil.Error):
        parent = psutil.Process(root)
        for process in [parent, *parent.children(recursive=True)]:
            add(process)
    own, others = os.getsid(0), []
    for process in psutil.process_iter():
        if process.pid in found or process.pid == os.getpid():
            continue
        if _mark_of(process) == mark:
            add(process)
        else:
            others.append(process)
    # A process may clear its environment and leave its parent, yet it keeps its session unless it makes a new one.
    for process in others:
        with contextlib.suppress(OSError, psutil.Error):
            session = os.getsid(process.pid)
            if session != own and (session in sessions or session == root):
                add(process)
                for child in process.children(recursive=True):
                    found[child.pid] = child
    return [process for process in found.values() if process.pid != os.getpid()]


def _mark_of(process: psutil.Process) -> str:
    try:
        return process.environ().get(MARK, "")
    except (psutil.Error, OSError, UnicodeError):
        return ""


def _outlive(processes: list[psutil.Process], root: int | None = None) -> bool:
    """Waits up to a second; whether some still run. Reaps adopted orphans, but never ``root``: asyncio does that."""
    deadline = time.monotonic() + 1
    while any(_still_runs(process) for process in processes):
        if time.monotonic() > deadline:
            return True
        time.sleep(0.01)
    for process in processes:
        if process.pid != root:
            with contextlib.suppress(OSError):
                os.waitpid(process.pid, os.WNOHANG)
    return False


def _still_runs(process: psutil.Process) -> bool:
    try:
        return bool(process.is_running() and process.status() != psutil.STATUS_ZOMBIE)
    except psutil.Error:
        return False


def sweep(owner: str) -> int:
    """Ends what a daemon that died left running; ``owner`` is its journal's id. Returns how many."""
    left = [
        process
        for process in psutil.process_iter()
        if process.pid != os.getpid() and _mark_of(process).startswith(f"{owner}.")
    ]
    for process in left:
        with contextlib.suppress(psutil.Error):
            process.kill()
    _outlive(left)
    return len(left)
