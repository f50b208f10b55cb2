"""``subscriptions/listen`` of 2026 clients: each stream is told that its own inbox changed, and of nothing else.

A stream has a bus to itself. A nudge only wakes it; what it says comes from the database, read as whoever listens may
read it now, so a nudge can be lost, doubled or meant for another without harm.
"""

from __future__ import annotations

import asyncio
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
from rooms.models import Connection

TICK = 5.0
"""Seconds between two looks when no nudge comes: covers a lost one, and ends the stream of who may no longer listen."""
MOST_STREAMS = 32
"""For one connection, in one process; a client holds one."""

_open: Counter[int] = Counter()
_handlers: set[ListenHandler] = set()


async def listen(
    ctx: ServerRequestContext[Any, Any], params: SubscriptionsListenRequestParams
) -> SubscriptionsListenResult:
    """Handler of ``subscriptions/listen``.

    Tools, prompts and resources never change while the server runs: who wants to hear of them hears nothing, and a
    stream for them ends like any other when its connection does.
    """
    caller = identity.current()
    own = {INBOX} if caller.kind == Connection.Kind.AGENT else set()
    for uri in params.notifications.resource_subscriptions or []:
        if uri not in own:
            raise MCPError(INVALID_PARAMS, "Resource not found. Listen to what resources/list names.", {"uri": uri})
    key = caller.connection.pk
    if _open[key] >= MOST_STREAMS:
        raise MCPError(INVALID_REQUEST, f"This connection listens {MOST_STREAMS} times already. Close a stream first.")
    _open[key] += 1
    try:
        return await _stream(caller, ctx, params)
    except RuleError as error:
        raise MCPError(INVALID_PARAMS, error.detail) from None
    finally:
        _open[key] -= 1
        if not _open[key]:
            del _open[key]


def end_all() -> None:
    """End every stream of this process, which tells its client to listen elsewhere: the server stops."""
    for handler in tuple(_handlers):
        handler.close()


async def _stream(
    caller: auth.Caller, ctx: ServerRequestContext[Any, Any], params: SubscriptionsListenRequestParams
) -> SubscriptionsListenResult:
    bus = InMemorySubscriptionBus()
    handler = ListenHandler(bus)
    look = asyncio.Event()
    seat = await pool.run(lambda: caller.seat().pk)
    unlisten = nudge.listen(f"inbox:{seat}", look.set)
    try:
        # Read before the stream is acknowledged: what lands after that is a change.
        known = await pool.run(partial(standing, caller))
        _handlers.add(handler)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(_watch, caller, known, look, bus, handler)
            result = await handler(ctx, params)
            tasks.cancel_scope.cancel()
        return result
    finally:
        _handlers.discard(handler)
        unlisten()


async def _watch(
    caller: auth.Caller, known: Standing, look: asyncio.Event, bus: InMemorySubscriptionBus, handler: ListenHandler
) -> None:
    while True:
        with anyio.move_on_after(TICK):
            await look.wait()
        look.clear()
        try:
            now = await pool.run(partial(standing, caller))
        except RuleError:
            # It left the room, or its token was revoked: the stream ends, and the next call says why.
            handler.close()
            return
        if now != known:
            known = now
            await bus.publish(ResourceUpdated(INBOX))
