"""Says "look" and nothing else. A lost nudge costs latency, never an entry: whoever listens also polls."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import threading
from collections import defaultdict
from collections.abc import Callable

from asgiref.sync import async_to_sync
from channels.layers import get_channel_layer
from django.conf import settings
from django.db import transaction

logger = logging.getLogger(__name__)
GROUP = "nudge"
Callback = Callable[[], None]

_listeners: dict[str, set[Callback]] = defaultdict(set)
_loop: asyncio.AbstractEventLoop | None = None
_subscription: asyncio.Task[None] | None = None
_pending: set[asyncio.Task[None]] = set()
_guard = threading.Lock()


def room(room_id: int) -> None:
    """Something was appended to the room, or somebody's right to read it changed."""
    _after_commit(f"room:{room_id}")


def machine(machine_id: int) -> None:
    """The machine may lack something: an offer, a verdict, a stop."""
    _after_commit(f"machine:{machine_id}")


def user(user_id: int) -> None:
    """Something waits for the person, or no longer does."""
    _after_commit(f"user:{user_id}")


def inbox(member_id: int) -> None:
    """Something landed in that seat's inbox, was let in there, or was read."""
    _after_commit(f"inbox:{member_id}")


def _after_commit(topic: str) -> None:
    # robust: a dead Redis must not turn a stored message into an error.
    transaction.on_commit(lambda: _send(topic), robust=True)


def _send(topic: str) -> None:
    loop = _loop
    if loop is not None and not loop.is_closed():
        with contextlib.suppress(RuntimeError):  # the loop closed in between: the process ends
            loop.call_soon_threadsafe(_here_and_elsewhere, topic)
    elif settings.SCALED:
        async_to_sync(_elsewhere)(topic)


def _here_and_elsewhere(topic: str) -> None:
    _here(topic)
    if settings.SCALED:
        task = asyncio.ensure_future(_elsewhere(topic))
        _pending.add(task)
        task.add_done_callback(_pending.discard)


def _here(topic: str) -> None:
    for callback in tuple(_listeners.get(topic, ())):
        callback()


async def _elsewhere(topic: str) -> None:
    layer = get_channel_layer()
    try:
        await layer.group_send(GROUP, {"type": "nudge", "topic": topic})
    except Exception:
        logger.warning("The channel layer did not take a nudge; listeners find out by their poll.", exc_info=True)


def listen(topic: str, callback: Callback) -> Callback:
    """Call ``callback`` in this process's event loop at each nudge about ``topic``.

    A topic is "room:5", "machine:3", "user:9" or "inbox:7". Call it from the loop. Returns the function that ends it.
    One layer subscription serves the whole process.
    """
    global _loop, _subscription
    running = asyncio.get_running_loop()
    with _guard:
        if _loop is not running:
            _loop, _subscription = running, None
            _listeners.clear()
        if settings.SCALED and (_subscription is None or _subscription.done()):
            _subscription = running.create_task(_subscribe())
    _listeners[topic].add(callback)

    def unlisten() -> None:
        callbacks = _listeners.get(topic)
        if callbacks is not None:
            callbacks.discard(callback)
            if not callbacks:
                del _listeners[topic]

    return unlisten


async def _subscribe() -> None:
    while True:
        try:
            layer = get_channel_layer()
            channel = await layer.new_channel()
            await layer.group_add(GROUP, channel)
            while True:
                message = await layer.receive(channel)
                _here(message["topic"])
        except asyncio.CancelledError:
            raise
        except Exception:
            logger.warning("The channel layer is away; listening again in a second.", exc_info=True)
            await asyncio.sleep(1)
