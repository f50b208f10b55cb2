"""How long a question waits is the agent's owner's to say."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.db import IntegrityError, transaction
from django.utils import timezone

from agentroom_machine import wire
from approvals import control, turns
from approvals.models import AnswerTimes, Approval
from rooms.errors import Invalid, NotFound
from tests.approvals.kitchen import Kitchen

TIMES = {"four_minutes": 5, "tool_minutes": 7, "question_minutes": 9, "start_minutes": 11}


def minutes(question: Approval) -> int | None:
    if question.expires_at is None:
        return None
    return round((question.expires_at - question.created_at).total_seconds() / 60)


def asked(kitchen: Kitchen) -> dict[str, int | None]:
    """How long each sort of question waits."""
    turn = kitchen.turn(kitchen.ask(kitchen.bob, "@claude go"))
    found = {"start": minutes(kitchen.question(turn))}
    turns.answer(kitchen.alice, kitchen.question(turn).pk, verdict="once")
    kitchen.daemon.run()
    for subject in ("push", "unreadable", "tool", "question"):
        fact = {"key": f"{turn.pk}.{subject}", "subject": subject, "title": "t", "action": "x", "short": "x"}
        kitchen.daemon.tell(turn.pk, wire.QuestionFact.model_validate(fact))
        found[subject] = minutes(kitchen.question(turn, subject))
    return found


def test_left_alone_the_four_wait_a_quarter_of_an_hour_and_a_start_for_ever(kitchen: Kitchen) -> None:
    assert asked(kitchen) == {"start": None, "push": 15, "unreadable": 15, "tool": 60, "question": 1440}


def test_the_owner_sets_them(kitchen: Kitchen) -> None:
    control.set_times(kitchen.alice, kitchen.claude.pk, **TIMES)
    assert asked(kitchen) == {"start": 11, "push": 5, "unreadable": 5, "tool": 7, "question": 9}


def test_nobody_else_does(kitchen: Kitchen) -> None:
    for other in (kitchen.bob, kitchen.dana, kitchen.charlie):
        with pytest.raises(NotFound):
            control.set_times(other, kitchen.claude.pk, **TIMES)


@pytest.mark.parametrize("field", list(TIMES))
def test_no_time_is_no_time(kitchen: Kitchen, field: str) -> None:
    for wrong in (0, -1, 10**7):
        with pytest.raises(Invalid) as invalid:
            control.set_times(kitchen.alice, kitchen.claude.pk, **TIMES | {field: wrong})
        assert invalid.value.field == field


def test_the_database_refuses_one_too(kitchen: Kitchen) -> None:
    with pytest.raises(IntegrityError), transaction.atomic():
        AnswerTimes.objects.create(agent=kitchen.claude, four_minutes=0)


def test_a_request_to_start_that_lapses_ends_as_declined(kitchen: Kitchen) -> None:
    control.set_times(kitchen.alice, kitchen.claude.pk, **TIMES)
    turn = kitchen.turn(kitchen.ask(kitchen.bob, "@claude go"))
    Approval.objects.update(expires_at=timezone.now() - timedelta(seconds=1))
    assert turns.lapse() == 1
    turn.refresh_from_db()
    assert (turn.status, turn.note) == ("refused", "Nobody answered in time.")
    assert kitchen.question(turn).verdict == "lapsed"
    assert kitchen.daemon.sync().offers == []
