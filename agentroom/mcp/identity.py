"""Who calls: from this request's token alone, never from a session or an argument."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextvars import ContextVar
from functools import partial
from typing import Any, TypeVar

from mcp.server.context import CallNext, HandlerResult, ServerRequestContext

from agentroom import auth
from agentroom.mcp import pool
from rooms import tokens

T = TypeVar("T")
KNOWN_FOR = 5.0
"""Seconds for which a token counts as it was found. What it may do is read anew at every call all the same."""
IN_SCOPE = "agentroom.caller"

_current: ContextVar[auth.Caller] = ContextVar("caller")


class Callers:
    """The callers of the last seconds, by their token's hash."""

    FORGET_ABOVE = 5000

    def __init__(self) -> None:
        self._known: dict[str, tuple[float, auth.Caller]] = {}

    async def of(self, header: str) -> auth.Caller:
        """Whose token the header carries; Unauthorised for nobody's."""
        digest = tokens.digest(auth.bearer(header))
        until, caller = self._known.get(digest, (0.0, None))
        if caller is None or until < time.monotonic():
            self._known.pop(digest, None)
            caller = await pool.run(partial(auth.caller, header))
            if len(self._known) > self.FORGET_ABOVE:
                self._known.clear()
            self._known[digest] = (time.monotonic() + KNOWN_FOR, caller)
        return caller


async def carry(ctx: ServerRequestContext[Any, Any], call_next: CallNext) -> HandlerResult:
    """Middleware of the protocol: let what answers this request know who sent it."""
    assert ctx.request is not None, "every message comes by HTTP"
    token = _current.set(ctx.request.scope[IN_SCOPE])
    try:
        return await call_next(ctx)
    finally:
        _current.reset(token)


def current() -> auth.Caller:
    return _current.get()


async def act(job: Callable[[auth.Caller], T]) -> T:
    """What ``job`` returns for who calls, run where the database may be asked."""
    return await pool.run(partial(job, current()))
