"""Who called in the last seconds: for doors that are knocked at again and again with the same token."""

from __future__ import annotations

import time
from functools import partial

from agentroom import auth
from agentroom.pool import Pool
from rooms import tokens

KNOWN_FOR = 5.0
"""Seconds for which a token counts as it was found. What it may do is read anew at every call all the same."""


class Callers:
    """The callers of the last seconds, by their token's hash."""

    FORGET_ABOVE = 5000

    def __init__(self, pool: Pool) -> None:
        self._known: dict[str, tuple[float, auth.Caller]] = {}
        self._pool = pool

    async def of(self, header: str) -> auth.Caller:
        """Whose token the header carries; Unauthorised for nobody's."""
        digest = tokens.digest(auth.bearer(header))
        until, caller = self._known.get(digest, (0.0, None))
        if caller is None or until < time.monotonic():
            self._known.pop(digest, None)
            caller = await self._pool.run(partial(auth.caller, header))
            if len(self._known) > self.FORGET_ABOVE:
                self._known.clear()
            self._known[digest] = (time.monotonic() + KNOWN_FOR, caller)
        return caller
