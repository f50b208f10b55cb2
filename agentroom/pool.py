"""Where coroutines run rules: a few threads, each with at most one database connection."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from django.db import close_old_connections

T = TypeVar("T")


class Pool:
    """So many threads, and so many database connections at most, however many wait for them."""

    def __init__(self, name: str, threads: int) -> None:
        self._threads = ThreadPoolExecutor(threads, name)

    async def run(self, job: Callable[[], T]) -> T:
        """What ``job`` returns, run in one of the threads. A caller who hangs up meanwhile undoes nothing."""

        def with_connection() -> T:
            # Outside Django's own handler nobody else lets go of a connection that broke.
            close_old_connections()
            try:
                return job()
            finally:
                close_old_connections()

        return await asyncio.get_running_loop().run_in_executor(self._threads, with_connection)
