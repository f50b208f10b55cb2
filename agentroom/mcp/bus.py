"""``subscriptions/listen`` of 2026 clients: each stream is told that its own inbox changed, and of nothing else.

A stream has a bus to itself. A nudge only wakes it; what it says comes from the database, read as whoever listens may
read it now, so a nudge can be lost, doubled or meant for another without harm.
"""

from __future__ import annotations

from collections import Counter
from functools import partial
from typing import Any

import anyio
from mcp.server.context import ServerRequestContext
from mcp.server.subscriptions import InMemorySubscriptionBus, ListenHandler, ResourceUpdated
from mcp.shared.exceptions import MCPError
from mcp_types import INVALID_PARAMS, INVALID_REQUEST, SubscriptionsListenRequestParams, SubscriptionsListenResult

from agentroom import auth
from agentroom.mcp import identity, pool
from agentroom.mcp.inbox import INBOX, Standing, standing
from messaging import nudge
from rooms.errors import RuleError

TICK = 5.0
"""Seconds between two looks when no nudge comes: covers a lost one, and ends the stream of who may no longer listen."""
MOST_STREAMS = 32
"""For one connection, in one process; a client holds one."""

_open: Counter[int] = Counter()


async def listen(
    ctx: ServerRequestContext[Any, Any], params: SubscriptionsListenRequestParams
) -> SubscriptionsListenResult:
    """Handler of ``subscriptions/listen``."""
    caller = identity.current()
    wanted = params.notifications.resource_subscriptions or []
    if foreign := [str(uri) for uri in wanted if str(uri) != INBOX]:
        raise MCPError(
            INVALID_PARAMS, f"Resource not found. There is one to listen to here: {INBOX}", {"uri": foreign[0]}
        )
    key = caller.connection.pk
    if _open[key] >= MOST_STREAMS:
        raise MCPError(INVALID_REQUEST, f"This connection listens {MOST_STREAMS} times already. Close a stream first.")
    _open[key] += 1
    try:
        return await (_inbox if wanted else _silence)(caller, ctx, params)
    finally:
        _open[key] -= 1
        if not _open[key]:
            del _open[key]


async def _silence(
    caller: auth.Caller, ctx: ServerRequestContext[Any, Any], params: SubscriptionsListenRequestParams
) -> SubscriptionsListenResult:
    """Tools, prompts and resources never change while the server runs; who wants to hear of them hears nothing."""
    return await ListenHandler(InMemorySubscriptionBus())(ctx, params)


async def _inbox(
    caller: auth.Caller, ctx: ServerRequestContext[Any, Any], params: SubscriptionsListenRequestParams
) -> SubscriptionsListenResult:
    look = anyio.Event()

    def wake() -> None:
        look.set()

    bus = InMemorySubscriptionBus()
    handler = ListenHandler(bus)
    try:
        seat = await pool.run(lambda: caller.seat().pk)
        unlisten = nudge.listen(f"inbox:{seat}", wake)
    except RuleError as error:
        raise MCPError(INVALID_PARAMS, error.detail) from None

    async def watch(known: Standing) -> None:
        nonlocal look
        while True:
            with anyio.move_on_after(TICK):
                await look.wait()
            look = anyio.Event()
            try:
                now = await pool.run(partial(standing, caller))
            except RuleError:
                # It left the room, or its token was revoked: the stream ends, and the next call says why.
                handler.close()
                return
            if now != known:
                known = now
                await bus.publish(ResourceUpdated(INBOX))

    try:
        # Read before the stream is acknowledged: what lands after that is a change.
        known = await pool.run(partial(standing, caller))
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(watch, known)
            result = await handler(ctx, params)
            tasks.cancel_scope.cancel()
        return result
    finally:
        unlisten()
