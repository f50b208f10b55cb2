"""The log: one number after the other, nothing skipped, nothing changed."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
from django.db import DatabaseError, connections, transaction
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from messaging import log
from messaging.log import New
from messaging.models import Entry
from rooms import membership
from rooms.errors import Conflict, NotFound
from rooms.models import Member, Room

MESSAGE = Entry.Kind.MESSAGE


def say(alice: Member, body: str, client_id: str = "") -> Entry:
    return log.append(alice.room_id, New(MESSAGE, author=alice, body=body, connection="web", client_id=client_id))[0]


def test_numbers_follow_without_a_gap(alice: Member, room: Room) -> None:
    start = room.last_seq
    entries = [say(alice, str(n)) for n in range(5)] + log.append(room.pk, New(MESSAGE, author=alice), New(MESSAGE))
    assert [entry.seq for entry in entries] == list(range(start + 1, start + 8))


def test_the_digest_of_each_entry_stands_on_the_one_before(alice: Member, room: Room) -> None:
    for n in range(3):
        say(alice, str(n))
    previous = ""
    for entry in Entry.objects.filter(room=room).order_by("seq"):
        assert entry.digest == log.chained(previous, entry)
        assert entry.body_hash == log.content_hash(entry.subject, entry.body, entry.data)
        previous = entry.digest
    room.refresh_from_db()
    assert room.last_digest == previous


@pytest.mark.parametrize("change", [{"body": "other"}, {"seq": 999}, {"kind": "joined"}, {"digest": "0" * 64}])
def test_the_database_refuses_to_change_an_entry(alice: Member, change: dict[str, object]) -> None:
    entry = say(alice, "as it was")
    with pytest.raises(DatabaseError, match="never changed"), transaction.atomic():
        Entry.objects.filter(pk=entry.pk).update(**change)
    assert Entry.objects.get(pk=entry.pk).body == "as it was"


def test_blanking_is_the_one_change_and_the_hash_stays(alice: Member) -> None:
    entry = say(alice, "my password")
    Entry.objects.filter(pk=entry.pk).update(subject="", body="", data={"blanked": True})
    assert Entry.objects.get(pk=entry.pk).body_hash == entry.body_hash


def test_saving_an_entry_is_not_how_it_is_done(alice: Member) -> None:
    with pytest.raises(TypeError):
        say(alice, "x").save()


def test_the_same_client_id_is_the_same_entry(alice: Member) -> None:
    first = say(alice, "once", "click")
    assert say(alice, "once", "click").pk == first.pk
    with pytest.raises(Conflict):
        say(alice, "twice", "click")
    assert Entry.objects.filter(kind="message").count() == 1


def test_one_bad_entry_stores_none_of_the_lot(alice: Member, room: Room) -> None:
    say(alice, "a", "click")
    before = Entry.objects.count()
    with pytest.raises(Conflict):
        log.append(
            room.pk,
            New(MESSAGE, author=alice),
            New(MESSAGE, author=alice, body="b", connection="web", client_id="click"),
        )
    assert Entry.objects.count() == before
    room.refresh_from_db()
    assert room.last_seq == before


def test_a_room_that_is_gone_takes_nothing(db: None) -> None:
    with pytest.raises(NotFound):
        log.append(12345, New(MESSAGE))


def test_a_page_tells_how_far_it_reached(alice: Member, room: Room) -> None:
    start = room.last_seq
    for n in range(7):
        say(alice, str(n))
    page = log.after(room.pk, start, limit=3)
    assert ([entry.body for entry in page.entries], page.cursor, page.has_more) == (["0", "1", "2"], start + 3, True)
    page = log.after(room.pk, page.cursor, limit=10)
    assert ([entry.body for entry in page.entries][-1], page.has_more) == ("6", False)
    assert page.cursor == page.last_seq


@pytest.mark.parametrize("cursor", [-5, 10**12])
def test_a_cursor_that_never_was_is_no_harm(alice: Member, room: Room, cursor: int) -> None:
    say(alice, "x")
    assert log.after(room.pk, cursor).cursor == log.after(room.pk, 0).last_seq


@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(body=st.text(st.characters(categories=None), max_size=50))
def test_any_text_can_be_stored_and_read(alice: Member, body: str) -> None:
    entry = log.append(alice.room_id, New(MESSAGE, author=alice, body=body, data={"text": body}))[0]
    stored = Entry.objects.get(pk=entry.pk)
    assert stored.body == entry.body == log.clean(body)
    assert stored.data == {"text": log.clean(body)}


@pytest.mark.django_db(transaction=True)
def test_many_writers_skip_nothing_and_a_reader_sees_all_in_order() -> None:
    owner = membership.make_person("alice")
    room = membership.create_room(owner, name="kitchen")
    seat = Member.objects.get(room=room, user=owner)
    start = Room.objects.get(pk=room.pk).last_seq
    done = threading.Event()

    def write(name: int) -> None:
        for n in range(20):
            log.append(room.pk, New(MESSAGE, author=seat, body=f"{name}-{n}", connection="t", client_id=f"{name}-{n}"))
        connections.close_all()

    def read() -> list[int]:
        cursor, seen = start, list[int]()
        while True:
            ended = done.is_set()
            page = log.after(room.pk, cursor)
            seen += [entry.seq for entry in page.entries]
            cursor = page.cursor
            if ended and not page.entries:
                connections.close_all()
                return seen

    with ThreadPoolExecutor(7) as threads:
        reader = threads.submit(read)
        for writer in [threads.submit(write, name) for name in range(6)]:
            writer.result()
        done.set()
        assert reader.result() == list(range(start + 1, start + 121))
