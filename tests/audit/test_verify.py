"""Whether anything was changed behind our back."""

from __future__ import annotations

import json
from collections.abc import Callable
from io import StringIO
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.db import DatabaseError, connection, transaction

from approvals import audit, control, turns
from approvals.models import AuditRecord
from messaging import log
from messaging.models import Attachment, Entry
from messaging.verify import verify
from rooms.errors import NotFound
from rooms.models import Room
from tests.approvals.kitchen import Kitchen

TRIGGERS = {
    "messaging_entry": "messaging_entry_stays",
    "approvals_auditrecord": "approvals_audit_stays",
}


def behind_our_back(table: str, sql: str, params: list[Any]) -> None:
    """What somebody with the database in their hands could do: they take the trigger away first."""
    trigger = TRIGGERS[table]
    with connection.cursor() as cursor:
        if connection.vendor == "postgresql":
            cursor.execute("SET CONSTRAINTS ALL IMMEDIATE")
            cursor.execute(f"ALTER TABLE {table} DISABLE TRIGGER {trigger}")
        else:
            cursor.execute(f"DROP TRIGGER {trigger}")
        cursor.execute(sql, params)


@pytest.fixture
def lived_in(kitchen: Kitchen) -> Kitchen:
    turn = kitchen.turn(kitchen.ask(kitchen.bob, "@claude bake"))
    turns.answer(kitchen.alice, kitchen.question(turn).pk, verdict="once", note="Go.")
    kitchen.daemon.end(kitchen.daemon.run())
    kitchen.ask(kitchen.bob, "Thank you, ÄÖ 🧁")
    return kitchen


def middle(kitchen: Kitchen) -> Entry:
    return Entry.objects.filter(room=kitchen.room, kind="message").earliest("seq")


def test_a_room_that_was_left_alone_verifies(lived_in: Kitchen) -> None:
    found = verify(lived_in.room.pk)
    assert found.ok
    assert found.entries == Entry.objects.filter(room=lived_in.room).count()


@pytest.mark.parametrize(
    ("column", "value"),
    [("body", "@claude push"), ("principal", 1), ("author_id", None), ("kind", "notice"), ("created_at", "2020-01-01")],
)
def test_one_changed_entry_is_found(lived_in: Kitchen, column: str, value: object) -> None:
    entry = middle(lived_in)
    change = f"UPDATE messaging_entry SET {column} = %s WHERE id = %s"  # noqa: S608 - the columns stand above
    behind_our_back("messaging_entry", change, [value, entry.pk])
    assert verify(lived_in.room.pk).broken_at == entry.seq


def test_a_removed_entry_is_found_and_so_is_a_cut_end(lived_in: Kitchen) -> None:
    entry = Entry.objects.filter(room=lived_in.room, kind="turn").order_by("seq").first()
    assert entry is not None
    with transaction.atomic():
        Entry.objects.filter(pk=entry.pk).delete()
        assert verify(lived_in.room.pk).broken_at == entry.seq
        transaction.set_rollback(True)
    last = Entry.objects.filter(room=lived_in.room).latest("seq")
    Entry.objects.filter(pk=last.pk).delete()
    assert verify(lived_in.room.pk).broken_at == last.seq


def test_blank_words_without_a_name_are_found(lived_in: Kitchen) -> None:
    entry = middle(lived_in)
    Entry.objects.filter(pk=entry.pk).update(subject="", body="", data={"blanked": True})
    assert verify(lived_in.room.pk).broken_at == entry.seq


def test_what_was_blanked_by_the_rule_verifies(lived_in: Kitchen) -> None:
    control.blank(lived_in.alice, lived_in.room.pk, middle(lived_in).seq)
    found = verify(lived_in.room.pk)
    assert (found.ok, found.blanked) == (True, 1)


def test_after_a_clean_up_the_rest_verifies_from_its_anchor(lived_in: Kitchen) -> None:
    entry = middle(lived_in)
    removed = log.purge(lived_in.room.pk, entry.seq)
    found = verify(lived_in.room.pk)
    assert (found.ok, found.begins_after, removed) == (True, entry.seq, entry.seq)
    assert not Attachment.objects.exists()
    lived_in.ask(lived_in.bob, "still here")
    assert verify(lived_in.room.pk).ok
    Entry.objects.filter(room=lived_in.room, seq=entry.seq + 1).delete()
    assert verify(lived_in.room.pk).broken_at == entry.seq + 1


def test_a_room_that_is_gone_is_not_there(db: None) -> None:
    with pytest.raises(NotFound):
        verify(12345)


@pytest.mark.parametrize("column", ["body", "seq", "digest", "topic", "created_at"])
def test_the_database_refuses_to_change_an_entry(lived_in: Kitchen, column: str) -> None:
    value = {"seq": 999, "created_at": "2020-01-01T00:00:00Z"}.get(column, "changed")
    with pytest.raises(DatabaseError, match="never changed"), transaction.atomic():
        Entry.objects.filter(pk=middle(lived_in).pk).update(**{column: value})


def test_the_database_refuses_to_change_a_line_of_the_trail(lived_in: Kitchen) -> None:
    with pytest.raises(DatabaseError, match="only grows"), transaction.atomic():
        AuditRecord.objects.filter(owner=lived_in.alice).update(decision="no")


def change_a_line(kitchen: Kitchen) -> None:
    line = AuditRecord.objects.get(owner=kitchen.alice, what="answer start")
    sql = "UPDATE approvals_auditrecord SET decision = 'no' WHERE id = %s"
    behind_our_back("approvals_auditrecord", sql, [line.pk])


def remove_a_line(kitchen: Kitchen) -> None:
    AuditRecord.objects.get(owner=kitchen.alice, what="answer start").delete()


@pytest.mark.parametrize("harm", [change_a_line, remove_a_line])
def test_a_changed_or_removed_line_of_the_trail_is_found(lived_in: Kitchen, harm: Callable[[Kitchen], None]) -> None:
    assert audit.verify(lived_in.alice.pk) is None
    number = AuditRecord.objects.get(owner=lived_in.alice, what="answer start").number
    harm(lived_in)
    assert audit.verify(lived_in.alice.pk) == number


def test_the_trail_says_who_asked_what_ran_and_who_decided_and_quotes_nobody(lived_in: Kitchen) -> None:
    lines = AuditRecord.objects.filter(owner=lived_in.alice, agent="claude").order_by("number")
    told = [(line.what, line.who, line.in_name_of, line.decision) for line in lines]
    assert told == [
        ("ask", "bob", "bob", "waits"),
        ("answer start", "alice", "bob", "once"),
        ("start", "claude", "bob", "running"),
        ("end", "claude", "bob", "done"),
    ]
    assert not lines.filter(about__contains="bake").exists()


def test_the_command_tells_of_every_room_and_trail(lived_in: Kitchen) -> None:
    told = StringIO()
    call_command("verify_log", "--json", stdout=told)
    found = json.loads(told.getvalue())
    assert {room["room"] for room in found["rooms"]} == set(Room.objects.values_list("pk", flat=True))
    assert all(room["ok"] for room in found["rooms"])
    assert found["trails"]["alice"] is None


def test_the_command_fails_when_something_is_broken(lived_in: Kitchen) -> None:
    entry = middle(lived_in)
    behind_our_back("messaging_entry", "UPDATE messaging_entry SET body = 'x' WHERE id = %s", [entry.pk])
    told = StringIO()
    with pytest.raises(CommandError):
        call_command("verify_log", room=lived_in.room.pk, stdout=told)
    assert f"Room {lived_in.room.pk}: broken at {entry.seq}. Its words were changed." in told.getvalue()
