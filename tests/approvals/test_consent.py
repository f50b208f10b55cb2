"""The owner's word: once, always, no."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.utils import timezone

from approvals import audit, consent, control, turns
from approvals.models import Approval, AuditRecord, Grant, Turn
from messaging.models import Entry
from rooms import membership
from rooms.errors import Conflict, Invalid, NotFound, Refused
from rooms.models import User
from tests.approvals.kitchen import Kitchen, join


def answer(kitchen: Kitchen, turn: Turn, verdict: str, user: User | None = None, **more: object) -> Approval:
    return turns.answer(user or kitchen.alice, kitchen.question(turn).pk, verdict=verdict, **more)  # type: ignore[arg-type]


def test_approve_once_lets_this_request_run_and_no_other(kitchen: Kitchen) -> None:
    turn = kitchen.turn(kitchen.ask(kitchen.bob, "@claude one"))
    answer(kitchen, turn, "once")
    assert [offer.turn_id for offer in kitchen.daemon.take()] == [turn.pk]
    assert kitchen.turn(kitchen.ask(kitchen.bob, "@claude two")).status == "asked"


def test_allow_always_lets_the_next_request_start_at_once(kitchen: Kitchen) -> None:
    answer(kitchen, kitchen.turn(kitchen.ask(kitchen.bob, "@claude one")), "always")
    assert kitchen.turn(kitchen.ask(kitchen.bob, "@claude two")).status == "queued"
    assert Grant.objects.get().last_used_at is not None


def test_always_holds_for_that_person_agent_and_room_alone(kitchen: Kitchen) -> None:
    answer(kitchen, kitchen.turn(kitchen.ask(kitchen.bob, "@claude one")), "always")
    cellar = membership.create_room(kitchen.alice, name="cellar")
    membership.add_agent(kitchen.alice, cellar.pk, kitchen.claude.pk)
    join(cellar, kitchen.bob)
    assert kitchen.turn(kitchen.ask(kitchen.dana, "@claude two")).status == "asked"
    assert kitchen.turn(kitchen.ask(kitchen.bob, "@codex two")).status == "asked"
    assert kitchen.turn(kitchen.ask(kitchen.bob, "@claude two", cellar)).status == "asked"


def test_everywhere_holds_in_every_room_that_both_share(kitchen: Kitchen) -> None:
    answer(kitchen, kitchen.turn(kitchen.ask(kitchen.bob, "@claude one")), "always", everywhere=True)
    cellar = membership.create_room(kitchen.alice, name="cellar")
    membership.add_agent(kitchen.alice, cellar.pk, kitchen.claude.pk)
    join(cellar, kitchen.bob)
    assert kitchen.turn(kitchen.ask(kitchen.bob, "@claude two", cellar)).status == "queued"


def test_a_grant_ends_with_its_time(kitchen: Kitchen) -> None:
    until = timezone.now() + timedelta(hours=1)
    answer(kitchen, kitchen.turn(kitchen.ask(kitchen.bob, "@claude one")), "always", until=until)
    Grant.objects.update(expires_at=timezone.now() - timedelta(seconds=1))
    assert kitchen.turn(kitchen.ask(kitchen.bob, "@claude two")).status == "asked"
    assert control.expire() == 1
    assert not Grant.objects.exists()


def test_declining_reaches_the_asker_with_its_note(kitchen: Kitchen) -> None:
    turn = kitchen.turn(kitchen.ask(kitchen.bob, "@claude one"))
    answer(kitchen, turn, "no", note="Not today.")
    turn.refresh_from_db()
    assert (turn.status, turn.note) == ("refused", "Not today.")
    last = Entry.objects.filter(kind="turn", source_turn=turn.pk).latest("seq")
    assert last.data["state"] == "refused"
    assert last.data["by"] == "alice"
    assert last.data["note"] == "Not today."


def test_revoking_cancels_what_is_queued_and_the_next_one_waits(kitchen: Kitchen) -> None:
    answer(kitchen, kitchen.turn(kitchen.ask(kitchen.bob, "@claude one")), "always")
    second = kitchen.turn(kitchen.ask(kitchen.bob, "@claude two"))
    assert control.revoke_grant(kitchen.alice, Grant.objects.get().pk) == 2
    second.refresh_from_db()
    assert second.status == "cancelled"
    assert kitchen.turn(kitchen.ask(kitchen.bob, "@claude three")).status == "asked"
    assert kitchen.daemon.sync().offers == []


def test_deny_wins_over_always(kitchen: Kitchen) -> None:
    bob = kitchen.seat(kitchen.bob)
    control.set_grant(kitchen.alice, agent_id=kitchen.claude.pk, person_id=kitchen.bob.pk, level="deny")
    control.set_grant(kitchen.alice, agent_id=kitchen.claude.pk, member_id=bob.pk, level="always")
    assert kitchen.turn(kitchen.ask(kitchen.bob, "@claude one")).status == "refused"


def test_only_the_agents_owner_grants(kitchen: Kitchen) -> None:
    for other in (kitchen.bob, kitchen.dana, kitchen.charlie):
        with pytest.raises(NotFound):
            control.set_grant(other, agent_id=kitchen.claude.pk, member_id=kitchen.seat(kitchen.bob).pk, level="always")


@pytest.mark.parametrize("who", ["bob", "dana", "vera", "charlie"])
def test_nobody_but_the_owner_answers(kitchen: Kitchen, who: str) -> None:
    turn = kitchen.turn(kitchen.ask(kitchen.bob, "@claude one"))
    with pytest.raises(NotFound):
        answer(kitchen, turn, "once", getattr(kitchen, who))
    assert kitchen.question(turn).verdict == ""


def test_a_deputy_answers_once_but_never_always(kitchen: Kitchen) -> None:
    control.name_deputy(kitchen.alice, handle="dana", until=timezone.now() + timedelta(hours=1), recently=True)
    turn = kitchen.turn(kitchen.ask(kitchen.bob, "@claude one"))
    kitchen.dana.refresh_from_db()
    assert list(consent.waiting_for(kitchen.dana)) == [kitchen.question(turn)]
    with pytest.raises(Refused):
        answer(kitchen, turn, "always", kitchen.dana)
    assert kitchen.question(turn).verdict == ""
    assert not Grant.objects.exists()
    User.objects.filter(pk=kitchen.alice.pk).update(deputy_until=timezone.now() - timedelta(seconds=1))
    with pytest.raises(NotFound):
        answer(kitchen, turn, "once", kitchen.dana)


def test_the_second_decision_learns_of_the_first(kitchen: Kitchen) -> None:
    turn = kitchen.turn(kitchen.ask(kitchen.bob, "@claude one"))
    answer(kitchen, turn, "once")
    with pytest.raises(Conflict, match="alice was first: approved"):
        answer(kitchen, turn, "no")
    assert Turn.objects.get(pk=turn.pk).status == "queued"


def test_a_question_lapses_to_no_and_a_late_answer_hears_so(kitchen: Kitchen) -> None:
    turn = kitchen.turn(kitchen.ask(kitchen.bob, "@claude one"))
    Approval.objects.update(expires_at=timezone.now() - timedelta(seconds=1))
    with pytest.raises(Conflict):
        answer(kitchen, turn, "once")
    assert turns.lapse() == 1
    assert turns.lapse() == 0
    with pytest.raises(Conflict):
        answer(kitchen, turn, "once")


@pytest.mark.parametrize("verdict", ["", "yes", "lapsed", "gone"])
def test_only_known_verdicts_are_taken(kitchen: Kitchen, verdict: str) -> None:
    turn = kitchen.turn(kitchen.ask(kitchen.bob, "@claude one"))
    with pytest.raises(Invalid):
        answer(kitchen, turn, verdict)


def test_leaving_and_coming_back_revives_no_grant(kitchen: Kitchen) -> None:
    answer(kitchen, kitchen.turn(kitchen.ask(kitchen.bob, "@claude one")), "always")
    control.leave(kitchen.bob, kitchen.room.pk)
    join(kitchen.room, kitchen.bob)
    assert kitchen.turn(kitchen.ask(kitchen.bob, "@claude two")).status == "asked"


def test_every_decision_stands_in_a_trail_that_verifies(kitchen: Kitchen) -> None:
    answer(kitchen, kitchen.turn(kitchen.ask(kitchen.bob, "@claude one")), "always")
    answer(kitchen, kitchen.turn(kitchen.ask(kitchen.dana, "@claude two")), "no")
    trail = AuditRecord.objects.filter(owner=kitchen.alice).values_list("what", "decision")
    assert ("answer start", "always") in trail
    assert ("answer start", "no") in trail
    assert audit.verify(kitchen.alice.pk) is None
