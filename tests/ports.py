"""Ports for what tests start."""

from __future__ import annotations

import contextlib
import os
import random
import socket


def free_port() -> int:
    """One that no other worker's test is given, nor a connection out: the system takes those from above 32768."""
    worker = int(os.environ.get("PYTEST_XDIST_WORKER", "gw0").removeprefix("gw"))
    while True:
        port = random.randrange(12_000, 32_000, 16) + worker % 16
        with socket.socket() as probe, contextlib.suppress(OSError):
            probe.bind(("127.0.0.1", port))
            return port
