"""A small tree of programs: started together, started again when one dies, ended together."""

from __future__ import annotations

import ctypes
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from types import FrameType

GRACE = 8.0
"""Seconds from the wish to stop until what still runs is killed."""
SETTLED = 5.0
"""Seconds after which a program counts as started."""
TRIES = 3

SET_DEATH_SIGNAL = 1
_libc = ctypes.CDLL(None) if sys.platform == "linux" else None


@dataclass
class Program:
    name: str
    command: list[str]
    pass_fds: tuple[int, ...] = ()
    environment: dict[str, str] = field(default_factory=dict)
    process: subprocess.Popen[bytes] | None = None
    born_at: float = 0.0
    early_deaths: int = 0
    due_at: float = 0.0


class Failed(Exception):
    """A program would not stay alive."""


class Tree:
    """Programs that live and die with this process; use it in a ``with`` block, from the main thread."""

    def __init__(self) -> None:
        self.programs: list[Program] = []
        self._stop = threading.Event()
        self._hurry = False

    def __enter__(self) -> Tree:
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, self._asked_to_stop)
        return self

    def __exit__(self, *_: object) -> None:
        self.end()

    def _asked_to_stop(self, _signal: int, _frame: FrameType | None) -> None:
        self._hurry = self._stop.is_set()
        self._stop.set()

    @property
    def stopping(self) -> bool:
        return self._stop.is_set()

    def start(self, program: Program) -> None:
        self.programs.append(program)
        self._spawn(program)

    def wait_until(self, met: Callable[[], bool], *, seconds: float) -> bool:
        """Watch the programs until ``met``; False when time is up or somebody asked to stop."""
        deadline = time.monotonic() + seconds
        while not self.stopping and time.monotonic() < deadline:
            if met():
                return True
            self.look()
            self._stop.wait(0.1)
        return False

    def watch(self) -> None:
        """Keep the programs alive until somebody asks to stop."""
        while not self.stopping:
            self.look()
            self._stop.wait(0.2)

    def look(self) -> None:
        """Start again what has died; raise ``Failed`` when it dies at once, again and again."""
        now = time.monotonic()
        for program in self.programs:
            process = program.process
            if process is None:
                if now >= program.due_at:
                    self._spawn(program)
            elif process.poll() is not None:
                program.process = None
                program.early_deaths = program.early_deaths + 1 if now - program.born_at < SETTLED else 1
                if program.early_deaths >= TRIES:
                    raise Failed(f"{program.name} ended {TRIES} times right after its start; its words are above.")
                program.due_at = now + 0.5 * program.early_deaths
                print(
                    f"{program.name} ended with {process.returncode}; starting it again.", file=sys.stderr, flush=True
                )

    def _spawn(self, program: Program) -> None:
        parent = os.getpid()

        def die_with_parent() -> None:
            # Linux alone can do this; the parent may be gone already when it is asked for.
            if _libc is not None:
                _libc.prctl(SET_DEATH_SIGNAL, signal.SIGTERM)
            if os.getppid() != parent:
                os._exit(1)

        program.process = subprocess.Popen(
            program.command,
            env=os.environ | program.environment,
            pass_fds=program.pass_fds,
            stdin=subprocess.DEVNULL,
            # A Ctrl-C reaches the terminal's whole group; the programs are to end in order, by us.
            start_new_session=True,
            preexec_fn=die_with_parent,
        )
        program.born_at = time.monotonic()

    def end(self) -> None:
        """End everything: asked first, last started first; killed when it won't, or at a second Ctrl-C."""
        running = [p.process for p in reversed(self.programs) if p.process is not None and p.process.poll() is None]
        for process in running:
            process.terminate()
        deadline = time.monotonic() + GRACE
        while any(process.poll() is None for process in running) and time.monotonic() < deadline and not self._hurry:
            time.sleep(0.05)
        for process in running:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
        self.programs.clear()
