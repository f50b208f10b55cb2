"""What is older than its room keeps goes, and nothing else; what waited in it ends where everybody sees it."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import suppress
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from django.db import DatabaseError, IntegrityError, transaction
from django.test import Client
from django.utils import timezone
from pytest_django import DjangoCaptureOnCommitCallbacks, Settings

from agentroom_machine import wire
from approvals import audit, control, limits, mailbox, turns
from approvals.control import cleaning
from approvals.models import Approval, AuditRecord, Spent, Turn
from messaging import chat, files, log, mail, retention
from messaging.models import Anchor, Attachment, Entry, Recipient
from messaging.verify import verify
from rooms import membership
from rooms.errors import Conflict
from rooms.models import Member, Room
from tests.approvals.kitchen import Kitchen, key
from tests.mailbox import post

DAY = timedelta(days=1)
MICROSECOND = timedelta(microseconds=1)


@pytest.fixture
def limited(kitchen: Kitchen) -> Kitchen:
    """The kitchen keeps two days."""
    keeps(kitchen.room, 2)
    return kitchen


def keeps(room: Room, days: int | None) -> None:
    Room.objects.filter(pk=room.pk).update(retention_days=days)


def numbers(room: Room) -> list[int]:
    return list(Entry.objects.filter(room=room).order_by("seq").values_list("seq", flat=True))


def later(days: float = 2) -> datetime:
    """When all that was written so far is older than so many days, and what is written from now on is not."""
    return timezone.now() + days * DAY


def after(entry: Entry, by: timedelta) -> datetime:
    """When an entry is so old."""
    return Entry.objects.get(pk=entry.pk).created_at + by


def ended_as(turn: int, entry: Entry) -> None:
    """This turn ended just as the entry was written."""
    Turn.objects.filter(pk=turn).update(finished_at=Entry.objects.values_list("created_at", flat=True).get(pk=entry.pk))


def aged(kitchen: Kitchen, monkeypatch: pytest.MonkeyPatch, days: float) -> datetime:
    """Days go by: from now on it is so much later."""
    then = timezone.now() + days * DAY
    monkeypatch.setattr("django.utils.timezone.now", lambda: then)
    return then


def say(kitchen: Kitchen, *words: str) -> list[Entry]:
    return [kitchen.ask(kitchen.bob, body) for body in words]


def told(room: Room) -> list[str]:
    """What the clean-up says has ended."""
    entries = Entry.objects.filter(room=room, kind="control", data__what="cleaned").order_by("seq")
    return [entry.body for entry in entries]


def chat_of(kitchen: Kitchen) -> Member:
    room = membership.account_chat(kitchen.alice)
    return Member.objects.select_related("room", "user").get(room=room, user=kitchen.alice)


def tell(seat: Member, body: str, reply_to: int | None = None) -> chat.Message:
    return chat.send(seat, body=body, reply_to=reply_to, client_id=key(), connection="connection:1f2e3d4c")


# --- how long


def test_what_is_exactly_as_old_as_the_limit_stays_and_a_moment_later_goes(limited: Kitchen) -> None:
    first, second = say(limited, "one", "two")
    control.clean(after(first, 2 * DAY))
    assert first.seq in numbers(limited.room)
    control.clean(after(first, 2 * DAY + MICROSECOND))
    assert numbers(limited.room)[0] == first.seq + 1 <= second.seq


def test_a_room_keeps_everything_until_its_owner_sets_a_limit(kitchen: Kitchen) -> None:
    before = numbers(kitchen.room)
    assert control.clean(later(10_000)) == control.Cleaned(0, 0)
    assert numbers(kitchen.room) == before


@pytest.mark.parametrize(
    ("server", "own", "kept"), [(14, None, 14), (14, 3, 3), (3, 14, 3), (None, None, None), (None, 9, 9)]
)
def test_the_shortest_limit_wins(
    kitchen: Kitchen, settings: Settings, server: int | None, own: int | None, kept: int | None
) -> None:
    settings.ROOM_RETENTION_DAYS = server
    settings.CHAT_RETENTION_DAYS = 1
    keeps(kitchen.room, own)
    kitchen.room.refresh_from_db()
    assert retention.days(kitchen.room) == kept
    newest = Entry.objects.filter(room=kitchen.room).latest("seq")
    if kept is not None:
        control.clean(after(newest, kept * DAY))
        assert newest.seq in numbers(kitchen.room)
        control.clean(after(newest, kept * DAY + MICROSECOND))
    assert bool(numbers(kitchen.room)) == (kept is None)


def test_an_accounts_chat_has_the_servers_limit_of_its_own(kitchen: Kitchen, settings: Settings) -> None:
    settings.ROOM_RETENTION_DAYS = 1
    seat = chat_of(kitchen)
    message = tell(seat, "hello")
    control.clean(message.at + 14 * DAY)
    assert [found.number for found in chat.read(seat).messages] == [message.number]
    keeps(seat.room, 5)
    control.clean(message.at + 5 * DAY + MICROSECOND)
    assert chat.read(seat).messages == []


@pytest.mark.parametrize("value", ["0", "-1", "two", "1.5", "40000", "9" * 30, "٣"])
@pytest.mark.parametrize("name", ["CHAT_RETENTION_DAYS", "ROOM_RETENTION_DAYS"])
def test_a_limit_that_is_none_stops_the_start_in_words(monkeypatch: pytest.MonkeyPatch, name: str, value: str) -> None:
    from agentroom.settings import env_days

    monkeypatch.setenv(name, value)
    with pytest.raises(ValueError, match=f"{name} is .* say a whole number of days"):
        env_days(name, 14)


def test_the_database_takes_no_room_that_keeps_no_days(kitchen: Kitchen) -> None:
    with pytest.raises(IntegrityError, match="room_keeps_a_day_at_least"), transaction.atomic():
        keeps(kitchen.room, 0)
    for days in (1, None):
        keeps(kitchen.room, days)


# --- what stays true


def test_a_reply_outlives_what_it_answers(kitchen: Kitchen) -> None:
    seat = chat_of(kitchen)
    parent = tell(seat, "the plan")
    answer = tell(seat, "I take it", reply_to=parent.number)
    assert answer.at > parent.at
    control.clean(answer.at + 14 * DAY)
    [left] = chat.read(seat).messages
    assert (left.number, left.parent, left.parent_removed) == (answer.number, parent.number, True)


def test_numbers_go_on_after_a_chat_was_emptied_and_cursors_stay_valid(kitchen: Kitchen) -> None:
    seat = chat_of(kitchen)
    cursors = [tell(seat, str(n)).number for n in range(5)]
    control.clean(later(15))
    assert numbers(seat.room) == []
    assert verify(seat.room_id).ok
    fresh = tell(seat, "after")
    assert fresh.number == cursors[-1] + 1
    for cursor in [0, *cursors]:
        page = chat.read(seat, after=cursor)
        assert ([found.number for found in page.messages], page.cursor, page.has_more) == (
            [fresh.number], fresh.number, False,
        )  # fmt: skip
    assert verify(seat.room_id).ok


def test_a_read_from_the_start_does_not_walk_through_what_is_gone(
    limited: Kitchen, monkeypatch: pytest.MonkeyPatch
) -> None:
    say(limited, *"abcdefgh")
    control.clean(later())
    [fresh] = say(limited, "new")
    monkeypatch.setattr(log, "WINDOW", 3)
    page = log.after(limited.room.pk, 0)
    assert [entry.seq for entry in page.entries] == [fresh.seq]
    assert [line.number for line in mailbox.history(limited.seat(limited.claude), after=1).entries] == [fresh.seq]


def test_the_chain_verifies_and_the_anchor_is_the_last_that_went(limited: Kitchen) -> None:
    first, _ = say(limited, "one", "two")
    digest = Entry.objects.get(pk=first.pk).digest
    control.clean(after(first, 2 * DAY + MICROSECOND))
    anchor = Anchor.objects.get(room=limited.room)
    assert (anchor.seq, anchor.digest) == (first.seq, digest)
    found = verify(limited.room.pk)
    assert (found.ok, found.begins_after) == (True, first.seq)
    Entry.objects.filter(room=limited.room, seq=first.seq + 1).delete()
    assert verify(limited.room.pk).broken_at == first.seq + 1


def test_only_what_comes_before_the_first_young_entry_goes_though_a_clock_went_back(limited: Kitchen) -> None:
    room = limited.room.pk
    with pytest.MonkeyPatch.context() as patch:
        ahead = later(10)
        patch.setattr("django.utils.timezone.now", lambda: ahead)
        [young] = say(limited, "from a clock that was ahead")
    [old] = say(limited, "from the clock put right")
    control.clean(later())
    assert numbers(limited.room)[0] == young.seq
    assert old.seq in numbers(limited.room)
    assert verify(room).ok


def test_the_triggers_that_guard_entries_still_stand(limited: Kitchen) -> None:
    say(limited, "one")
    control.clean(later())
    [entry] = say(limited, "two")
    with pytest.raises(DatabaseError, match="never changed"), transaction.atomic():
        Entry.objects.filter(pk=entry.pk).update(body="other")


# --- what waits


def test_a_request_that_waits_to_be_approved_is_cancelled_and_the_room_says_so(limited: Kitchen) -> None:
    entry = limited.ask(limited.bob, "@claude bake")
    turn, now = limited.turn(entry), later()
    control.clean(now)
    assert not Turn.objects.filter(pk=turn.pk).exists()
    assert not Approval.objects.exists()
    [words] = told(limited.room)
    assert "bob’s request to claude" in words
    assert "2 days" in words
    ends = Entry.objects.filter(room=limited.room, source_turn=turn.pk).order_by("seq")
    assert [(end.kind, end.data["state"]) for end in ends] == [("approval", "lapsed"), ("turn", "cancelled")]
    assert "older than the 2 days" in ends[1].data["note"]
    lines = AuditRecord.objects.filter(owner=limited.alice, agent="claude").order_by("number")
    assert [(line.what, line.decision) for line in lines] == [
        ("ask", "waits"), ("answer start", "lapsed"), ("end", "cancelled"),
    ]  # fmt: skip
    assert audit.verify(limited.alice.pk) is None
    assert verify(limited.room.pk).ok
    # Nobody is told a second time.
    control.clean(now)
    assert len(told(limited.room)) == 1


@pytest.mark.parametrize("offered", [False, True], ids=["queued", "offered"])
def test_a_request_that_waits_for_its_machine_is_cancelled_and_never_starts(limited: Kitchen, offered: bool) -> None:
    turn = limited.turn(limited.ask(limited.alice, "@claude bake"))
    offers = limited.daemon.take() if offered else []
    control.clean(later())
    assert not Turn.objects.filter(pk=turn.pk).exists()
    assert "alice’s request to claude" in told(limited.room)[0]
    for offer in offers:
        with pytest.raises(Conflict):
            limited.daemon.start(offer)
    assert limited.daemon.take() == []


def test_nothing_of_a_turn_that_runs_is_removed_until_it_ends(limited: Kitchen) -> None:
    limited.ask(limited.bob, "before")
    entry = limited.ask(limited.alice, "@claude bake")
    limited.daemon.run()
    turn = limited.turn(entry).pk
    now = later()
    [due] = control.preview(now).rooms
    assert (due.held, due.through) == (f"what turn {turn} works on stays until it ends", entry.seq - 1)
    control.clean(now)
    assert numbers(limited.room)[0] == entry.seq
    limited.daemon.tell(turn, wire.TextFact(part="p", text="still here"))
    limited.daemon.end(turn)
    control.clean(later())
    assert numbers(limited.room) == []
    assert AuditRecord.objects.filter(owner=limited.alice, what="end", decision="done").exists()


# --- what is young under an old message


def young_work(kitchen: Kitchen, monkeypatch: pytest.MonkeyPatch) -> tuple[Entry, int]:
    """A request as old as the room keeps, whose turn has just ended with something to undo."""
    entry = kitchen.ask(kitchen.bob, "@claude bake")
    turn = kitchen.turn(entry)
    aged(kitchen, monkeypatch, 1.9)
    turns.answer(kitchen.alice, kitchen.question(turn).pk, verdict="once")
    kitchen.daemon.run()
    aged(kitchen, monkeypatch, 0.2)
    kitchen.daemon.tell(
        turn.pk, wire.TextFact(part="p", text="hunter2"), wire.UndoableFact(changed=["cake.txt"])
    )  # fmt: skip
    kitchen.daemon.end(turn.pk)
    return entry, turn.pk


def test_what_a_turn_did_a_moment_ago_stays_to_be_read_blanked_and_undone(
    limited: Kitchen, monkeypatch: pytest.MonkeyPatch, client: Client
) -> None:
    limited.ask(limited.bob, "before")
    entry, turn = young_work(limited, monkeypatch)
    [due] = control.preview().rooms
    assert (due.through, due.held) == (
        entry.seq - 1, f"turn {turn} ended less than 2 days ago: that and what came after it stays for now"
    )  # fmt: skip
    assert control.clean().entries == due.entries
    assert numbers(limited.room)[0] == entry.seq
    client.force_login(limited.bob)
    assert "hunter2" in client.get(f"/rooms/{limited.room.pk}/").content.decode()
    text = Entry.objects.get(room=limited.room, kind="text")
    control.blank(limited.alice, limited.room.pk, text.seq)
    control.undo_turn(limited.alice, turn)
    assert turns.undos_waiting(limited.daemon.machine) == [turn]
    # An undo that was asked for just before the time is over is as young as the turn was.
    aged(limited, monkeypatch, 1.9)
    aged(limited, monkeypatch, 0.05)
    assert control.clean().entries == 0
    aged(limited, monkeypatch, 0.06)
    control.clean()
    assert entry.seq not in numbers(limited.room)


def test_an_undo_that_was_just_asked_for_stays(limited: Kitchen, monkeypatch: pytest.MonkeyPatch) -> None:
    _, turn = young_work(limited, monkeypatch)
    aged(limited, monkeypatch, 1.9)
    control.undo_turn(limited.alice, turn)
    aged(limited, monkeypatch, 0.2)
    control.clean()
    assert turns.undos_waiting(limited.daemon.machine) == [turn]
    aged(limited, monkeypatch, 2)
    control.clean()
    assert not Turn.objects.filter(pk=turn).exists()


def test_what_a_machine_reports_late_stays_and_holds_no_room_for_ever(
    limited: Kitchen, monkeypatch: pytest.MonkeyPatch
) -> None:
    entry, turn = young_work(limited, monkeypatch)
    days = 0.0
    while Turn.objects.filter(pk=turn).exists():
        limited.daemon.tell(turn, wire.TextFact(part="late", text="and a pie"))
        aged(limited, monkeypatch, 0.5)
        days += 0.5
        control.clean()
        assert (entry.seq in numbers(limited.room)) == Turn.objects.filter(pk=turn).exists()
        assert days < 10
    # Twice the two days, and what the last half of one adds.
    assert 4 <= days <= 4.5


def test_a_note_that_an_agent_has_just_written_under_old_mail_stays_with_it(
    limited: Kitchen, monkeypatch: pytest.MonkeyPatch
) -> None:
    letter = turns.send(
        limited.seat(limited.claude), None, to=["gemini"], body="a cake?", client_id=key(), connection="connection:1"
    )
    aged(limited, monkeypatch, 1.9)
    mailbox.acknowledge(
        limited.seat(limited.gemini), None, message=letter.seq, status="accepted", note="hunter2",
        connection="connection:2",
    )  # fmt: skip
    aged(limited, monkeypatch, 0.2)
    assert control.preview().rooms[0].held.startswith(f"something was said under message {letter.seq}")
    control.clean()
    assert numbers(limited.room)[0] == letter.seq
    aged(limited, monkeypatch, 1.9)
    control.clean()
    assert letter.seq not in numbers(limited.room)


def test_a_request_that_its_owner_has_just_declined_stays_with_the_words(
    limited: Kitchen, monkeypatch: pytest.MonkeyPatch
) -> None:
    entry = limited.ask(limited.bob, "@claude bake")
    aged(limited, monkeypatch, 1.9)
    turns.answer(limited.alice, limited.question(limited.turn(entry)).pk, verdict="no", note="never")
    aged(limited, monkeypatch, 0.2)
    control.clean()
    assert numbers(limited.room)[0] == entry.seq


def test_what_waits_behind_young_work_ends_at_its_time_so_that_none_holds_the_next_for_ever(
    limited: Kitchen, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cleaning, "SLICE", 5)
    first = limited.turn(limited.ask(limited.alice, "@claude bake"))
    say(limited, *"abcdefgh")
    later_ones = [limited.turn(limited.ask(limited.bob, f"@claude bake {n}")) for n in range(3)]
    limited.daemon.run()
    aged(limited, monkeypatch, 2.1)
    control.clean()
    # While it runs, they wait behind it.
    assert {turn.status for turn in Turn.objects.filter(pk__in=[turn.pk for turn in later_ones])} == {"asked"}
    limited.daemon.end(first.pk)
    control.clean()
    assert numbers(limited.room)[0] == first.entry.seq
    assert {turn.status for turn in Turn.objects.filter(pk__in=[turn.pk for turn in later_ones])} == {"cancelled"}
    assert sum(words.count("bob’s request to claude") for words in told(limited.room)) == 3
    control.clean()
    assert len(told(limited.room)) == 1
    aged(limited, monkeypatch, 2.1)
    control.clean()
    assert numbers(limited.room) == []


def test_a_turn_that_was_begun_on_a_message_of_long_ago_holds_nothing(
    limited: Kitchen, monkeypatch: pytest.MonkeyPatch
) -> None:
    entry, turn = young_work(limited, monkeypatch)
    Turn.objects.filter(pk=turn).update(created_at=entry.created_at + 4 * DAY)
    control.clean()
    assert entry.seq not in numbers(limited.room)


def test_an_undo_or_a_note_that_comes_after_twice_the_time_holds_nothing(
    limited: Kitchen, monkeypatch: pytest.MonkeyPatch
) -> None:
    entry, turn = young_work(limited, monkeypatch)
    letter = turns.send(
        limited.seat(limited.claude), None, to=["gemini"], body="a cake?", client_id=key(), connection="connection:1"
    )
    aged(limited, monkeypatch, 4.1)
    control.undo_turn(limited.alice, turn)
    mailbox.acknowledge(
        limited.seat(limited.gemini), None, message=letter.seq, status="accepted", note="late",
        connection="connection:2",
    )  # fmt: skip
    control.clean()
    assert not {entry.seq, letter.seq} & set(numbers(limited.room))


def test_a_question_to_an_owner_holds_nothing(limited: Kitchen) -> None:
    mailbox.ask_owner(
        limited.seat(limited.claude), None, action="push main", kind="push", client_id=key(), connection="connection:1"
    )
    asked = Entry.objects.filter(room=limited.room, kind="message").latest("seq")
    control.clean(after(asked, 2 * DAY + MICROSECOND))
    assert asked.seq not in numbers(limited.room)


# --- what was said by mail


def test_mail_that_nobody_read_ends_and_the_room_says_whose(limited: Kitchen) -> None:
    turn = post.works(limited, limited.alice, "claude")
    letter = post.send(limited, limited.claude, turn, "gemini")
    assert Recipient.objects.filter(entry=letter, read_at=None).exists()
    limited.daemon.end(turn)
    control.clean(later())
    assert not Recipient.objects.exists()
    assert any("1 message that gemini had not read" in words for words in told(limited.room))
    assert any("claude’s mail to gemini" in words for words in told(limited.room))
    assert not turns.unread(limited.seat(limited.gemini), None).exists()
    assert verify(limited.room.pk).ok


def test_later_mail_that_had_joined_a_request_waits_in_one_of_its_own(limited: Kitchen) -> None:
    turn = post.works(limited, limited.alice, "claude")
    first = post.send(limited, limited.claude, turn, "gemini", "first")
    second = post.send(limited, limited.claude, turn, "gemini", "second")
    limited.daemon.end(turn)
    ended_as(turn, first)
    [joined] = Turn.objects.filter(cause="mail")
    assert joined.mail.get().entry == second
    control.clean(after(first, 2 * DAY + MICROSECOND))
    [fresh] = Turn.objects.filter(cause="mail")
    assert (fresh.entry, fresh.status) == (second, "asked")
    assert Approval.objects.get(turn=fresh).action == "second"
    assert verify(limited.room.pk).ok


def test_an_agents_question_to_its_owner_lapses_and_it_hears_so(limited: Kitchen) -> None:
    turn = post.works(limited, limited.alice, "claude")
    mailbox.ask_owner(
        limited.seat(limited.claude), Turn.objects.get(pk=turn), action="push main", kind="push",
        client_id=key(), connection="connection:1",
    )  # fmt: skip
    limited.daemon.end(turn)
    control.clean(later())
    assert any("claude’s question to alice" in words for words in told(limited.room))
    heard = Entry.objects.get(room=limited.room, kind="message", data__has_key="answers")
    assert "Nobody answered in time." in heard.body
    assert AuditRecord.objects.filter(owner=limited.alice, what="answer ask", decision="lapsed").exists()


def test_an_undo_that_its_machine_never_did_is_over(limited: Kitchen) -> None:
    turn = post.works(limited, limited.alice, "claude")
    limited.daemon.tell(turn, wire.UndoableFact(changed=["cake.txt"]))
    limited.daemon.end(turn)
    control.undo_turn(limited.alice, turn)
    assert turns.undos_waiting(limited.daemon.machine) == [turn]
    control.clean(later())
    assert turns.undos_waiting(limited.daemon.machine) == []
    assert any("the undo of what claude changed" in words for words in told(limited.room))


def test_what_a_person_had_still_counts_against_their_limits(limited: Kitchen) -> None:
    turn = limited.turn(limited.ask(limited.bob, "@claude bake"))
    turns.answer(limited.alice, limited.question(turn).pk, verdict="once")
    limited.daemon.run()
    limited.daemon.tell(
        turn.pk, wire.EndFact(state="done", usage=wire.Usage(input_tokens=700, output_tokens=300, cost_usd="1.5"))
    )
    before = limits.used(limited.claude.pk, limited.bob.pk)
    assert (before.requests, before.tokens) == (1, 1000)
    control.clean(later())
    assert not Turn.objects.exists()
    assert limits.used(limited.claude.pk, limited.bob.pk) == before
    assert Spent.objects.count() == 1


def test_what_a_person_had_counts_once_though_something_else_has_to_end_first(
    limited: Kitchen, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cleaning, "AT_ONCE", 1)
    had = limited.turn(limited.ask(limited.bob, "@claude bake"))
    turns.answer(limited.alice, limited.question(had).pk, verdict="once")
    limited.daemon.run()
    limited.daemon.tell(had.pk, wire.EndFact(state="done", usage=wire.Usage(input_tokens=1000)))
    young = limited.turn(limited.ask(limited.alice, "@claude bake"))
    limited.daemon.run()
    for _ in range(3):
        limited.ask(limited.bob, "@claude bake")
    aged(limited, monkeypatch, 2.1)
    limited.daemon.end(young.pk)
    before = limits.used(limited.claude.pk, limited.bob.pk)
    assert before.tokens == 1000
    control.clean()
    assert not Turn.objects.filter(pk=had.pk).exists()
    assert limits.used(limited.claude.pk, limited.bob.pk) == before
    assert Spent.objects.count() == 1


# --- files


def attach(kitchen: Kitchen, room: Room, content: bytes) -> tuple[Path, Entry]:
    source = f"room-{room.pk}"
    sha256, size = files.store(source, [content])
    attached = [mail.File(source, sha256, "cake.txt", "text/plain", size)]
    entry = turns.ask(kitchen.alice, room.pk, body="see", client_id=key(), files=attached)
    return files.path(source, sha256), entry


def test_a_file_goes_with_the_last_entry_that_names_it(
    limited: Kitchen, django_capture_on_commit_callbacks: DjangoCaptureOnCommitCallbacks
) -> None:
    path, first = attach(limited, limited.room, b"a cake")
    _, second = attach(limited, limited.room, b"a cake")
    other, _ = attach(limited, limited.room, b"a pie")
    with django_capture_on_commit_callbacks(execute=True):
        control.clean_room(limited.room.pk, after(first, 2 * DAY + MICROSECOND))
    assert path.is_file()
    with django_capture_on_commit_callbacks(execute=True):
        control.clean_room(limited.room.pk, after(second, 2 * DAY + MICROSECOND))
    assert not path.exists()
    assert other.is_file()


def test_a_file_that_was_left_by_a_kill_after_the_commit_goes_with_the_next_clean_up(limited: Kitchen) -> None:
    path, _ = attach(limited, limited.room, b"a cake")
    control.clean_room(limited.room.pk, later())  # what follows a commit never comes in this test
    assert not Attachment.objects.exists()
    assert path.is_file()
    control.clean(later())
    assert not path.exists()


def test_what_was_just_stored_waits_a_day_for_the_message_that_names_it(kitchen: Kitchen) -> None:
    sha256, _ = files.store(f"room-{kitchen.room.pk}", [b"on its way"])
    path = files.path(f"room-{kitchen.room.pk}", sha256)
    draft = path.parent.parent / ".0123456789abcdef"
    draft.write_bytes(b"half")
    control.clean(timezone.now() + files.KEPT - timedelta(minutes=1))
    assert path.is_file()
    assert draft.is_file()
    control.clean(timezone.now() + files.KEPT + timedelta(minutes=1))
    assert not path.exists()
    assert not draft.exists()


def test_what_a_machine_is_about_to_name_again_stays(kitchen: Kitchen) -> None:
    source = f"machine-{kitchen.daemon.machine.pk}"
    sha256, _ = files.store(source, [b"a picture"])
    path = files.path(source, sha256)
    os.utime(path, (0, 0))
    assert files.there(source, sha256) == 9
    control.clean()
    assert path.is_file()


def test_a_sweep_goes_on_though_another_takes_what_it_has_just_found(kitchen: Kitchen) -> None:
    source = f"room-{kitchen.room.pk}"
    paths = [files.path(source, files.store(source, [b"%d" % n])[0]) for n in range(5)]
    found = files.unnamed(later())
    next(found)
    files.sweep(later())
    assert list(found) == []
    assert not any(path.exists() for path in paths)


def test_a_sweep_leaves_alone_what_another_is_about_to_put_back(
    kitchen: Kitchen, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, _ = attach(kitchen, kitchen.room, b"a cake")
    os.utime(path, (0, 0))
    now, rename = timezone.now() + DAY / 2, Path.rename

    def meanwhile(this: Path, to: Path) -> Path:
        moved = rename(this, to)
        with monkeypatch.context() as patch:
            patch.setattr(Path, "rename", rename)
            files.sweep(now)
        return moved

    monkeypatch.setattr(Path, "rename", meanwhile)
    assert not files.remove(path, now)
    assert path.read_bytes() == b"a cake"


def test_what_a_kill_left_aside_comes_back_where_something_names_it_and_goes_where_nothing_does(
    kitchen: Kitchen, monkeypatch: pytest.MonkeyPatch
) -> None:
    named, _ = attach(kitchen, kitchen.room, b"a cake")
    source = f"room-{kitchen.room.pk}"
    lost = files.path(source, files.store(source, [b"a pie"])[0])

    def kill(source: str, sha256s: Any) -> set[str]:
        raise KeyboardInterrupt

    for path in (named, lost):
        os.utime(path, (0, 0))
        with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
            patch.setattr(files, "named", kill)
            files.remove(path, timezone.now())
        assert not path.exists()
    control.clean()
    assert not named.exists()
    assert [found.size for found in files.unnamed(later())] == [5]
    control.clean(later())
    assert named.read_bytes() == b"a cake"
    folder = named.parents[1]
    assert [found for found in folder.rglob("*") if found.is_file()] == [named]


def test_pictures_of_agents_are_not_swept(kitchen: Kitchen, settings: Settings) -> None:
    avatars = Path(settings.MEDIA_ROOT) / "avatars"
    avatars.mkdir(parents=True, exist_ok=True)
    picture = avatars / ("a" * 64)
    picture.write_bytes(b"x")
    control.clean(later())
    assert picture.is_file()


# --- slices, kills


def test_a_kill_between_any_two_transactions_loses_nothing_and_the_next_clean_up_goes_on(
    limited: Kitchen, monkeypatch: pytest.MonkeyPatch
) -> None:
    limited.ask(limited.bob, "@claude bake")
    limited.ask(limited.bob, "@codex bake")
    say(limited, *"abcdefghij")
    before = set(numbers(limited.room))
    monkeypatch.setattr(cleaning, "SLICE", 4)
    monkeypatch.setattr(cleaning, "AT_ONCE", 1)
    now, kills = later(), 0
    while numbers(limited.room)[0] in before:
        with monkeypatch.context() as patch:

            class Killed(BaseException):
                pass

            def die(seconds: float) -> None:
                raise Killed

            patch.setattr("time.sleep", die)
            with suppress(Killed):
                control.clean_room(limited.room.pk, now)
        kills += 1
        found = verify(limited.room.pk)
        assert found.ok
        assert numbers(limited.room) == list(range(found.begins_after + 1, limited_last(limited) + 1))
    assert kills > 5
    assert not before & set(numbers(limited.room))
    assert len(told(limited.room)) == 2


def limited_last(kitchen: Kitchen) -> int:
    return Room.objects.values_list("last_seq", flat=True).get(pk=kitchen.room.pk)


def test_a_kill_inside_a_transaction_leaves_all_as_it_was(limited: Kitchen, monkeypatch: pytest.MonkeyPatch) -> None:
    limited.turn(limited.ask(limited.alice, "@claude bake"))
    limited.daemon.end(limited.daemon.run())
    attach(limited, limited.room, b"a cake")
    everything = [
        list(model.objects.order_by("pk").values_list("pk")) for model in (Entry, Turn, Attachment, Spent, Anchor)
    ]

    def die(*args: Any, **kwargs: Any) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr("django.db.transaction.on_commit", die)
        with pytest.raises(KeyboardInterrupt):
            control.clean_room(limited.room.pk, later())
    assert everything == [
        list(model.objects.order_by("pk").values_list("pk")) for model in (Entry, Turn, Attachment, Spent, Anchor)
    ]
    control.clean(later())
    assert numbers(limited.room) == []


def test_a_room_that_can_not_be_cleaned_up_does_not_keep_the_others_from_it(
    limited: Kitchen, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    seat = chat_of(limited)
    tell(seat, "hello")
    purge: Callable[..., int] = log.purge

    def broken(room_id: int, through: int, **more: Any) -> int:
        if room_id == limited.room.pk:
            raise RuntimeError("the disk is full")
        return purge(room_id, through, **more)

    monkeypatch.setattr(log, "purge", broken)
    cleaned = control.clean(later(15))
    assert cleaned.failed == (limited.room.pk,)
    assert numbers(seat.room) == []
    assert "could not be cleaned up" in caplog.text


def test_a_limit_that_was_lifted_meanwhile_removes_nothing(limited: Kitchen) -> None:
    say(limited, "one")
    keeps(limited.room, None)
    assert control.clean_room(limited.room.pk, later()) == 0


# --- in the room


def test_the_page_says_that_what_a_message_answers_was_removed(limited: Kitchen, client: Client) -> None:
    turn = post.works(limited, limited.alice, "claude")
    letter = post.send(limited, limited.claude, turn, "gemini", "the plan")
    answer = post.reply(limited, limited.gemini, None, letter.seq, "I take it")
    limited.daemon.end(turn)
    ended_as(turn, letter)
    client.force_login(limited.vera)
    address = f"/rooms/{limited.room.pk}/"
    assert f'answers <a href="?at={letter.seq}' in client.get(address).content.decode()
    control.clean(after(letter, 2 * DAY + MICROSECOND))
    page = client.get(address).content.decode()
    assert f'id="e{answer.seq}"' in page
    assert "answers a message that was removed" in page
    assert "I take it" in page
    assert f"?at={letter.seq}#" not in page
