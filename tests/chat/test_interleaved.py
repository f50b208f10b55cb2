"""Any order of sends, filtered reads, filtered waits and clean-ups: who reads on gets everything, in order, once.

The orders are played step by step, with waits that sleep meanwhile; and once more all at the same time, by threads.
"""

from __future__ import annotations

import asyncio
import itertools
import os
import random
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

import pytest
from asgiref.sync import sync_to_async
from django.db import close_old_connections, connections
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from agentroom import waits
from messaging import chat, log
from messaging.chat import Leave, Message
from rooms import membership
from tests.chat.programs import Program

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.timeout(400)]
EXAMPLES = int(os.environ.get("CHAT_EXAMPLES", "40"))
TOPICS, SESSIONS = ("general", "oven", "builds"), ("claude", "codex", "gemini")
_accounts = itertools.count()


@dataclass
class Reader:
    """A program that keeps its cursor, and what it got."""

    program: Program
    leave: Leave
    cursor: int = 0
    got: list[Message] = field(default_factory=list)
    may_miss: set[int] = field(default_factory=set)
    """Numbers that a clean-up took before it had read them."""
    wait: asyncio.Task[Any] | None = None

    def take(self, page: chat.Page) -> None:
        assert page.cursor >= self.cursor, "a cursor never goes back"
        assert all(self.cursor < message.number <= page.cursor for message in page.messages)
        assert page.has_more == (page.cursor < page.latest_seq)
        self.cursor = page.cursor
        self.got += page.messages

    def removed(self, through: int) -> None:
        self.may_miss |= set(range(self.cursor + 1, through + 1))

    def check(self, sent: list[Message]) -> None:
        """Everything stored and not left out, in order, once; only what was removed unread may be missing."""
        mine = [message for message in sent if not self.leave.leaves(message)]
        got = [message.number for message in self.got]
        assert got == sorted(set(got))
        assert set(got) <= {message.number for message in mine}
        missing = {message.number for message in mine} - set(got)
        assert missing <= self.may_miss
        by_number = {message.number: message for message in mine}
        assert [message.body for message in self.got] == [by_number[number].body for number in got]


leaves = st.builds(
    Leave.of, st.lists(st.sampled_from(TOPICS), max_size=2), st.lists(st.sampled_from(SESSIONS), max_size=2)
)
steps = st.one_of(
    st.tuples(st.just("send"), st.sampled_from(TOPICS), st.sampled_from(SESSIONS)),
    st.tuples(st.just("read"), st.integers(0, 2), st.integers(1, 5)),
    st.tuples(st.just("wait"), st.integers(0, 2), st.just(0)),
    st.tuples(st.just("cut off"), st.integers(0, 2), st.just(0)),
    st.tuples(st.just("clean up"), st.integers(0, 12), st.just(0)),
)


@given(st.lists(leaves, min_size=3, max_size=3), st.lists(steps, max_size=40))
@settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=list(HealthCheck))
def test_in_any_order_each_reader_gets_what_was_stored_once_and_in_order(
    wanted: list[Leave], order: list[tuple[str, Any, Any]]
) -> None:
    asyncio.run(_play(wanted, order))
    connections.close_all()


async def _play(wanted: list[Leave], order: list[tuple[str, Any, Any]]) -> None:
    do = sync_to_async
    owner = await do(membership.make_person)(f"alice{next(_accounts)}")
    writer = await do(Program)(owner, "writer")
    readers = [Reader(await do(Program)(owner), leave) for leave in wanted]
    room = (await do(lambda: writer.seat)()).room_id
    sent: list[Message] = []
    for what, one, other in order:
        match what:
            case "send":
                sent.append(await do(writer.send)(f"{len(sent)}", topic=one, session=other))
            case "read" if readers[one].wait is None:
                reader = readers[one]
                reader.take(await do(reader.program.read)(reader.cursor, other, reader.leave))
            case "wait" if readers[one].wait is None:
                reader = readers[one]
                caller = await do(lambda reader=reader: reader.program.caller)()
                reader.wait = asyncio.create_task(
                    waits.wait(caller, after=reader.cursor, timeout=30, leave=reader.leave)
                )
                await asyncio.sleep(0)
            case "cut off" if readers[one].wait is not None:
                await _cut_off(readers[one])
            case "clean up":
                through = sent[-1].number - one if sent else 0
                for reader in readers:
                    reader.removed(through)
                await do(log.purge)(room, through)
            case _:
                pass
        for reader in readers:
            _look(reader)
    for reader in readers:
        await _cut_off(reader)
        await _drain(reader)
        reader.check(sent)


def _look(reader: Reader) -> None:
    if reader.wait is not None and reader.wait.done():
        reader.take(reader.wait.result().page)
        reader.wait = None


async def _cut_off(reader: Reader) -> None:
    if reader.wait is not None:
        # It may have been answered in this very moment: then its answer got lost, and it reads from the same cursor.
        reader.wait.cancel()
        await asyncio.gather(reader.wait, return_exceptions=True)
        reader.wait = None


async def _drain(reader: Reader) -> None:
    while True:
        page = await sync_to_async(reader.program.read)(reader.cursor, 3, reader.leave)
        reader.take(page)
        if not page.has_more:
            return


WRITERS, MESSAGES = 4, 60


def test_all_at_once_each_reader_gets_what_was_stored_once_and_in_order() -> None:
    owner = membership.make_person("alice")
    writers = [Program(owner, name) for name in ("claude", "codex", "gemini", "front")]
    readers = [
        Reader(Program(owner), leave)
        for leave in (
            chat.NOTHING,
            Leave.of(["builds"]),
            Leave.of([], ["claude"]),
            Leave.of(["oven"], ["codex", "gemini"]),
        )
    ]
    dice = random.Random(7)
    plan = [[(dice.choice(TOPICS), n) for n in range(MESSAGES)] for _ in writers]
    asyncio.run(_all_at_once(writers, plan, readers, owner.owned_rooms.get().pk))
    connections.close_all()


async def _all_at_once(
    writers: list[Program], plan: list[list[tuple[str, int]]], readers: list[Reader], room: int
) -> None:
    threads = ThreadPoolExecutor(len(writers) + 1)
    loop = asyncio.get_running_loop()
    over, guard = threading.Event(), threading.Lock()
    sent: list[Message] = []

    def write(program: Program, orders: list[tuple[str, int]]) -> None:
        for topic, n in orders:
            message = program.send(f"{program.session} {n}", topic=topic)
            with guard:
                sent.append(message)
        close_old_connections()
        connections.close_all()

    def clean_up() -> None:
        # What everybody has read may go at any time, and goes while the others write, read and wait.
        while not over.wait(0.02):
            log.purge(room, min(reader.cursor for reader in readers))
        connections.close_all()

    async def read(reader: Reader) -> None:
        caller = await sync_to_async(lambda: reader.program.caller)()
        dice = random.Random(id(reader))
        while True:
            done = len(sent) == WRITERS * MESSAGES
            if dice.random() < 0.3:
                page = await sync_to_async(reader.program.read)(reader.cursor, dice.randint(1, 9), reader.leave)
            else:
                task = asyncio.create_task(
                    waits.wait(caller, after=reader.cursor, timeout=dice.uniform(0, 0.5), leave=reader.leave)
                )
                if dice.random() < 0.3:
                    await asyncio.sleep(dice.uniform(0, 0.02))
                    task.cancel()
                    await asyncio.gather(task, return_exceptions=True)
                    continue
                waited = await task
                assert waited is not None
                page = waited.page
            reader.take(page)
            if done and not page.has_more and not page.messages:
                return

    cleaning = loop.run_in_executor(threads, clean_up)
    writing = [
        loop.run_in_executor(threads, write, program, orders) for program, orders in zip(writers, plan, strict=True)
    ]
    try:
        await asyncio.gather(*(read(reader) for reader in readers), *writing)
    finally:
        over.set()
        await cleaning
        threads.shutdown()
    assert len(sent) == WRITERS * MESSAGES
    for reader in readers:
        reader.check(sorted(sent, key=lambda message: message.number))
