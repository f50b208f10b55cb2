"""Stored, delivered, read, accepted, declined, done and answered are different facts, each with its time."""

from __future__ import annotations

import pytest

from approvals import control, mailbox, turns
from messaging.models import Entry, Recipient
from rooms.errors import Conflict, Invalid, NotFound, Refused
from tests.approvals.kitchen import Kitchen, key
from tests.mailbox.post import BY_HAND, ack, bodies, facts, read, reply, send


def test_each_recipient_has_facts_of_its_own(kitchen: Kitchen) -> None:
    entry = send(kitchen, kitchen.claude, None, "codex gemini")
    read(kitchen, kitchen.codex)
    ack(kitchen, kitchen.codex, None, entry.seq, "accepted", "on it")
    ack(kitchen, kitchen.gemini, None, entry.seq, "declined", "not mine")
    reply(kitchen, kitchen.codex, None, entry.seq)
    codex, gemini = mailbox.states(entry)
    assert [fact.state for fact in codex.facts] == ["stored", "read", "accepted", "answered"]
    assert [fact.note for fact in codex.facts] == ["", "", "on it", ""]
    assert sorted(fact.at for fact in codex.facts) == [fact.at for fact in codex.facts]
    assert [(fact.state, fact.note) for fact in gemini.facts] == [("stored", ""), ("declined", "not mine")]


def test_a_receipt_lands_in_the_senders_inbox_with_its_note(kitchen: Kitchen) -> None:
    entry = send(kitchen, kitchen.claude, None, "codex")
    ack(kitchen, kitchen.codex, None, entry.seq, "done", "swept")
    [letter] = read(kitchen, kitchen.claude).messages
    assert (letter.kind, letter.note, letter.body, letter.from_handle, letter.parent) == (
        "done", "swept", "", "codex", entry.seq,
    )  # fmt: skip


def test_the_same_again_is_the_same_receipt(kitchen: Kitchen) -> None:
    entry = send(kitchen, kitchen.claude, None, "codex")
    first, again = (ack(kitchen, kitchen.codex, None, entry.seq, "done", "swept") for _ in range(2))
    assert first.pk == again.pk
    assert len(read(kitchen, kitchen.claude).messages) == 1
    with pytest.raises(Conflict):
        ack(kitchen, kitchen.codex, None, entry.seq, "done", "not swept")


def test_one_bad_number_spoils_no_other(kitchen: Kitchen) -> None:
    entry = send(kitchen, kitchen.claude, None, "codex")
    other = send(kitchen, kitchen.claude, None, "gemini")
    for bad in (other.seq, 10**9, 0, -1):
        with pytest.raises(NotFound, match=str(bad)):
            ack(kitchen, kitchen.codex, None, bad)
    ack(kitchen, kitchen.codex, None, entry.seq)
    assert facts(entry)["codex"][1] == "accepted"
    assert "accepted" not in facts(other)["gemini"]


def test_nobody_answers_or_acknowledges_what_was_not_sent_to_them(kitchen: Kitchen) -> None:
    entry = send(kitchen, kitchen.claude, None, "codex")
    for agent in (kitchen.gemini, kitchen.claude):
        with pytest.raises(NotFound):
            ack(kitchen, agent, None, entry.seq)
        with pytest.raises(NotFound):
            reply(kitchen, agent, None, entry.seq)
    receipt = ack(kitchen, kitchen.codex, None, entry.seq)
    with pytest.raises(NotFound):
        ack(kitchen, kitchen.claude, None, receipt.seq)
    assert Entry.objects.filter(kind="message").count() == 1
    assert set(Recipient.objects.values_list("member__handle", "entry__kind")) == {
        ("codex", "message"), ("claude", "accepted"),
    }  # fmt: skip


def test_a_word_that_is_no_receipt_is_refused(kitchen: Kitchen) -> None:
    entry = send(kitchen, kitchen.claude, None, "codex")
    with pytest.raises(Invalid):
        ack(kitchen, kitchen.codex, None, entry.seq, "read")  # type: ignore[arg-type]
    with pytest.raises(Invalid):
        ack(kitchen, kitchen.codex, None, entry.seq, "done", "x" * 2001)


def test_a_reply_goes_to_the_author_in_the_same_topic(kitchen: Kitchen) -> None:
    entry = turns.send(
        kitchen.seat(kitchen.claude), None, to=["codex"], body="hello", topic="menu", ticket="K-1", client_id=key(),
        connection=BY_HAND,
    )  # fmt: skip
    answer = reply(kitchen, kitchen.codex, None, entry.seq, "hello yourself")
    assert (answer.topic, answer.ticket, answer.parent_seq) == ("menu", "K-1", entry.seq)
    assert bodies(read(kitchen, kitchen.claude)) == ["hello yourself"]
    assert bodies(read(kitchen, kitchen.gemini)) == []


def test_a_person_can_be_answered(kitchen: Kitchen) -> None:
    entry = kitchen.ask(kitchen.bob, "@claude hello")
    answer = reply(kitchen, kitchen.claude, None, entry.seq, "hello bob")
    assert set(answer.recipients.values_list("member__handle", flat=True)) == {"bob"}


def test_who_left_is_not_answered(kitchen: Kitchen) -> None:
    entry = send(kitchen, kitchen.claude, None, "codex")
    control.remove_member(kitchen.alice, kitchen.seat(kitchen.claude).pk)
    with pytest.raises(Refused):
        reply(kitchen, kitchen.codex, None, entry.seq)
    ack(kitchen, kitchen.codex, None, entry.seq)
    assert not Recipient.objects.filter(member=kitchen.seat(kitchen.claude)).exists()


def test_the_text_is_never_rewritten(kitchen: Kitchen) -> None:
    entry = send(kitchen, kitchen.claude, None, "codex", "as it was")
    digest = entry.digest
    read(kitchen, kitchen.codex)
    ack(kitchen, kitchen.codex, None, entry.seq, "done")
    entry.refresh_from_db()
    assert (entry.body, entry.digest) == ("as it was", digest)
