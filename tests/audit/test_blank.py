"""Taking a leaked secret out of a room."""

from __future__ import annotations

import os
from datetime import timedelta
from pathlib import Path
from unittest.mock import Mock

import pytest
from django.utils import timezone
from pytest_django import DjangoCaptureOnCommitCallbacks

from agentroom_machine import wire
from approvals import control, turns
from approvals.models import Approval, AuditRecord
from messaging import files, mail
from messaging.models import Attachment, Entry
from rooms.errors import Conflict, NotFound, Refused
from rooms.models import User
from tests.approvals.kitchen import Kitchen, key

SECRET = "hunter2-is-the-password"


def everything(kitchen: Kitchen) -> str:
    """All that the room's log, its questions and its trail say, as text."""
    entries = [f"{e.subject} {e.body} {e.data}" for e in Entry.objects.filter(room=kitchen.room)]
    questions = [f"{q.title} {q.action} {q.short}" for q in Approval.objects.filter(subject="start")]
    return "\n".join(entries + questions + [line.about for line in AuditRecord.objects.all()])


def test_its_words_go_and_their_hash_number_and_who_did_it_stay(kitchen: Kitchen) -> None:
    entry = kitchen.ask(kitchen.bob, f"the password is {SECRET}")
    before = Entry.objects.get(pk=entry.pk)
    told = control.blank(kitchen.bob, kitchen.room.pk, entry.seq)
    after = Entry.objects.get(pk=entry.pk)
    assert (after.body, after.data) == ("", {"blanked": True})
    assert (after.body_hash, after.digest, after.seq) == (before.body_hash, before.digest, before.seq)
    assert (told.kind, told.body) == ("blanked", f"bob blanked message {entry.seq}.")
    assert SECRET not in everything(kitchen)
    assert AuditRecord.objects.filter(owner=kitchen.alice, what="blank", who="bob").exists()


def test_a_request_goes_with_its_words(kitchen: Kitchen) -> None:
    entry = kitchen.ask(kitchen.bob, f"@claude use {SECRET}")
    turn = kitchen.turn(entry)
    control.blank(kitchen.bob, kitchen.room.pk, entry.seq)
    turn.refresh_from_db()
    assert turn.status == "cancelled"
    assert SECRET not in everything(kitchen)
    with pytest.raises(Conflict):
        turns.answer(kitchen.alice, kitchen.question(turn).pk, verdict="once")


def test_a_file_goes_with_its_bytes_unless_they_are_somebody_elses_too(kitchen: Kitchen) -> None:
    source = f"room-{kitchen.room.pk}"
    sha256, size = files.store(source, [SECRET.encode()])
    attached = [mail.File(source, sha256, "secret.txt", "text/plain", size)]
    first, second = (
        turns.ask(kitchen.bob, kitchen.room.pk, body="see", client_id=key(), files=attached) for _ in range(2)
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("django.db.transaction.on_commit", lambda act, **_: act())
        control.blank(kitchen.bob, kitchen.room.pk, first.seq)
        assert files.path(source, sha256).is_file()
        control.blank(kitchen.bob, kitchen.room.pk, second.seq)
    assert not files.path(source, sha256).exists()
    assert not Attachment.objects.exists()


def attach(kitchen: Kitchen) -> tuple[Path, Entry]:
    source = f"room-{kitchen.room.pk}"
    sha256, size = files.store(source, [SECRET.encode()])
    attached = [mail.File(source, sha256, "secret.txt", "text/plain", size)]
    entry = turns.ask(kitchen.bob, kitchen.room.pk, body="see", client_id=key(), files=attached)
    return files.path(source, sha256), entry


def test_bytes_that_came_anew_a_moment_ago_wait_for_whoever_is_about_to_name_them(
    kitchen: Kitchen, django_capture_on_commit_callbacks: DjangoCaptureOnCommitCallbacks
) -> None:
    """On PostgreSQL a fact in another transaction may name them already, which nobody sees before its commit."""
    path, entry = attach(kitchen)
    soon = timezone.now() + timedelta(seconds=1)
    os.utime(path, (soon.timestamp(), soon.timestamp()))
    with django_capture_on_commit_callbacks(execute=True):
        control.blank(kitchen.bob, kitchen.room.pk, entry.seq)
    assert path.is_file()
    control.clean(soon + files.KEPT + timedelta(seconds=1))
    assert not path.exists()


def test_bytes_that_an_entry_names_while_they_go_come_back(
    kitchen: Kitchen, django_capture_on_commit_callbacks: DjangoCaptureOnCommitCallbacks
) -> None:
    path, entry = attach(kitchen)
    other, rename = kitchen.ask(kitchen.bob, "the same"), Path.rename

    def meanwhile(this: Path, to: Path) -> Path:
        Attachment.objects.create(
            entry=other, source=f"room-{kitchen.room.pk}", sha256=path.name, name="x", content_type="text/plain", size=1
        )
        return rename(this, to)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Path, "rename", meanwhile)
        with django_capture_on_commit_callbacks(execute=True):
            control.blank(kitchen.bob, kitchen.room.pk, entry.seq)
    assert path.read_bytes() == SECRET.encode()


@pytest.mark.django_db(transaction=True)
def test_a_disk_that_fails_after_the_commit_fails_nobody(kitchen: Kitchen) -> None:
    path, entry = attach(kitchen)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Path, "rename", Mock(side_effect=PermissionError))
        told = control.blank(kitchen.bob, kitchen.room.pk, entry.seq)
    assert told.kind == "blanked"
    assert not Attachment.objects.exists()
    assert path.is_file()


def test_a_step_goes_with_its_earlier_states_and_a_text_with_all_its_pieces(kitchen: Kitchen) -> None:
    kitchen.ask(kitchen.alice, "@claude look")
    turn = kitchen.daemon.run()
    half = len(SECRET) // 2
    kitchen.daemon.tell(
        turn,
        wire.TextFact(part="p1", text=SECRET[:half]),
        wire.TextFact(part="p1", text=SECRET[half:]),
        wire.TextFact(part="p2", text="harmless"),
        wire.ToolCallFact(call="c1", title=f"echo {SECRET}", state="running"),
        wire.ToolCallFact(call="c1", title=f"echo {SECRET}", state="done", output=SECRET),
    )
    text = Entry.objects.filter(kind="text", data__part="p1").latest("seq")
    step = Entry.objects.filter(kind="tool_call").latest("seq")
    control.blank(kitchen.alice, kitchen.room.pk, text.seq)
    told = control.blank(kitchen.alice, kitchen.room.pk, step.seq)
    assert len(told.data["seqs"]) == 2
    assert told.data["turn"] == turn
    assert SECRET not in everything(kitchen)
    assert SECRET[:half] not in everything(kitchen)
    assert "harmless" in everything(kitchen)


def agents_words(kitchen: Kitchen) -> Entry:
    kitchen.ask(kitchen.dana, "@gemini look")
    kitchen.danas.tell(kitchen.danas.run(), wire.TextFact(part="p", text=SECRET))
    return Entry.objects.get(kind="text")


@pytest.mark.parametrize(("who", "may"), [("alice", True), ("dana", True), ("bob", False), ("vera", False)])
def test_the_rooms_and_the_agents_owner_blank_what_an_agent_said(kitchen: Kitchen, who: str, may: bool) -> None:
    entry = agents_words(kitchen)
    user: User = getattr(kitchen, who)
    if may:
        control.blank(user, kitchen.room.pk, entry.seq)
    else:
        with pytest.raises(Refused):
            control.blank(user, kitchen.room.pk, entry.seq)
    assert (SECRET in everything(kitchen)) == (not may)


def test_for_a_stranger_it_is_not_there_and_nobody_blanks_it_twice(kitchen: Kitchen) -> None:
    entry = kitchen.ask(kitchen.bob, SECRET)
    for seq in (entry.seq, 9999):
        with pytest.raises(NotFound):
            control.blank(kitchen.charlie, kitchen.room.pk, seq)
    control.blank(kitchen.alice, kitchen.room.pk, entry.seq)
    with pytest.raises(Conflict):
        control.blank(kitchen.alice, kitchen.room.pk, entry.seq)


def test_what_was_decided_can_not_be_blanked(kitchen: Kitchen) -> None:
    turn = kitchen.turn(kitchen.ask(kitchen.bob, "@claude go"))
    turns.answer(kitchen.alice, kitchen.question(turn).pk, verdict="once")
    for kind in ("turn", "approval", "joined"):
        entry = Entry.objects.filter(room=kitchen.room, kind=kind).latest("seq")
        with pytest.raises(NotFound):
            control.blank(kitchen.alice, kitchen.room.pk, entry.seq)


def test_a_blanked_message_tells_the_next_agent_nothing(kitchen: Kitchen) -> None:
    entry = kitchen.ask(kitchen.bob, SECRET)
    control.blank(kitchen.bob, kitchen.room.pk, entry.seq)
    kitchen.ask(kitchen.alice, "@claude look")
    [offer] = kitchen.daemon.take()
    assert SECRET not in offer.model_dump_json()
    assert all(said.body for said in offer.context)
