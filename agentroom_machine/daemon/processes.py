"""Starts an agent's process with everything that it will start, and ends all of it."""

from __future__ import annotations

import asyncio
import contextlib
import ctypes
import os
import secrets
import signal
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import psutil

from agentroom_machine.daemon.family import MARK, mark_of, members, outlive
from agentroom_machine.daemon.heir import Heir

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

    def __init__(self, process: asyncio.subprocess.Process, mark: str, heir: Heir) -> None:
        self.process = process
        self._mark = mark
        self._heir = heir
        self._tail = ""
        self._draining = asyncio.create_task(self._drain())

    @classmethod
    async def start(cls, command: Sequence[str], *, cwd: Path, env: Mapping[str, str], owner: str) -> Tree:
        """Starts the command as leader of a session of its own; ``owner`` names the daemon's journal in the mark."""
        mark = f"{owner}.{secrets.token_hex(6)}"
        heir = Heir(mark)
        try:
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
        except BaseException:
            heir.dismiss()
            raise
        heir.know(process.pid)
        return cls(process, mark, heir)

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
            found = await asyncio.to_thread(members, self.process.pid, self._mark)
            for process in found:
                with contextlib.suppress(psutil.Error):
                    process.kill()
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self.process.pid, signal.SIGKILL)
            if not await asyncio.to_thread(outlive, found, self.process.pid) and len(found) <= 1:
                break
        self._heir.dismiss()
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self.process.wait(), 5)
        self._draining.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await self._draining
        transport = getattr(self.process, "_transport", None)
        if transport is not None:
            transport.close()  # a grandchild that got away must not keep our pipes open


def sweep(owner: str) -> int:
    """Ends what a daemon that died left running; ``owner`` is its journal's id. Returns how many."""
    left = [
        process
        for process in psutil.process_iter()
        if process.pid != os.getpid() and mark_of(process).startswith(f"{owner}.")
    ]
    for process in left:
        with contextlib.suppress(psutil.Error):
            process.kill()
    outlive(left)
    return len(left)
