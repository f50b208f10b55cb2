"""Who waits for the account chat, by whichever door: while they wait they hold no thread and no database connection.

One watcher for each process looks for everybody at once: whether their rights stand, and what is new, both read in the
same look. A nudge brings a look at that chat; each second there is one at all of them, should a nudge have been lost.
"""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Literal

from agentroom import account_chat, auth
from agentroom.pool import Pool
from messaging import chat, nudge
from messaging.chat import Leave, Page
from rooms.errors import Invalid, Refused
from rooms.models import Room

logger = logging.getLogger(__name__)

LONGEST = 50.0
"""Seconds of one wait."""
TICK = 1.0
PROGRESS = 5.0
"""Seconds between two signs of life while nothing happens."""
MOST = 1000
"""Waits of one connection, in one process."""
BATCH = 50
"""Messages that end one wait at most; the rest lies behind its cursor."""

Reason = Literal["messages", "timeout", "switched_off"]
Progress = Callable[[float], Awaitable[None]]
_readers = Pool("waits", 4)
_watchers = Pool("watcher", 1)
"""Apart, so that who still reads on holds up nobody who sleeps."""


@dataclass(frozen=True, slots=True)
class Waited:
    page: Page
    """For *timeout* and *switched_off* without a message; its cursor has passed what was left out."""
    reason: Reason


async def wait(
    caller: auth.Caller,
    *,
    after: int,
    timeout: float,
    leave: Leave = chat.NOTHING,
    gone: asyncio.Future[Any] | None = None,
    progress: Progress | None = None,
) -> Waited | None:
    """The first messages behind ``after`` that the reader doesn't leave out, as soon as there is one.

    ``progress`` hears the seconds that went by, often enough to keep a line open. None when ``gone`` came first: who
    waited hung up. Ending it at any instant loses nothing, since nothing here remembers what was read. Raises
    Unauthorised when the connection ends meanwhile.
    """
    if not 0 <= timeout <= LONGEST:
        raise Invalid(f"One wait lasts at most {LONGEST:g} seconds; then wait again from its cursor.", field="timeout")
    began = asyncio.get_running_loop().time()
    read = await _look(caller, max(0, after), leave)
    if isinstance(read, Waited):
        return read
    room_id, page = read
    left = timeout - (asyncio.get_running_loop().time() - began)
    return await sleep(caller, room_id, page, timeout=left, leave=leave, gone=gone, progress=progress)


async def sleep(
    caller: auth.Caller,
    room_id: int,
    page: Page,
    *,
    timeout: float,
    leave: Leave = chat.NOTHING,
    gone: asyncio.Future[Any] | None = None,
    progress: Progress | None = None,
) -> Waited | None:
    """The rest of a wait whose caller has read ``page`` of that chat just now; what ``wait`` returns."""
    loop = asyncio.get_running_loop()
    began = loop.time()
    watcher = _watcher(loop)
    waiter = await _join(
        watcher, caller, room_id, page, leave, lambda: loop.time() - began < timeout and not _left(gone)
    )
    if isinstance(waiter, Waited):
        return None if _left(gone) else waiter
    try:
        while True:
            left = began + timeout - loop.time()
            ends = [waiter.woken, *([gone] if gone is not None else [])]
            await asyncio.wait(ends, timeout=max(0, min(left, PROGRESS)), return_when=asyncio.FIRST_COMPLETED)
            if waiter.woken.done():
                waited = waiter.woken.result()
                if waited is None:
                    raise auth.Unauthorised("connection")
                return waited
            if _left(gone):
                return None
            if loop.time() - began >= timeout:
                return _over(waiter, "timeout")
            if progress is not None:
                await progress(loop.time() - began)
    finally:
        watcher.leaves(room_id, waiter)


def _left(gone: asyncio.Future[Any] | None) -> bool:
    return gone is not None and gone.done()


async def _join(
    watcher: _Watcher, caller: auth.Caller, room_id: int, page: Page, leave: Leave, still: Callable[[], bool]
) -> _Waiter | Waited:
    """Read on until there is nothing more, and sleep from there; or what there is already, or how far it came."""
    while True:
        if page.messages:
            return Waited(page, "messages")
        if not page.has_more:
            name = caller.connection.user.username
            waiter = _Waiter(caller.connection.pk, name, page.cursor, leave, watcher.loop.create_future())
            if watcher.joins(room_id, waiter):
                return waiter
        elif not still():
            return Waited(page, "timeout")
        read = await _look(caller, page.cursor, leave)
        if isinstance(read, Waited):
            return read
        room_id, page = read


async def _look(caller: auth.Caller, after: int, leave: Leave) -> tuple[int, Page] | Waited:
    try:
        return await _readers.run(partial(account_chat.read, caller, after=after, limit=BATCH, leave=leave))
    except Refused as error:
        if error.code != chat.SWITCHED_OFF:
            raise
        return Waited(Page([], after, has_more=False, latest_seq=after), "switched_off")


def end_all() -> None:
    """End every wait of this process as if its time were over: the server stops, and they wait again elsewhere."""
    if _current is not None:
        _current.end_all()


@dataclass(eq=False, slots=True)
class _Waiter:
    connection: int
    account: str
    cursor: int
    """Everything up to here was looked at, and left out."""
    leave: Leave
    woken: asyncio.Future[Waited | None]
    """None when its connection has ended."""

    def sees(self, page: Page) -> None:
        """Take what the watcher read, from the cursor on."""
        mine = [m for m in page.messages if m.number > self.cursor and not self.leave.leaves(m)]
        if not mine:
            self.cursor = max(self.cursor, page.cursor)
            return
        kept = mine[:BATCH]
        reached = kept[-1].number if len(mine) > BATCH else page.cursor
        self.woken.set_result(Waited(Page(kept, reached, reached < page.latest_seq, page.latest_seq), "messages"))


def _over(waiter: _Waiter, reason: Reason) -> Waited:
    return Waited(Page([], waiter.cursor, has_more=False, latest_seq=waiter.cursor), reason)


@dataclass(slots=True)
class _Chat:
    seen: int
    """Every waiter has been shown everything up to this number."""
    unlisten: Callable[[], None]
    waiters: set[_Waiter] = field(default_factory=set)


@dataclass(frozen=True, slots=True)
class _Look:
    on: bool
    page: Page | None
    """None where nothing is new."""


class _Watcher:
    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.loop = loop
        self._chats: dict[int, _Chat] = {}
        self._waits: Counter[int] = Counter()
        self._due: set[int] = set()
        self._look = asyncio.Event()
        self._task: asyncio.Task[None] | None = None

    def joins(self, room_id: int, waiter: _Waiter) -> bool:
        """Wake it from now on; False when it has not read what others there were shown already."""
        here = self._chats.get(room_id)
        if here is not None and waiter.cursor < here.seen:
            return False
        if self._waits[waiter.connection] >= MOST:
            raise Refused(f"This connection waits {MOST} times already.")
        if here is None:
            unlisten = nudge.listen(f"room:{room_id}", partial(self._nudged, room_id))
            here = self._chats[room_id] = _Chat(waiter.cursor, unlisten)
            # Something may have come between its read and the nudges.
            self._nudged(room_id)
        here.waiters.add(waiter)
        self._waits[waiter.connection] += 1
        if self._task is None or self._task.done():
            self._task = self.loop.create_task(self._watch())
        return True

    def leaves(self, room_id: int, waiter: _Waiter) -> None:
        here = self._chats[room_id]
        here.waiters.discard(waiter)
        self._waits -= Counter([waiter.connection])
        if not here.waiters:
            here.unlisten()
            del self._chats[room_id]
            self._due.discard(room_id)
        if not self._chats and self._task is not None:
            self._task.cancel()
            self._task = None

    def end_all(self) -> None:
        for waiter in [waiter for here in self._chats.values() for waiter in here.waiters]:
            if not waiter.woken.done():
                waiter.woken.set_result(_over(waiter, "timeout"))

    def _nudged(self, room_id: int) -> None:
        self._due.add(room_id)
        self._look.set()

    async def _watch(self) -> None:
        next_tick = self.loop.time() + TICK
        while True:
            try:
                await asyncio.wait_for(self._look.wait(), timeout=max(0, next_tick - self.loop.time()))
            except TimeoutError:
                next_tick = self.loop.time() + TICK
                self._due = set(self._chats)
            self._look.clear()
            due, self._due = self._due, set()
            try:
                await self._look_at(due & self._chats.keys())
            except Exception:
                logger.warning("The chats could not be read; tried again in a second.", exc_info=True)

    async def _look_at(self, room_ids: Iterable[int]) -> None:
        seen = {room_id: self._chats[room_id].seen for room_id in room_ids}
        if not seen:
            return
        asked = {waiter for room_id in seen for waiter in self._chats[room_id].waiters}
        accounts = {room_id: next(iter(self._chats[room_id].waiters)).account for room_id in seen}
        connections = {waiter.connection for waiter in asked}
        looks, standing = await _watchers.run(partial(_looked, seen, accounts, connections))
        for room_id in seen:
            if room_id in self._chats:
                self._show(room_id, asked, looks[room_id], standing)

    def _show(self, room_id: int, asked: set[_Waiter], look: _Look, standing: set[int]) -> None:
        here = self._chats[room_id]
        for waiter in here.waiters & asked:
            if waiter.woken.done():
                continue
            if waiter.connection not in standing:
                waiter.woken.set_result(None)
            elif not look.on:
                waiter.woken.set_result(_over(waiter, "switched_off"))
            elif look.page is not None:
                waiter.sees(look.page)
        # Whose rights this look did not read, because they joined meanwhile, is shown the same by the next one.
        joined = here.waiters - asked
        if look.page is not None:
            here.seen = min([look.page.cursor, *(waiter.cursor for waiter in joined)])
        if joined or (look.page is not None and look.page.has_more):
            self._nudged(room_id)


def _looked(seen: dict[int, int], accounts: dict[int, str], connections: set[int]) -> tuple[dict[int, _Look], set[int]]:
    looks = dict.fromkeys(seen, _Look(on=False, page=None))
    for room in Room.objects.filter(pk__in=list(seen)).only("last_seq", "agent_chat"):
        # Up to the number that stood there when the chat was on, and no further.
        new = room.agent_chat and room.last_seq > seen[room.pk]
        page = chat.fresh(room.pk, accounts[room.pk], seen[room.pk], room.last_seq) if new else None
        looks[room.pk] = _Look(room.agent_chat, page)
    # Rights last: what was written after a connection had ended is not shown to it.
    return looks, auth.standing(connections)


_current: _Watcher | None = None


def _watcher(loop: asyncio.AbstractEventLoop) -> _Watcher:
    global _current
    if _current is None or _current.loop is not loop:
        _current = _Watcher(loop)
    return _current
