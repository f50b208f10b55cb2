"""The background work of the embedded default: threads in the web process, no broker, no other service."""

from __future__ import annotations

import logging
import threading
import time

from django.db import close_old_connections, connections

from agentroom.schedule import JOBS, Job

logger = logging.getLogger(__name__)


class Pump:
    """Does each job at once, and then as often as the schedule says."""

    def __init__(self, jobs: tuple[Job, ...] = JOBS) -> None:
        self._stop = threading.Event()
        shares = [[job for job in jobs if job.long is long] for long in (False, True)]
        self._threads = [
            threading.Thread(target=self._run, args=[share], name="pump", daemon=True) for share in shares if share
        ]

    def start(self) -> None:
        for thread in self._threads:
            thread.start()

    def stop(self, timeout: float = 5.0) -> None:
        """Long work may be cut off anywhere: it goes on after the next start."""
        self._stop.set()
        until = time.monotonic() + timeout
        for thread in self._threads:
            thread.join(max(0.0, until - time.monotonic()))

    def _run(self, jobs: list[Job]) -> None:
        due_at = dict.fromkeys(jobs, 0.0)
        try:
            while not self._stop.is_set():
                for job in jobs:
                    if due_at[job] <= time.monotonic() and not self._stop.is_set():
                        do(job)
                        due_at[job] = time.monotonic() + job.every
                self._stop.wait(max(0.0, min(due_at.values()) - time.monotonic()))
        finally:
            connections.close_all()


def do(job: Job) -> None:
    """Do it once; one that fails must not end the others."""
    close_old_connections()
    try:
        job.work()
    except Exception:
        logger.exception("Background work %s failed; it is tried again in %g s.", job.name, job.every)
