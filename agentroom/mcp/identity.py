"""Who calls: from this request's token alone, never from a session or an argument."""

from __future__ import annotations

from collections.abc import Callable
from contextvars import ContextVar
from functools import partial
from typing import Any, TypeVar

from mcp.server.context import CallNext, HandlerResult, ServerRequestContext

from agentroom import auth
from agentroom.mcp import pool

T = TypeVar("T")
IN_SCOPE = "agentroom.caller"

_current: ContextVar[auth.Caller] = ContextVar("caller")


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
