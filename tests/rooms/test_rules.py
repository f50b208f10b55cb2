"""A rule that the database ended by a deadlock is tried again, and nothing of the first try stays."""

from __future__ import annotations

import threading

import pytest
from django.db import OperationalError, connection, transaction

from rooms import membership
from rooms.models import Room, User
from rooms.rules import TRIES, rule
from tests.rooms.test_races import at_once

pytestmark = pytest.mark.django_db(transaction=True)


class DeadlockDetected(Exception):
    """As the database's driver says it."""

    sqlstate = "40P01"


class QueryCanceled(Exception):
    sqlstate = "57014"


class Fails:
    """A rule that makes a room and fails so often."""

    def __init__(self, user: User, times: int, why: type[Exception] = DeadlockDetected) -> None:
        self.user, self.left, self.why, self.tried, self.committed = user, times, why, 0, 0

    @rule
    def act(self) -> Room:
        self.tried += 1
        room = membership.create_room(self.user, name=f"try {self.tried}")
        transaction.on_commit(self._note)
        if self.left:
            self.left -= 1
            raise OperationalError("no") from self.why()
        return room

    @rule
    def inside(self) -> Room:
        return self.act()

    def _note(self) -> None:
        self.committed += 1


@pytest.mark.parametrize("how", ["act", "inside"])
def test_it_is_tried_again_and_leaves_one_trace(how: str) -> None:
    alice = membership.make_person("alice")
    fails = Fails(alice, TRIES - 1)
    room = getattr(fails, how)()
    assert list(Room.objects.filter(owner=alice, kind="room")) == [room]
    assert (room.name, fails.committed) == (f"try {TRIES}", 1)


def test_not_for_ever() -> None:
    fails = Fails(membership.make_person("alice"), TRIES)
    with pytest.raises(OperationalError):
        fails.act()
    assert (fails.tried, fails.committed) == (TRIES, 0)
    assert not Room.objects.filter(kind="room").exists()


def test_not_after_another_error_and_not_in_somebody_elses_transaction() -> None:
    alice = membership.make_person("alice")
    other = Fails(alice, 1, QueryCanceled)
    with pytest.raises(OperationalError):
        other.act()
    within = Fails(alice, 1)
    with pytest.raises(OperationalError), transaction.atomic():
        within.act()
    assert (other.tried, within.tried) == (1, 1)


def test_two_that_wait_for_each_other_both_come_through(caplog: pytest.LogCaptureFixture) -> None:
    rooms = [membership.create_room(membership.make_person(name), name=name) for name in ("alice", "dana")]
    both_hold_one = threading.Barrier(2)
    met: set[int] = set()

    @rule
    def rename(first: Room, second: Room) -> None:
        Room.objects.filter(pk=first.pk).update(about="renamed")
        if connection.vendor == "postgresql" and first.pk not in met:
            met.add(first.pk)
            both_hold_one.wait(10)
        Room.objects.filter(pk=second.pk).update(name=f"{first.name} was here")

    at_once(lambda: rename(*rooms), lambda: rename(*rooms[::-1]))
    assert {room.name for room in Room.objects.filter(kind="room")} == {"alice was here", "dana was here"}
    assert ("deadlock" in caplog.text) == (connection.vendor == "postgresql")
