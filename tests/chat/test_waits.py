"""Waiting for the chat: woken by what is said and by nothing else, ended at any instant without a loss."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from asgiref.sync import sync_to_async
from django.db import connections, transaction
from django.utils import timezone

from agentroom import account_chat, auth, waits
from messaging import chat, log, nudge
from messaging.chat import Leave
from rooms import membership
from rooms.errors import Invalid, Refused
from rooms.models import Connection, User
from tests.chat.programs import Program, bodies

pytestmark = [pytest.mark.django_db(transaction=True)]


@pytest.fixture
def alice() -> Iterator[User]:
    yield membership.make_person("alice")
    connections.close_all()


@pytest.fixture
def writer(alice: User) -> Program:
    return Program(alice, "writer")


@pytest.fixture
def reader(alice: User) -> Program:
    return Program(alice, "reader")


async def do(job: Callable[[], Any]) -> Any:
    return await sync_to_async(job)()


async def waiting(reader: Program, **options: Any) -> asyncio.Task[waits.Waited | None]:
    """A wait that has read what was there, and sleeps."""
    caller = await do(lambda: reader.caller)
    options = {"after": 0, "timeout": 20} | options
    task = asyncio.create_task(waits.wait(caller, **options))
    before = _sleepers()
    while _sleepers() == before and not task.done():
        await asyncio.sleep(0.005)
    return task


def _sleepers() -> int:
    watcher = waits._current
    if watcher is None or watcher.loop is not asyncio.get_running_loop():
        return 0
    return sum(len(here.waiters) for here in watcher._chats.values())


async def ended(task: asyncio.Task[waits.Waited | None]) -> waits.Waited:
    waited = await asyncio.wait_for(task, 15)
    assert waited is not None
    return waited


async def test_what_is_there_already_is_answered_at_once(writer: Program, reader: Program) -> None:
    await do(lambda: [writer.send("one"), writer.send("two")])
    waited = await ended(await waiting(reader))
    assert (waited.reason, bodies(waited.page)) == ("messages", ["one", "two"])
    assert (waited.page.cursor, waited.page.has_more) == (waited.page.latest_seq, False)


async def test_a_message_wakes_it_and_comes_with_it(writer: Program, reader: Program) -> None:
    task = await waiting(reader)
    sent = await do(lambda: writer.send("hello"))
    waited = await ended(task)
    assert (waited.reason, waited.page.messages, waited.page.cursor) == ("messages", [sent], sent.number)


async def test_a_lost_nudge_costs_a_second_and_nothing_else(
    writer: Program, reader: Program, monkeypatch: pytest.MonkeyPatch
) -> None:
    task = await waiting(reader)
    monkeypatch.setattr(nudge, "_send", lambda topic: None)
    await do(lambda: writer.send("hello"))
    assert bodies((await ended(task)).page) == ["hello"]


async def test_its_own_words_and_left_out_topics_do_not_wake_it_and_are_passed(
    writer: Program, reader: Program
) -> None:
    task = await waiting(reader, timeout=3, leave=Leave.of(["builds"], ["reader"]))
    await do(lambda: [reader.send("me"), writer.send("noise", topic="builds")])
    waited = await ended(task)
    assert (waited.reason, waited.page.messages) == ("timeout", [])
    last = await do(lambda: writer.read().latest_seq)
    assert waited.page.cursor == last, "the next wait need not look at them again"
    task = await waiting(reader, after=waited.page.cursor, leave=Leave.of(["builds"], ["reader"]))
    await do(lambda: [reader.send("me again"), writer.send("for you")])
    assert bodies((await ended(task)).page) == ["for you"]


async def test_nothing_new_ends_it_in_time_and_it_shows_that_it_lives(
    reader: Program, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(waits, "PROGRESS", 0.2)
    heard: list[float] = []

    async def progress(elapsed: float) -> None:
        heard.append(elapsed)

    waited = await ended(await waiting(reader, timeout=1, progress=progress))
    assert (waited.reason, waited.page.messages, waited.page.cursor) == ("timeout", [], 0)
    assert len(heard) >= 3
    assert heard == sorted(heard)


async def test_switching_the_chat_off_ends_what_waits_and_refuses_what_comes(
    alice: User, writer: Program, reader: Program
) -> None:
    task = await waiting(reader)
    await do(lambda: chat.switch(alice, on=False))
    waited = await ended(task)
    assert (waited.reason, waited.page.messages, waited.page.cursor) == ("switched_off", [], 0)
    again = await ended(await waiting(reader, after=7))
    assert (again.reason, again.page.cursor, again.page.latest_seq) == ("switched_off", 7, 7), "it learns no number"


async def test_a_message_that_came_as_the_chat_was_switched_off_is_not_shown(
    alice: User, writer: Program, reader: Program, monkeypatch: pytest.MonkeyPatch
) -> None:
    task = await waiting(reader)

    def both() -> None:
        monkeypatch.setattr(nudge, "_send", lambda topic: None)
        writer.send("too late")
        chat.switch(alice, on=False)

    await do(both)
    assert (await ended(task)).reason == "switched_off"


async def test_a_revoked_connection_ends_what_waits_for_it_and_no_other(
    alice: User, writer: Program, reader: Program
) -> None:
    mine, others = await waiting(reader), await waiting(writer)
    await do(lambda: membership.revoke_connection(alice, reader.connection.pk))
    with pytest.raises(auth.Unauthorised):
        await ended(mine)
    assert not others.done()
    sent = await do(lambda: writer.send("still here"))
    assert (await ended(others)).page.messages == [sent]


async def test_revoked_in_the_instant_of_a_message_it_gets_nothing(
    alice: User, writer: Program, reader: Program, monkeypatch: pytest.MonkeyPatch
) -> None:
    task = await waiting(reader)

    def both() -> None:
        monkeypatch.setattr(nudge, "_send", lambda topic: None)
        writer.send("for the others")
        Connection.objects.filter(pk=reader.connection.pk).update(revoked_at=timezone.now())

    await do(both)
    with pytest.raises(auth.Unauthorised):
        await ended(task)


async def test_what_is_written_after_the_look_at_the_switch_is_not_shown(
    alice: User, writer: Program, reader: Program, monkeypatch: pytest.MonkeyPatch
) -> None:
    task = await waiting(reader)
    fresh = chat.fresh

    def switched_off_meanwhile(*args: Any) -> chat.Page:
        chat.switch(alice, on=False)
        chat.send(writer.seat, body="after", client_id="k", connection=chat.BY_OWNER, by_program=False)
        return fresh(*args)

    monkeypatch.setattr(chat, "fresh", switched_off_meanwhile)
    await do(lambda: writer.send("before"))
    assert bodies((await ended(task)).page) == ["before"]


async def test_what_is_written_after_a_connection_ended_is_not_shown_to_it(
    alice: User, writer: Program, reader: Program, monkeypatch: pytest.MonkeyPatch
) -> None:
    task = await waiting(reader)
    fresh = chat.fresh

    def revoked_meanwhile(*args: Any) -> chat.Page:
        membership.revoke_connection(alice, reader.connection.pk)
        return fresh(*args)

    monkeypatch.setattr(chat, "fresh", revoked_meanwhile)
    await do(lambda: writer.send("for the others"))
    with pytest.raises(auth.Unauthorised):
        await ended(task)


async def test_who_leaves_out_a_long_past_is_answered_in_time(
    writer: Program, reader: Program, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(log, "WINDOW", 1)

    def long_past() -> None:
        with transaction.atomic():
            for n in range(400):
                writer.send(f"{n}", topic="builds")

    await do(long_past)
    page = await do(lambda: reader.read(0, leave=Leave.of(["builds"])))
    assert page.has_more, "one read does not get through it"
    caller = await do(lambda: reader.caller)
    waited = await waits.wait(caller, after=0, timeout=0.01, leave=Leave.of(["builds"]))
    assert waited is not None
    assert (waited.reason, waited.page.messages, waited.page.has_more) == ("timeout", [], True)
    assert 0 < waited.page.cursor < waited.page.latest_seq, "it says how far it came"


async def test_who_hangs_up_or_is_cut_off_leaves_nothing_behind(writer: Program, reader: Program) -> None:
    gone: asyncio.Future[None] = asyncio.get_running_loop().create_future()
    task = await waiting(reader, gone=gone)
    cut = await waiting(reader)
    assert _sleepers() == 2
    gone.set_result(None)
    assert await asyncio.wait_for(task, 5) is None
    cut.cancel()
    with pytest.raises(asyncio.CancelledError):
        await cut
    assert _sleepers() == 0
    # The same wait again finds what was said meanwhile.
    await do(lambda: writer.send("meanwhile"))
    assert bodies((await ended(await waiting(reader))).page) == ["meanwhile"]


async def test_another_accounts_words_wake_nobody(reader: Program) -> None:
    dana = await do(lambda: Program(membership.make_person("dana")))
    task = await waiting(reader, timeout=2)
    await do(lambda: dana.send("not for alice"))
    waited = await ended(task)
    assert (waited.reason, waited.page.messages) == ("timeout", [])


async def test_a_burst_comes_in_pieces_that_join(writer: Program, reader: Program) -> None:
    task = await waiting(reader)

    def at_once() -> None:
        with transaction.atomic():
            for n in range(130):
                writer.send(f"{n}")

    await do(at_once)
    got: list[str] = []
    page = (await ended(task)).page
    while True:
        got += bodies(page)
        if len(got) >= 130:
            break
        page = (await ended(await waiting(reader, after=page.cursor))).page
    assert got == [f"{n}" for n in range(130)]


async def test_what_was_shown_to_others_between_its_read_and_its_sleep_is_not_passed_over(
    writer: Program, reader: Program, monkeypatch: pytest.MonkeyPatch
) -> None:
    read = account_chat.read
    has_read, may_sleep = threading.Event(), threading.Event()

    def held_up(*args: Any, **options: Any) -> Any:
        result = read(*args, **options)
        has_read.set()
        may_sleep.wait(10)
        return result

    others = await waiting(writer, leave=Leave.of([], ["writer"]))
    caller = await do(lambda: reader.caller)
    monkeypatch.setattr(account_chat, "read", held_up)
    task = asyncio.create_task(waits.wait(caller, after=0, timeout=5))
    assert await asyncio.to_thread(has_read.wait, 10)
    sent = await do(lambda: writer.send("in between"))
    assert waits._current is not None
    [here] = waits._current._chats.values()
    while here.seen < sent.number:
        await asyncio.sleep(0.005)
    may_sleep.set()
    assert bodies((await ended(task)).page) == ["in between"]
    others.cancel()


async def test_an_hour_is_refused_and_so_is_the_thousand_and_first_wait(
    reader: Program, monkeypatch: pytest.MonkeyPatch
) -> None:
    caller = await do(lambda: reader.caller)
    for seconds in (51, -1, float("nan")):
        with pytest.raises(Invalid, match="50 seconds"):
            await waits.wait(caller, after=0, timeout=seconds)
    monkeypatch.setattr(waits, "MOST", 1)
    first = await waiting(reader)
    with pytest.raises(Refused, match="waits 1 times"):
        await waits.wait(caller, after=0, timeout=5)
    first.cancel()


async def test_an_agents_connection_waits_for_no_chat(alice: User) -> None:
    room = await do(lambda: membership.create_room(alice, name="kitchen"))
    found = Connection(kind=Connection.Kind.AGENT, user=alice, room=room)
    with pytest.raises(Refused, match="speaks for an agent"):
        await waits.wait(auth.Caller(found), after=0, timeout=1)


async def test_five_hundred_that_wait_are_looked_after_at_once(
    writer: Program, reader: Program, monkeypatch: pytest.MonkeyPatch
) -> None:
    caller = await do(lambda: reader.caller)
    looks = []
    looked = waits._looked

    def counted(*args: Any) -> Any:
        looks.append(args)
        return looked(*args)

    tasks = [asyncio.create_task(waits.wait(caller, after=0, timeout=30)) for _ in range(500)]
    while _sleepers() < 500:
        await asyncio.sleep(0.01)
    monkeypatch.setattr(waits, "_looked", counted)
    sent = await do(lambda: writer.send("all of you"))
    found = await asyncio.wait_for(asyncio.gather(*tasks), 30)
    assert all(waited is not None and waited.page.messages == [sent] for waited in found)
    assert len(looks) <= 5
