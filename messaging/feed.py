"""Carries a room's new entries to its open pages: read once, drawn once, sent to each reader whose right still stands.

One feed per room and process. A nudge wakes it, a poll each second covers lost nudges, and what it does is always the
same: read what comes after its number. Each reader has a number of its own; a slow one catches up from the ring of
recent frames or from the table, and holds up nobody.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections import deque
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import datetime
from typing import ParamSpec, TypeVar

from django.db import close_old_connections
from django.utils import timezone

from messaging import log, nudge
from messaging.render import chat, live
from messaging.viewer import Seat, seat_of
from rooms.errors import NotFound
from rooms.models import Room

logger = logging.getLogger(__name__)
P = ParamSpec("P")
R = TypeVar("R")
Send = Callable[[str], Awaitable[None]]
End = Callable[[], Awaitable[None]]

READERS = ThreadPoolExecutor(4, "feed")
"""Not sync_to_async: that is a thread and a database connection for each that waits."""
RING = 200
WINDOW = 400
"""Entries that may be on their way to a page that has not said it drew them."""
POLL = 1.0
BEAT = 15.0
"""Seconds of silence after which a page hears that the socket lives."""
RECHECK = 30.0
"""Seconds after which each reader's session is looked at again."""
FURTHEST = 2_000
"""A page that is further behind is told to load itself again."""


async def in_thread(function: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
    def job() -> R:
        close_old_connections()
        return function(*args, **kwargs)

    return await asyncio.get_running_loop().run_in_executor(READERS, job)


@dataclass(frozen=True)
class Look:
    """What a read of a room found, drawn; and the version of its membership, read after everything else."""

    frame: live.Frame
    last_seq: int
    version: int


def look(room_id: int, cursor: int, cards: live.Cards | None = None) -> Look | None:
    """None when the room is gone.

    The version comes last: whoever's right ended before any of this was written is seen to have lost it.
    """
    try:
        page = log.after(room_id, cursor)
    except NotFound:
        return None
    if page.entries and Room.objects.filter(pk=room_id, kind=Room.Kind.ACCOUNT).exists():
        frame = chat.frame(room_id, cursor, page.cursor, page.entries)
    else:
        frame = live.frame(room_id, cursor, page.cursor, page.entries, cards)
    version = Room.objects.filter(pk=room_id).values_list("membership_version", flat=True).first()
    return None if version is None else Look(frame, page.last_seq, version)


def heads(room_ids: list[int]) -> dict[int, tuple[int, int]]:
    rows = Room.objects.filter(pk__in=room_ids).values_list("pk", "last_seq", "membership_version")
    return {pk: (last_seq, version) for pk, last_seq, version in rows}


class Reader:
    """One open page: where it is, and how far it says it has drawn."""

    def __init__(self, feed: Feed, seat: Seat, cursor: int, send: Send, end: End, fail: End) -> None:
        self.feed, self.seat, self.cursor, self.acked = feed, seat, cursor, cursor
        self.send, self.end, self.fail = send, end, fail
        self.wake = asyncio.Event()
        self.checked_at = asyncio.get_running_loop().time()
        self.task = asyncio.create_task(self._run())

    def ack(self, cursor: int) -> None:
        self.acked = max(self.acked, min(cursor, self.cursor))
        self.wake.set()

    @property
    def due(self) -> bool:
        return self.cursor < self.feed.head and self.cursor - self.acked < WINDOW

    @property
    def expired(self) -> bool:
        expires_at: datetime | None = self.seat.expires_at
        return expires_at is not None and expires_at <= timezone.now()

    async def _run(self) -> None:
        try:
            while True:
                try:
                    await asyncio.wait_for(self._until_due(), BEAT)
                except TimeoutError:
                    if await self._may_read():
                        await self.send(live.text_of(self.cursor, [], []))
                    continue
                if not await self._may_read():
                    return
                if not self.due:
                    continue
                frame = self.feed.recent(self.cursor) or await self._catch_up()
                # A right that ended while the frame was made ends here, before it is sent.
                if frame is None or not await self._may_read():
                    return
                self.cursor = frame.cursor
                await self.send(frame.text)
        except asyncio.CancelledError:
            raise
        except Exception:
            logger.exception("A page's feed ended; it will come back by itself.")
            with contextlib.suppress(Exception):
                await self.fail()

    async def _until_due(self) -> None:
        while not self.due:
            self.wake.clear()
            if self.expired or self.seat.version != self.feed.version:
                return
            await self.wake.wait()

    async def _may_read(self) -> bool:
        """Whether the right to read still stands; else says so and ends."""
        now = asyncio.get_running_loop().time()
        if self.seat.version == self.feed.version and not self.expired and now - self.checked_at < RECHECK:
            return True
        version = self.feed.version
        seat = await in_thread(seat_of, self.seat.session_key, self.feed.room_id)
        if seat is None:
            await self.end()
            return False
        self.seat, self.checked_at = Seat(seat.session_key, seat.expires_at, version), now
        return True

    async def _catch_up(self) -> live.Frame | None:
        before, feed = self.cursor, self.feed
        if feed.head - before > FURTHEST:
            return live.Frame(before, feed.head, live.text_of(feed.head, [], [], gap=True))
        found = await in_thread(look, feed.room_id, before)
        if found is None:
            await self.end()
            return None
        feed.version = max(feed.version, found.version)
        return found.frame


class Feed:
    def __init__(self, room_id: int, head: int, version: int) -> None:
        self.room_id, self.head, self.version = room_id, head, version
        self.readers: set[Reader] = set()
        self.ring: deque[live.Frame] = deque(maxlen=RING)
        self.cards = live.Cards()
        self.wake = asyncio.Event()
        self.unlisten = nudge.listen(f"room:{room_id}", self.wake.set)
        self.task = asyncio.create_task(self._run())

    def recent(self, cursor: int) -> live.Frame | None:
        """The frame that a page at ``cursor`` needs next, if it is still here."""
        return next((frame for frame in self.ring if frame.before <= cursor < frame.cursor), None)

    async def _run(self) -> None:
        while True:
            await self.wake.wait()
            self.wake.clear()
            try:
                while await self._step():
                    pass
            except asyncio.CancelledError:
                raise
            except Exception:
                logger.exception("Room %s could not be read; the next poll tries again.", self.room_id)
                # They may hold what no page was told.
                self.cards = live.Cards()

    async def _step(self) -> bool:
        """Read and draw once; whether there is more."""
        found = await in_thread(look, self.room_id, self.head, self.cards)
        self.version = -1 if found is None else found.version
        if found is not None and found.frame.cursor > self.head:
            self.ring.append(found.frame)
            self.head = found.frame.cursor
        for reader in self.readers:
            reader.wake.set()
        return found is not None and self.head < found.last_seq

    def close(self) -> None:
        self.unlisten()
        self.task.cancel()


class Feeds:
    """The feeds of this process, in the loop that serves its sockets."""

    def __init__(self) -> None:
        self.loop: asyncio.AbstractEventLoop | None = None
        self.feeds: dict[int, Feed] = {}
        self.poll: asyncio.Task[None] | None = None

    async def join(self, room_id: int, seat: Seat, cursor: int, send: Send, end: End, fail: End) -> Reader:
        """Begin to send a page what comes after ``cursor``; ``end`` when the right is over, ``fail`` when we are."""
        running = asyncio.get_running_loop()
        if self.loop is not running:
            self.loop, self.feeds, self.poll = running, {}, None
        feed = self.feeds.get(room_id)
        if feed is None:
            head, version = (await in_thread(heads, [room_id])).get(room_id, (0, -1))
            feed = self.feeds.get(room_id)
            if feed is None:
                feed = self.feeds[room_id] = Feed(room_id, head, version)
        if self.poll is None or self.poll.done():
            self.poll = asyncio.create_task(self._poll())
        reader = Reader(feed, seat, cursor, send, end, fail)
        feed.readers.add(reader)
        feed.wake.set()
        return reader

    def leave(self, reader: Reader) -> None:
        reader.task.cancel()
        feed = reader.feed
        feed.readers.discard(reader)
        if not feed.readers and self.feeds.get(feed.room_id) is feed:
            del self.feeds[feed.room_id]
            feed.close()

    async def _poll(self) -> None:
        """Wakes feeds whose room moved without a nudge, and readers whose time is over."""
        while self.feeds:
            await asyncio.sleep(POLL)
            try:
                found = await in_thread(heads, list(self.feeds))
            except asyncio.CancelledError:
                raise
            except Exception:
                logger.warning("The rooms could not be polled; trying again.", exc_info=True)
                continue
            for room_id, feed in list(self.feeds.items()):
                if found.get(room_id, (0, -1)) != (feed.head, feed.version):
                    feed.wake.set()
                for reader in feed.readers:
                    if reader.expired:
                        reader.wake.set()


feeds = Feeds()
