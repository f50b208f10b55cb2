"""Tries a call again for as long as the server can't be reached, with growing, jittered pauses."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable

from agentroom_machine.errors import Offline

LONGEST = 10.0


class Backoff:
    def __init__(self, longest: float = LONGEST) -> None:
        self._longest = longest
        self._tries = 0

    def reset(self) -> None:
        self._tries = 0

    async def pause(self) -> None:
        limit = min(self._longest, 0.25 * 2 ** min(self._tries, 10))
        self._tries += 1
        await asyncio.sleep(limit * random.uniform(0.5, 1))  # noqa: S311 - jitter, no secret


async def until_online[Reply](call: Callable[[], Awaitable[Reply]], said: Callable[[Offline], None]) -> Reply:
    """The call's reply, however long it takes; ``said`` hears each failure."""
    backoff = Backoff()
    while True:
        try:
            return await call()
        except Offline as offline:
            said(offline)
            await backoff.pause()
