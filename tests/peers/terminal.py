"""A program in a terminal, for those that talk only to one."""

from __future__ import annotations

import os
import pty
import select
import signal
import time
from collections.abc import Mapping, Sequence
from pathlib import Path


class Terminal:
    """One program; what it shows is read as it comes."""

    def __init__(self, command: Sequence[str], *, env: Mapping[str, str], cwd: Path) -> None:
        self.shown = ""
        self._pid, self._screen = pty.fork()
        if self._pid == 0:
            try:
                os.chdir(cwd)
                os.execve(command[0], list(command), dict(env))  # noqa: S606 # a shell is what it must not have
            finally:
                os._exit(127)

    def until(self, words: str, *, seconds: float) -> str:
        """All that was shown, once these words are among it."""
        deadline = time.monotonic() + seconds
        while words not in self.shown:
            assert time.monotonic() < deadline, f"no {words!r} in {self.shown!r}"
            assert self._read(), f"It ended without {words!r}: {self.shown!r}"
        return self.shown

    def until_line_end(self, *, seconds: float) -> str:
        """All that was shown, once its last line is whole."""
        deadline = time.monotonic() + seconds
        while not self.shown.endswith("\n"):
            assert time.monotonic() < deadline, self.shown
            assert self._read(), self.shown
        return self.shown

    def type(self, line: str) -> None:
        os.write(self._screen, f"{line}\r".encode())

    def ended(self, *, seconds: float) -> int:
        """Its exit code."""
        deadline = time.monotonic() + seconds
        while self._read():
            assert time.monotonic() < deadline, f"It goes on: {self.shown!r}"
        _, status = os.waitpid(self._pid, 0)
        self._pid = 0
        return os.waitstatus_to_exitcode(status)

    def close(self) -> None:
        if self._pid:
            os.kill(self._pid, signal.SIGKILL)
            os.waitpid(self._pid, 0)
        os.close(self._screen)

    def _read(self) -> bool:
        """Whether it still shows something."""
        ready, _, _ = select.select([self._screen], [], [], 0.5)
        if not ready:
            return True
        try:
            piece = os.read(self._screen, 65536)
        except OSError:
            return False  # what Linux says when the other end is closed
        self.shown += piece.decode(errors="replace")
        return bool(piece)
