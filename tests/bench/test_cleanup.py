"""Cleaning up while people write, against the same in one transaction; and how a read finds its way in a big log.

``BENCH_ENTRIES`` says how many entries there are: 300,000 if nothing is set; 1,000,000 is the size that is promised.
"""

from __future__ import annotations

import os
import random
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta

import pytest
from django.db import connection, connections
from django.utils import timezone

from approvals import control
from messaging import chat, log
from messaging.models import Anchor, Entry
from rooms import membership
from rooms.access import lock_rooms
from rooms.models import Member, Room
from rooms.rules import rule

pytestmark = [pytest.mark.bench, pytest.mark.django_db(transaction=True), pytest.mark.timeout(3600)]
ENTRIES = int(os.environ.get("BENCH_ENTRIES", "300000"))
ROOMS = max(10, ENTRIES // 1_000)
A_SECOND = 50
QUARTER = 0.25
DIGEST = "d" * 64
COLUMNS = (
    "room_id, seq, kind, hop, topic, subject, body, data, body_hash, ticket, session, connection, client_id, digest, "
    "created_at"
)


@dataclass
class Waits:
    """How long appends took, in milliseconds."""

    each: list[float]
    took: float
    """Seconds that the clean-up took meanwhile."""

    @property
    def worst(self) -> float:
        return max(self.each)

    def share(self, of: float) -> float:
        return sorted(self.each)[min(len(self.each) - 1, int(len(self.each) * of))]

    def __str__(self) -> str:
        return (
            f"{self.took:.1f} s, {len(self.each)} appends: p50 {self.share(0.5):.1f}, p99 {self.share(0.99):.1f}, "
            f"max {self.worst:.1f} ms"
        )


def fill(room_id: int, count: int, old: datetime, young: datetime) -> None:
    """So many messages, the older half of them old. Their digests are no chain."""
    numbers = (
        f"generate_series(1, {count}) AS n(seq)"
        if connection.vendor == "postgresql"
        else "(WITH RECURSIVE n(seq) AS (SELECT 1 UNION ALL SELECT seq + 1 FROM n "  # noqa: S608 - numbers of our own
        f"WHERE seq < {count}) SELECT seq FROM n)"
    )
    insert = (
        f"INSERT INTO messaging_entry ({COLUMNS}) "  # noqa: S608 - numbers and names of our own
        f"SELECT %s, seq, 'message', 0, CASE WHEN seq %% 10 = 0 THEN 'rare' ELSE 'general' END, '', %s, '{{}}', "
        "%s, '', 'session ' || (seq %% 5), 'connection:1f2e3d4c', '', %s, "
        f"CASE WHEN seq <= {count // 2} THEN %s ELSE %s END FROM {numbers}"
    )
    with connection.cursor() as cursor:
        cursor.execute(insert, [room_id, "What there is to say about it. " * 5, DIGEST, DIGEST, old, young])
    Room.objects.filter(pk=room_id).update(last_seq=count, last_digest=DIGEST)


@pytest.fixture
def rooms() -> list[int]:
    """A room for each thousand entries; the first holds a tenth of them all."""
    alice = membership.make_person("alice")
    made = Room.objects.bulk_create(Room(owner=alice, name=str(n), retention_days=14) for n in range(ROOMS))
    ids = [room.pk for room in made]
    now = timezone.now()
    old, young = now - timedelta(days=20), now - timedelta(days=1)
    for room_id in ids:
        fill(room_id, ENTRIES // 10 if room_id == ids[0] else ENTRIES * 9 // 10 // (ROOMS - 1), old, young)
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE")
    return ids


def during(rooms: list[int], work: Callable[[], object]) -> Waits:
    """Do it while somebody writes fifty messages a second, and see how long each of them takes."""
    each: list[float] = []
    done = threading.Event()

    def write() -> None:
        chance, due = random.Random(1), time.monotonic()
        while not done.is_set():
            began = time.monotonic()
            log.append(chance.choice(rooms), log.New(Entry.Kind.MESSAGE, body="meanwhile"))
            each.append((time.monotonic() - began) * 1000)
            due = max(due + 1 / A_SECOND, time.monotonic())
            done.wait(due - time.monotonic())
        connections.close_all()

    writer = threading.Thread(target=write)
    writer.start()
    began = time.monotonic()
    try:
        work()
    finally:
        took = time.monotonic() - began
        done.set()
        writer.join()
    return Waits(each, took)


@rule
def at_once(rooms: list[int], now: datetime) -> None:
    """What the clean-up does, in one transaction: every room locked, one DELETE, every anchor moved."""
    lock_rooms(rooms)
    cutoff = now - timedelta(days=14)
    with connection.cursor() as cursor:
        cursor.execute(
            "DELETE FROM messaging_entry WHERE created_at < %s AND room_id >= %s AND room_id <= %s",
            [cutoff, min(rooms), max(rooms)],
        )
    Anchor.objects.filter(room__in=rooms).delete()
    Anchor.objects.bulk_create(Anchor(room_id=room, seq=1, digest=DIGEST) for room in rooms)


def test_who_writes_waits_a_quarter_as_long_at_most_as_for_one_big_delete(rooms: list[int]) -> None:
    now = timezone.now()
    old = Entry.objects.filter(created_at__lt=now - timedelta(days=14)).count()
    quiet = during(rooms, lambda: time.sleep(3))
    slices = during(rooms, lambda: control.clean(now))
    assert Entry.objects.filter(created_at__lt=now - timedelta(days=14)).count() == 0
    # As many again, which are old a fortnight later.
    later = now + timedelta(days=14) - timedelta(hours=12)
    again = Entry.objects.filter(created_at__lt=later - timedelta(days=14)).count()
    big = during(rooms, lambda: at_once(rooms, later))
    print(
        f"\n{connection.vendor}, {ENTRIES:,} entries in {ROOMS:,} rooms"
        f"\n  nothing else:        {quiet}"
        f"\n  clean-up of {old:,}: {slices} ({old / slices.took:,.0f} entries/s)"
        f"\n  one DELETE of {again:,}: {big}",
        file=sys.__stdout__,
    )
    assert abs(again - old) <= old / 100
    assert slices.worst <= QUARTER * big.worst


def test_a_read_that_leaves_topics_and_sessions_out_is_a_bounded_walk_along_one_index(rooms: list[int]) -> None:
    leave = chat.Leave.of(["general"], ["session 1", "session 2"])
    alice = Room.objects.get(pk=rooms[0]).owner
    last = Room.objects.values_list("last_seq", flat=True).get(pk=rooms[0])
    plan = chat._kept(rooms[0], last // 2, last // 2 + log.WINDOW, leave)[:51].explain()
    print(f"\n{plan}", file=sys.__stdout__)
    assert "Index Scan using entry_number_once" in plan or "SEARCH messaging_entry USING INDEX" in plan
    assert "Seq Scan" not in plan
    assert "SCAN messaging_entry" not in plan
    assert "Sort" not in plan
    assert "TEMP B-TREE" not in plan
    # Both ends of the walk are in the index's own condition.
    condition = plan.partition("Index Cond:")[2].partition("\n")[0] or plan
    assert condition.count("seq") >= 2
    # Everything left out: still no more than a few windows are looked through.
    seat, _ = Member.objects.get_or_create(room_id=rooms[0], user=alice, defaults={"handle": "alice"})
    began = time.monotonic()
    page = chat.read(seat, leave=chat.Leave.of(["general", "rare"]))
    print(f"a read of nothing but what is left out: {(time.monotonic() - began) * 1000:.1f} ms", file=sys.__stdout__)
    assert (page.messages, page.cursor) == ([], min(last, chat.WINDOWS * log.WINDOW))
