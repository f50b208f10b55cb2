"""What is open when a room or an account goes ends at once; two that happen at the same moment leave no halves."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import pytest
from django.db import connection

from approvals import control, turns
from approvals.models import Turn
from messaging import consumers, nudge
from messaging.feed import feeds, in_thread
from messaging.models import Entry
from messaging.verify import verify
from rooms import membership
from rooms.models import Member, Room, User
from tests.approvals.kitchen import Kitchen, make_kitchen
from tests.approvals.test_consent_races import both
from tests.messaging.test_sockets import Tab, cookie

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.timeout(300)]


@pytest.fixture
def kitchen(transactional_db: None, settings: Any, tmp_path: Any) -> Kitchen:
    settings.MEDIA_ROOT = tmp_path
    return make_kitchen()


@pytest.fixture(autouse=True)
def fresh_feeds() -> Iterator[None]:
    yield
    feeds.feeds.clear()
    nudge._listeners.clear()


def delete_room(kitchen: Kitchen) -> control.Loss:
    return control.delete_room(kitchen.alice, kitchen.room.pk, name="kitchen", recently=True)


def delete_bob(kitchen: Kitchen) -> None:
    control.delete_account(kitchen.bob, rooms={}, handle="bob", recently=True)


def closed(tab: Tab) -> bool:
    return tab.closed is not None


def was_shown(tab: Tab, words: str) -> bool:
    return any(words in part["html"] for part in tab.parts)


async def test_open_pages_of_a_room_that_goes_are_told_and_closed(kitchen: Kitchen) -> None:
    tabs = [
        Tab(f"/ws/rooms/{kitchen.room.pk}/", await in_thread(cookie, user)) for user in (kitchen.alice, kitchen.vera)
    ]
    for tab in tabs:
        assert await tab.open()
    await in_thread(delete_room, kitchen)
    for tab in tabs:
        await tab.until(partial(closed, tab))
        assert tab.closed == consumers.GONE
        assert tab.frames[-1] == {"gone": True}
    again = Tab(f"/ws/rooms/{kitchen.room.pk}/", await in_thread(cookie, kitchen.alice))
    assert not await again.open()


async def test_an_account_that_goes_reads_nothing_more_and_others_do(kitchen: Kitchen) -> None:
    bobs = Tab(f"/ws/rooms/{kitchen.room.pk}/", await in_thread(cookie, kitchen.bob))
    veras = Tab(f"/ws/rooms/{kitchen.room.pk}/", await in_thread(cookie, kitchen.vera))
    for tab in (bobs, veras):
        assert await tab.open()
    await in_thread(partial(kitchen.ask, kitchen.alice, "before"))
    for tab in (bobs, veras):
        await tab.until(partial(was_shown, tab, "before"))
    await in_thread(delete_bob, kitchen)
    await in_thread(partial(kitchen.ask, kitchen.alice, "a secret"))
    await bobs.until(partial(closed, bobs))
    await veras.until(partial(was_shown, veras, "a secret"))
    assert bobs.closed == consumers.GONE
    assert not was_shown(bobs, "a secret")
    name = f"former member {kitchen.bob.pk}"
    assert was_shown(veras, f"{name} left: the account was deleted.")
    assert not was_shown(veras, "bob left")


def whole(room_id: int) -> None:
    """Nothing is left of a room that is gone; one that is there verifies and has an owner who is."""
    room = Room.objects.filter(pk=room_id).select_related("owner").first()
    if room is None:
        for model in (Entry, Turn, Member):
            assert not model.objects.filter(room=room_id).exists()
        return
    assert verify(room.pk).ok
    assert room.owner.gone_at is None


@pytest.mark.parametrize("round_", range(3))
def test_a_room_that_goes_while_people_write_goes_whole(kitchen: Kitchen, round_: int) -> None:
    writing = [partial(kitchen.ask, user, f"@claude {number}") for number, user in enumerate([kitchen.bob] * 3)]
    acts: list[Callable[[], Any]] = [*writing, partial(delete_room, kitchen), kitchen.daemon.sync]
    both(*(acts[round_:] + acts[:round_]))
    assert not Room.objects.filter(pk=kitchen.room.pk).exists()
    whole(kitchen.room.pk)
    connection.check_constraints()


@pytest.mark.parametrize("round_", range(2))
def test_a_turn_starts_before_its_room_goes_or_not_at_all(kitchen: Kitchen, round_: int) -> None:
    turn = kitchen.turn(kitchen.ask(kitchen.alice, "@claude bake"))
    [offer] = kitchen.daemon.take()
    machine = kitchen.daemon.machine
    start = partial(turns.start, machine, turn.pk, claim_id=offer.claim_id, journal_id="journal-1")
    acts: list[Callable[[], Any]] = [start, partial(delete_room, kitchen)]
    both(*(acts if round_ else acts[::-1]))
    assert turn.pk in kitchen.daemon.sync().withdrawn
    whole(kitchen.room.pk)


def test_one_account_goes_once_however_often_it_is_pressed(kitchen: Kitchen) -> None:
    came = both(*[partial(delete_bob, kitchen)] * 3)
    assert sorted(one is None for one in came) == [False, False, True]
    assert verify(kitchen.room.pk).ok
    left = Entry.objects.filter(room=kitchen.room, kind="left", author=kitchen.seat(kitchen.bob))
    assert left.count() == 1


def test_a_room_goes_to_somebody_or_they_go_never_both(kitchen: Kitchen) -> None:
    hand_over = partial(control.transfer, kitchen.alice, kitchen.room.pk, kitchen.seat(kitchen.bob).pk, recently=True)
    both(hand_over, partial(delete_bob, kitchen))
    whole(kitchen.room.pk)
    room, bob = Room.objects.get(pk=kitchen.room.pk), User.objects.get(pk=kitchen.bob.pk)
    assert (room.owner_id == bob.pk) == (bob.gone_at is None)


def test_what_is_made_at_the_same_moment_is_gone_after_the_next_sweep(kitchen: Kitchen) -> None:
    both(partial(delete_bob, kitchen), partial(membership.create_room, kitchen.bob, name="late"))
    bob = User.objects.get(pk=kitchen.bob.pk)
    if bob.gone_at is None:  # the room came first: a choice was missing
        assert Room.objects.filter(owner=bob, kind="room").count() == 1
        return
    control.sweep()
    assert not Room.objects.filter(owner=bob).exists()
    connection.check_constraints()
