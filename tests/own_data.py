"""What is each run's own, and each worker's of a run on several: made before the settings are read.

A data folder; and on a worker with Redis a Redis of its own, for what is published there is heard in all its databases.
(Databases of PostgreSQL are told apart by name: pytest-django adds the worker's, ``tests.live`` a random one.)
"""

from __future__ import annotations

import atexit
import ctypes
import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import redis

from tests.ports import free_port

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    # Started by a script in the background; what the tests start would inherit it, and never hear Ctrl-C.
    signal.signal(signal.SIGINT, signal.default_int_handler)

SET_DEATH_SIGNAL = 1
_libc = ctypes.CDLL(None) if sys.platform == "linux" else None


def die_with_us() -> None:
    """In the child: a worker that is killed takes its Redis with it."""
    if _libc is not None:
        _libc.prctl(SET_DEATH_SIGNAL, signal.SIGKILL)


def start_redis(folder: Path) -> str:
    port = str(free_port())
    command = ["redis-server", "--port", port, "--bind", "127.0.0.1", "--save", "", "--appendonly", "no"]
    process = subprocess.Popen(
        [*command, "--dir", str(folder)],
        stdout=subprocess.DEVNULL,
        stdin=subprocess.DEVNULL,
        preexec_fn=die_with_us,  # nothing else runs in this process yet
    )
    atexit.register(process.kill)
    url = f"redis://127.0.0.1:{port}/0"
    with redis.Redis.from_url(url) as client:
        for _ in range(200):
            try:
                client.ping()
            except redis.ConnectionError:
                time.sleep(0.05)
            else:
                return url
    raise RuntimeError("redis-server does not answer; without it, test with --jobs 1.")


# An object that lives as long as the process: it removes the folder when that ends.
_folder = tempfile.TemporaryDirectory(prefix="agentroom-tests-")
atexit.register(_folder.cleanup)
(Path(_folder.name) / "static").mkdir()
os.environ["AGENTROOM_DATA"] = _folder.name
if os.environ.get("PYTEST_XDIST_WORKER") and os.environ.get("REDIS_URL"):
    os.environ["REDIS_URL"] = start_redis(Path(_folder.name))
