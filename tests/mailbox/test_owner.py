"""An agent asks its owner and goes on; the answer comes as mail, and grants nothing."""

from __future__ import annotations

import pytest

from agentroom_machine import wire
from approvals import audit, consent, control, mailbox, turns
from approvals.models import Approval, AuditRecord, Grant, Turn
from messaging.models import Entry
from rooms.errors import Conflict, Invalid, NotFound, Refused
from rooms.models import Agent, User
from tests.approvals.kitchen import Kitchen, key
from tests.mailbox.post import BY_HAND, allow, now, read, works


def ask(kitchen: Kitchen, agent: Agent, turn: int | None, action: str = "rm -rf build", client_id: str = "") -> int:
    return mailbox.ask_owner(
        kitchen.seat(agent), now(turn), action=action, kind="delete", client_id=client_id or key(), connection=BY_HAND
    )


def test_it_returns_at_once_and_the_turn_goes_on(kitchen: Kitchen) -> None:
    turn = works(kitchen, kitchen.bob)
    number = ask(kitchen, kitchen.claude, turn)
    assert Turn.objects.get(pk=turn).status == "running"
    question = Approval.objects.get(pk=number)
    assert (question.subject, question.action, question.title) == ("ask", "rm -rf build", "claude asks about deleting")
    assert number in [waiting.pk for waiting in consent.waiting_for(kitchen.alice)]
    kitchen.daemon.end(turn)
    assert Approval.objects.get(pk=number).verdict == "", "it outlives the turn"


def test_the_answer_comes_as_mail_in_the_name_of_who_stood_behind_the_question(kitchen: Kitchen) -> None:
    turn = works(kitchen, kitchen.bob)
    number = ask(kitchen, kitchen.claude, turn)
    kitchen.daemon.end(turn)
    turns.answer(kitchen.alice, number, verdict="once", note="but keep the cache")
    [offer] = kitchen.daemon.take()
    assert (offer.cause, offer.principal, offer.principal_is_owner) == ("mail", "bob", False)
    kitchen.daemon.start(offer)
    [letter] = read(kitchen, kitchen.claude, offer.turn_id).messages
    assert (letter.kind, letter.body, letter.from_handle) == ("answer", "Yes. but keep the cache", "alice")


def test_an_answer_wakes_nobody_for_somebody_who_was_shut_out(kitchen: Kitchen) -> None:
    turn = works(kitchen, kitchen.bob)
    number = ask(kitchen, kitchen.claude, turn)
    kitchen.daemon.end(turn)
    User.objects.filter(pk=kitchen.bob.pk).update(is_active=False)
    turns.answer(kitchen.alice, number, verdict="once")
    assert Turn.objects.get(cause="mail").status == "refused"
    assert kitchen.daemon.sync().offers == []


def test_a_yes_grants_nothing(kitchen: Kitchen) -> None:
    turn = works(kitchen, kitchen.bob)
    turns.answer(kitchen.alice, ask(kitchen, kitchen.claude, turn), verdict="once")
    assert not Grant.objects.exists()
    assert kitchen.turn(kitchen.ask(kitchen.bob, "@claude delete it")).status == "asked"
    kitchen.daemon.tell(
        turn,
        wire.QuestionFact(key="q", subject="delete", title="Delete", action="rm -rf build", short="rm"),
    )
    kitchen.daemon.questions = ["q"]
    assert kitchen.daemon.sync().verdicts == [], "the action itself is asked all the same"
    with pytest.raises(Refused):
        turns.answer(kitchen.alice, kitchen.question(turn, "delete").pk, verdict="once")


def test_only_the_owner_or_deputy_answers(kitchen: Kitchen) -> None:
    number = ask(kitchen, kitchen.claude, works(kitchen, kitchen.bob))
    for user in (kitchen.bob, kitchen.vera, kitchen.charlie, kitchen.dana):
        assert number not in [waiting.pk for waiting in consent.waiting_for(user)]
        with pytest.raises(NotFound):
            turns.answer(user, number, verdict="once")
    turns.answer(kitchen.alice, number, verdict="no")
    with pytest.raises(Conflict):
        turns.answer(kitchen.alice, number, verdict="once")


def test_always_is_no_answer_to_it(kitchen: Kitchen) -> None:
    number = ask(kitchen, kitchen.claude, works(kitchen, kitchen.bob))
    for verdict in ("always", "never"):
        with pytest.raises(Invalid):
            turns.answer(kitchen.alice, number, verdict=verdict)


def test_the_room_sees_a_short_form_without_secrets(kitchen: Kitchen) -> None:
    token = "ghp_" + "a1B2" * 9
    number = ask(kitchen, kitchen.claude, works(kitchen, kitchen.bob), f"push with {token} " + "x" * 500)
    for entry in Entry.objects.filter(room=kitchen.room):
        assert token not in entry.body + str(entry.data)
    [message] = Entry.objects.filter(kind="message", data__asks="delete")
    assert len(message.body) <= 200
    assert token in Approval.objects.get(pk=number).action, "the owner sees it whole"


def test_the_same_key_is_the_same_question(kitchen: Kitchen) -> None:
    turn = works(kitchen, kitchen.bob)
    first, again = (ask(kitchen, kitchen.claude, turn, client_id="once") for _ in range(2))
    assert first == again
    with pytest.raises(Conflict):
        ask(kitchen, kitchen.claude, turn, "rm -rf /", client_id="once")
    assert Approval.objects.filter(subject="ask").count() == 1


def test_by_hand_the_answer_waits_in_the_inbox_and_starts_nothing(kitchen: Kitchen) -> None:
    number = ask(kitchen, kitchen.claude, None)
    turns.answer(kitchen.alice, number, verdict="no", note="later")
    assert kitchen.daemon.take() == []
    [letter] = read(kitchen, kitchen.claude).messages
    assert (letter.kind, letter.body, letter.in_the_name_of) == ("answer", "No. later", None)


def test_one_that_nobody_answers_lapses_and_the_agent_hears_it(kitchen: Kitchen) -> None:
    allow(kitchen, kitchen.claude, kitchen.bob)
    turn = works(kitchen, kitchen.bob)
    number = ask(kitchen, kitchen.claude, turn)
    Approval.objects.filter(pk=number).update(expires_at="2020-01-01T00:00:00Z")
    assert turns.lapse() == 1
    [letter] = read(kitchen, kitchen.claude, turn).messages
    assert (letter.body, letter.from_handle) == ("Nobody answered in time.", "")


def test_who_lost_the_right_to_ask_hears_no_answer(kitchen: Kitchen) -> None:
    turn = works(kitchen, kitchen.bob)
    number = ask(kitchen, kitchen.claude, turn)
    kitchen.daemon.end(turn)
    control.remove_member(kitchen.alice, kitchen.seat(kitchen.bob).pk)
    turns.answer(kitchen.alice, number, verdict="once")
    assert kitchen.daemon.take() == []


def test_question_and_decision_are_in_the_owners_trail(kitchen: Kitchen) -> None:
    turns.answer(kitchen.alice, ask(kitchen, kitchen.claude, works(kitchen, kitchen.bob)), verdict="no")
    trail = AuditRecord.objects.filter(owner=kitchen.alice)
    assert trail.filter(what="ask owner", who="claude", in_name_of="bob", decision="delete").exists()
    assert trail.filter(what="answer ask", who="alice", in_name_of="bob", decision="no").exists()
    assert audit.verify(kitchen.alice.pk) is None


def test_it_keeps_no_mail_away(kitchen: Kitchen) -> None:
    """The agent went on: an open question is not what it waits for."""
    turn = works(kitchen, kitchen.alice)
    ask(kitchen, kitchen.claude, turn)
    kitchen.daemon.end(turn)
    kitchen.ask(kitchen.alice, "@claude next")
    assert len(kitchen.daemon.take()) == 1


def test_a_flood_of_questions_is_bounded(kitchen: Kitchen) -> None:
    for number in range(20):
        ask(kitchen, kitchen.claude, None, f"question {number}")
    with pytest.raises(Invalid):
        ask(kitchen, kitchen.claude, None, "one more")
    for nothing in ("", " \n"):
        with pytest.raises(Invalid):
            ask(kitchen, kitchen.codex, None, nothing)
