"""Which processes an agent consists of, wherever they went."""

from __future__ import annotations

import contextlib
import os
import time

import psutil

MARK = "AGENTROOM_TREE"
"""Variable that every process of an agent inherits, so that none is missed when it has left its parent."""


def members(root: int | None, mark: str) -> list[psutil.Process]:
    """Everything that runs of the agent whose own process is, or was, ``root``; None when that number is another's."""
    found: dict[int, psutil.Process] = {}
    sessions: set[int] = set()

    def add(process: psutil.Process) -> None:
        found[process.pid] = process
        with contextlib.suppress(OSError):
            sessions.add(os.getsid(process.pid))

    if root is not None:
        with contextlib.suppress(psutil.Error):
            parent = psutil.Process(root)
            for process in [parent, *parent.children(recursive=True)]:
                add(process)
    own, others = os.getsid(0), []
    for process in psutil.process_iter():
        if process.pid in found or process.pid == os.getpid():
            continue
        if mark_of(process) == mark:
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


def mark_of(process: psutil.Process) -> str:
    try:
        return process.environ().get(MARK, "")
    except (psutil.Error, OSError, UnicodeError):
        return ""


def outlive(processes: list[psutil.Process], root: int | None = None) -> bool:
    """Waits up to a second; whether some still run. Reaps adopted orphans, but never ``root``: asyncio does that."""
    deadline = time.monotonic() + 1
    while any(still_runs(process) for process in processes):
        if time.monotonic() > deadline:
            return True
        time.sleep(0.01)
    for process in processes:
        if process.pid != root:
            with contextlib.suppress(OSError):
                os.waitpid(process.pid, os.WNOHANG)
    return False


def still_runs(process: psutil.Process) -> bool:
    try:
        return bool(process.is_running() and process.status() != psutil.STATUS_ZOMBIE)
    except psutil.Error:
        return False
