"""The background work of the embedded default: one thread in the web process, no broker, no other service."""

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
        self._due_at = dict.fromkeys(jobs, 0.0)
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="pump", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self, timeout: float = 5.0) -> None:
        self._stop.set()
        self._thread.join(timeout)

    def _run(self) -> None:
        try:
            while not self._stop.is_set():
                for job in self._due_at:
                    if self._due_at[job] <= time.monotonic() and not self._stop.is_set():
                        do(job)
                        self._due_at[job] = time.monotonic() + job.every
                self._stop.wait(max(0.0, min(self._due_at.values()) - time.monotonic()))
        finally:
            connections.close_all()


def do(job: Job) -> None:
    """Do it once; one that fails must not end the others."""
    close_old_connections()
    try:
        job.work()
    except Exception:
        logger.exception("Background work %s failed; it is tried again in %g s.", job.name, job.every)
