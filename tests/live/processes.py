"""Processes that a test starts, looks into and kills, whole trees of them."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

import psutil

ROOT = Path(__file__).resolve().parent.parent.parent


def surroundings(**more: str) -> dict[str, str]:
    """The environment without what would leak from whoever runs the tests."""
    ours = ("AGENTROOM_", "DJANGO_", "DATABASE_URL", "REDIS_URL", "PUBLIC_URL", "SECRET_KEY", "PYTEST_")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(ours)}
    return kept | {"PYTHONPATH": str(ROOT), "PYTHONUNBUFFERED": "1"} | more


class Process:
    """A program whose words go to a file."""

    def __init__(self, command: Sequence[str], *, env: Mapping[str, str], log: Path, cwd: Path = ROOT) -> None:
        self.log = log
        self._from = log.stat().st_size if log.exists() else 0
        with log.open("ab") as said:
            self._popen = subprocess.Popen(
                command,
                env=dict(env),
                cwd=cwd,
                stdin=subprocess.DEVNULL,
                stdout=said,
                stderr=said,
                start_new_session=True,
            )

    @property
    def pid(self) -> int:
        return self._popen.pid

    @property
    def alive(self) -> bool:
        return self._popen.poll() is None

    @property
    def returncode(self) -> int | None:
        return self._popen.poll()

    def said(self) -> str:
        """What this start of the program printed."""
        with self.log.open("rb") as said:
            said.seek(self._from)
            return said.read().decode(errors="replace")

    def tree(self) -> list[psutil.Process]:
        """The process and everything below it."""
        try:
            me = psutil.Process(self.pid)
            return [me, *me.children(recursive=True)]
        except psutil.NoSuchProcess:
            return []

    def kill(self, *, alone: bool = False) -> None:
        """SIGKILL: the process and everything below it, or with ``alone`` the process only."""
        victims = self.tree()[:1] if alone else self.tree()
        for victim in victims:
            with contextlib.suppress(psutil.NoSuchProcess):
                victim.kill()
        self._popen.wait(10)
        if not alone:
            psutil.wait_procs(victims, timeout=10)

    def end(self, number: int = signal.SIGTERM, *, within: float = 12) -> int:
        """Ask it to end; its exit code. AssertionError when it does not, after it was killed."""
        if self.alive:
            self._popen.send_signal(number)
        try:
            return self._popen.wait(within)
        except subprocess.TimeoutExpired:
            self.kill()
            raise AssertionError(f"{self._popen.args!r} did not end within {within:g} s:\n{self.said()}") from None
