"""Where the tools' coroutines run rules."""

from __future__ import annotations

from agentroom.pool import Pool

THREADS = 8
"""Also the most database connections that ``/mcp`` holds in one process, however many agents wait."""

pool = Pool("mcp", THREADS)
run = pool.run
