"""Push, delete, spend, credentials and what nobody can read: always asked, whole, and only by who just signed in."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.utils import timezone

from agentroom_machine import wire
from approvals import consent, control, turns
from approvals.models import Approval, Grant, Turn
from rooms.errors import Conflict, Invalid, Refused
from tests.approvals.kitchen import Kitchen

FOUR = ("push", "delete", "spend", "credentials", "unreadable")


def asks(kitchen: Kitchen, subject: str, action: str = "git push origin main") -> Approval:
    """Claude runs for alice herself, and puts an action to her."""
    kitchen.ask(kitchen.alice, "@claude go on")
    turn = kitchen.daemon.run()
    fact = wire.QuestionFact.model_validate(
        {"key": "k", "subject": subject, "title": "claude wants to", "action": action, "short": "It wants to"}
    )
    kitchen.daemon.tell(turn, fact)
    return kitchen.question(turn, subject)


@pytest.mark.parametrize("subject", FOUR)
def test_approving_one_of_them_wants_a_recent_sign_in(kitchen: Kitchen, subject: str) -> None:
    question = asks(kitchen, subject)
    with pytest.raises(Refused) as refused:
        turns.answer(kitchen.alice, question.pk, verdict="once")
    assert refused.value.code == "sign_in"
    question.refresh_from_db()
    assert question.verdict == ""
    turns.answer(kitchen.alice, question.pk, verdict="once", recently=True)
    question.refresh_from_db()
    assert question.verdict == "once"


@pytest.mark.parametrize("subject", FOUR)
def test_declining_never_wants_one(kitchen: Kitchen, subject: str) -> None:
    question = asks(kitchen, subject)
    turns.answer(kitchen.alice, question.pk, verdict="no")
    question.refresh_from_db()
    assert question.verdict == "no"


def test_a_deputy_needs_one_too(kitchen: Kitchen) -> None:
    control.name_deputy(kitchen.alice, handle="dana", until=timezone.now() + timedelta(hours=1), recently=True)
    question = asks(kitchen, "push")
    with pytest.raises(Refused):
        turns.answer(kitchen.dana, question.pk, verdict="once")
    turns.answer(kitchen.dana, question.pk, verdict="once", recently=True)


def test_an_ordinary_tool_question_wants_none(kitchen: Kitchen) -> None:
    turns.answer(kitchen.alice, asks(kitchen, "tool").pk, verdict="once")


def test_none_of_them_can_be_allowed_always(kitchen: Kitchen) -> None:
    question = asks(kitchen, "push")
    for verdict in ("always", "never"):
        with pytest.raises(Invalid):
            turns.answer(kitchen.alice, question.pk, verdict=verdict, recently=True)
    assert not Grant.objects.exists()


def test_a_grant_does_not_spare_the_question(kitchen: Kitchen) -> None:
    bob = kitchen.seat(kitchen.bob)
    control.set_grant(kitchen.alice, agent_id=kitchen.claude.pk, member_id=bob.pk, level="always")
    kitchen.ask(kitchen.bob, "@claude push it")
    turn = kitchen.daemon.run()
    kitchen.daemon.tell(turn, wire.QuestionFact(key="k", subject="push", title="t", action="git push", short="push"))
    assert kitchen.question(turn, "push").verdict == ""


def test_an_answer_to_another_action_is_a_conflict(kitchen: Kitchen) -> None:
    question = asks(kitchen, "push")
    for digest in ("", "0" * 64, consent.action_digest("push", "git push origin main ", [])):
        with pytest.raises(Conflict):
            turns.answer(kitchen.alice, question.pk, verdict="once", recently=True, digest=digest)
    turns.answer(kitchen.alice, question.pk, verdict="once", recently=True, digest=question.action_digest)


def test_it_is_answered_once(kitchen: Kitchen) -> None:
    question = asks(kitchen, "push")
    turns.answer(kitchen.alice, question.pk, verdict="once", recently=True)
    for verdict in ("once", "no"):
        with pytest.raises(Conflict, match="alice was first: approved"):
            turns.answer(kitchen.alice, question.pk, verdict=verdict, recently=True)


def test_what_cannot_be_stored_as_it_is_can_only_be_declined(kitchen: Kitchen) -> None:
    question = asks(kitchen, "push", action="git push\0 origin main")
    assert not consent.whole(question)
    with pytest.raises(Refused, match="whole"):
        turns.answer(kitchen.alice, question.pk, verdict="once", recently=True)
    turns.answer(kitchen.alice, question.pk, verdict="no")


def test_what_is_too_long_to_show_can_only_be_declined(kitchen: Kitchen) -> None:
    kitchen.ask(kitchen.alice, "@claude go on")
    turn = Turn.objects.get(pk=kitchen.daemon.run())
    question = consent.ask_owner(turn, "push", title="t", action="x" * wire.MAX_TEXT + "; rm -rf ~", key="k")
    with pytest.raises(Refused, match="whole"):
        turns.answer(kitchen.alice, question.pk, verdict="once", recently=True)


def test_what_was_changed_behind_our_back_cannot_be_approved(kitchen: Kitchen) -> None:
    question = asks(kitchen, "push")
    Approval.objects.filter(pk=question.pk).update(action="git push --force origin main")
    with pytest.raises(Refused, match="whole"):
        turns.answer(kitchen.alice, question.pk, verdict="once", recently=True, digest=question.action_digest)


def test_lapsed_is_no_and_the_agent_hears_it(kitchen: Kitchen) -> None:
    question = asks(kitchen, "push")
    Approval.objects.filter(pk=question.pk).update(expires_at=timezone.now() - timedelta(seconds=1))
    with pytest.raises(Conflict):
        turns.answer(kitchen.alice, question.pk, verdict="once", recently=True)
    assert turns.lapse() == 1
    assert turns.lapse() == 0
    kitchen.daemon.questions = ["k"]
    [verdict] = kitchen.daemon.sync().verdicts
    assert (verdict.key, verdict.verdict) == ("k", "no")
