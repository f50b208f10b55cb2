"""One daemon for each profile: a lock that dies with its process."""

from __future__ import annotations

import fcntl
import json
import os
import signal
import time
from pathlib import Path

from agentroom_machine.errors import Trouble
from agentroom_machine.profile import Profile

DRAIN, NOW = signal.SIGUSR2, signal.SIGUSR1
"""How another process tells the daemon to end: when what runs has ended, or at once."""


class SecondDaemon(Trouble):
    """Another daemon runs with this identity."""

    exit_code = 5


class Lock:
    """Holds the profile until ``release``; raises SecondDaemon when somebody else holds it."""

    def __init__(self, profile: Profile) -> None:
        profile.make()
        self._file = (profile.folder / "daemon.lock").open("a+", encoding="utf-8")
        for attempt in range(5):  # `agentroom status` holds the lock for an instant, to see whether it is free
            try:
                fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except OSError:
                if attempt < 4:
                    time.sleep(0.05)
        else:
            self._file.close()
            raise SecondDaemon(
                "Agentroom already runs here with this profile. See it: agentroom status; end it: agentroom stop"
            )
        self._file.seek(0)
        self._file.truncate()
        self._file.write(json.dumps({"pid": os.getpid()}))
        self._file.flush()

    def release(self) -> None:
        self._file.close()


def holder(profile: Profile) -> int | None:
    """The process id of the daemon that runs with this profile, if one does."""
    path: Path = profile.folder / "daemon.lock"
    try:
        with path.open("r+", encoding="utf-8") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
            except OSError:
                return int(json.loads(file.read())["pid"])
    except (OSError, ValueError, KeyError):
        return None
    return None
