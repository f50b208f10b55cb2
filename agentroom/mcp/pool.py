"""Where coroutines run rules: a few threads, each with at most one database connection."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from django.db import close_old_connections

T = TypeVar("T")
THREADS = 8
"""Also the most database connections that ``/mcp`` holds in one process, however many agents wait."""

_pool = ThreadPoolExecutor(THREADS, "mcp")


async def run(job: Callable[[], T]) -> T:
    """What ``job`` returns, run in one of the threads. A caller who hangs up meanwhile undoes nothing."""

    def with_connection() -> T:
        # Outside Django's own handler nobody else lets go of a connection that broke.
        close_old_connections()
        try:
            return job()
        finally:
            close_old_connections()

    return await asyncio.get_running_loop().run_in_executor(_pool, with_connection)
