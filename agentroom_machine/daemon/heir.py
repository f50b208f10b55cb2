"""A process that waits for the daemon's death, however it dies, and then ends the agent that it left.

``python -m agentroom_machine.daemon.heir MARK``; the agent's process id comes as a line, and the end of the input is
the daemon's death. A death signal from the kernel would reach the agent's first process only, on Linux only.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time

import psutil

from agentroom_machine.daemon.family import MARK, members, outlive, still_runs

PATIENCE = 5.0
"""Seconds in which everything has to be gone; what stays then is the next daemon's to find."""


class Heir:
    """The daemon's end of it."""

    def __init__(self, mark: str) -> None:
        self._process = subprocess.Popen(
            # Not from the folder that it stands in: an agent may write there.
            [sys.executable, "-P", "-m", "agentroom_machine.daemon.heir", mark],
            cwd="/",
            env={name: value for name, value in os.environ.items() if name != MARK},
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            # What is sent to the daemon's group or terminal is not for it.
            start_new_session=True,
        )

    def know(self, root: int) -> None:
        """Tell which process the agent's own is: what lost its mark is found by its parent and its session."""
        assert self._process.stdin is not None
        with contextlib.suppress(OSError):
            self._process.stdin.write(f"{root}\n".encode())
            self._process.stdin.flush()

    def dismiss(self) -> None:
        """The agent is gone: there is nothing left to end."""
        self._process.kill()
        self._process.wait()
        assert self._process.stdin is not None
        with contextlib.suppress(OSError):
            self._process.stdin.close()


def main() -> None:
    mark = sys.argv[1]
    # Who ends a service may ask all its processes at once; the daemon may still be at work then.
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    line = sys.stdin.readline()
    root = None
    if line:
        with contextlib.suppress(psutil.NoSuchProcess):
            root = psutil.Process(int(line))
        sys.stdin.read()
    end(root, mark)


def end(root: psutil.Process | None, mark: str) -> None:
    """Kill the agent's processes until a look finds none."""
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        # A number that was given again belongs to somebody else; while a session goes on, its number is not.
        known = root is not None and (root.is_running() or not psutil.pid_exists(root.pid))
        found = [process for process in members(root.pid if root and known else None, mark) if still_runs(process)]
        for process in found:
            with contextlib.suppress(psutil.Error):
                process.kill()
        if not found:
            return
        outlive(found)


if __name__ == "__main__":
    main()
