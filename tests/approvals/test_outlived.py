"""What runs when its permission ends goes on, and says so; what waits does not start."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.utils import timezone

from approvals import control, turns
from approvals.models import Grant, Turn
from messaging.models import Entry
from rooms import membership
from rooms.errors import Conflict, Invalid, Refused
from rooms.models import Member, User
from tests.approvals.kitchen import Kitchen


def always(kitchen: Kitchen) -> Grant:
    return control.set_grant(
        kitchen.alice, agent_id=kitchen.claude.pk, member_id=kitchen.seat(kitchen.bob).pk, level="always"
    )


def running(kitchen: Kitchen) -> Turn:
    kitchen.ask(kitchen.bob, "@claude work")
    return Turn.objects.get(pk=kitchen.daemon.run())


def notices(turn: Turn) -> list[str]:
    return list(Entry.objects.filter(kind="notice", source_turn=turn.pk).values_list("body", flat=True))


@pytest.mark.parametrize("how", ["revoked", "asks first", "denied", "ended", "removed", "left", "shut out"])
def test_running_work_outlives_its_permission_and_is_marked(kitchen: Kitchen, how: str) -> None:
    grant = always(kitchen)
    turn = running(kitchen)
    waits = kitchen.turn(kitchen.ask(kitchen.bob, "@claude more"))
    bob = kitchen.seat(kitchen.bob)
    match how:
        case "revoked":
            control.revoke_grant(kitchen.alice, grant.pk)
        case "asks first":
            control.set_grant(kitchen.alice, agent_id=kitchen.claude.pk, member_id=bob.pk, level="ask")
        case "denied":
            control.set_grant(kitchen.alice, agent_id=kitchen.claude.pk, member_id=bob.pk, level="deny")
        case "ended":
            Grant.objects.update(expires_at=timezone.now() - timedelta(seconds=1))
            control.expire()
        case "removed":
            control.remove_member(kitchen.alice, bob.pk)
        case "shut out":
            control.shut_out(kitchen.bob, by=kitchen.alice)
        case _:
            control.leave(kitchen.bob, kitchen.room.pk)
    turn.refresh_from_db()
    waits.refresh_from_db()
    assert (turn.status, waits.status) == ("running", "cancelled")
    assert turn.outlived_at is not None
    [words] = notices(turn)
    assert words.endswith("What runs goes on until it ends or is stopped.")
    kitchen.daemon.end(turn.pk)
    turn.refresh_from_db()
    assert turn.status == "done"


def test_nothing_starts_in_the_name_of_somebody_who_was_shut_out(kitchen: Kitchen) -> None:
    always(kitchen)
    queued = kitchen.turn(kitchen.ask(kitchen.bob, "@claude one"))
    [offered] = kitchen.daemon.take()
    asked = kitchen.turn(kitchen.ask(kitchen.bob, "@codex two"))
    dana = kitchen.turn(kitchen.ask(kitchen.dana, "@codex three"))
    control.shut_out(kitchen.bob, by=kitchen.alice)
    for turn in (queued, asked):
        turn.refresh_from_db()
        assert (turn.status, turn.note) == ("cancelled", "Whoever asked was shut out of this server.")
        assert turn.ended_by == kitchen.alice
    assert kitchen.question(asked).verdict == "gone"
    with pytest.raises(Conflict):
        kitchen.daemon.start(offered)
    membership.set_active(kitchen.bob, active=True)
    assert kitchen.daemon.sync().offers == [], "letting them in again brings nothing back"
    dana.refresh_from_db()
    assert dana.status == "asked"


@pytest.mark.parametrize("held", [False, True])
def test_that_is_read_when_it_is_offered_and_when_it_starts_too(kitchen: Kitchen, held: bool) -> None:
    always(kitchen)
    turn = kitchen.turn(kitchen.ask(kitchen.bob, "@claude one"))
    offers = kitchen.daemon.take() if held else []
    User.objects.filter(pk=kitchen.bob.pk).update(is_active=False)  # and nothing was cancelled
    for offered in offers:
        assert kitchen.daemon.start(offered) == "Whoever asked may no longer ask here."
    assert kitchen.daemon.sync().offers == []
    turn.refresh_from_db()
    assert (turn.status, turn.note) == ("cancelled", "Whoever asked may no longer ask here.")


def test_what_was_approved_by_itself_outlives_nothing(kitchen: Kitchen) -> None:
    turn = kitchen.turn(kitchen.ask(kitchen.bob, "@claude work"))
    turns.answer(kitchen.alice, kitchen.question(turn).pk, verdict="once")
    kitchen.daemon.run()
    control.revoke_grant(kitchen.alice, always(kitchen).pk)
    turn.refresh_from_db()
    assert turn.outlived_at is None


def test_decline_and_do_not_ask_again(kitchen: Kitchen) -> None:
    first = kitchen.turn(kitchen.ask(kitchen.bob, "@claude one"))
    second = kitchen.turn(kitchen.ask(kitchen.bob, "@claude two"))
    other = kitchen.turn(kitchen.ask(kitchen.bob, "@codex three"))
    turns.answer(kitchen.alice, kitchen.question(first).pk, verdict="never", note="Ask dana.")
    for turn in (first, second, other):
        turn.refresh_from_db()
    assert [first.status, second.status, other.status] == ["refused", "refused", "asked"]
    assert kitchen.question(first).verdict == "no"
    assert Grant.objects.get().level == "deny"
    assert kitchen.turn(kitchen.ask(kitchen.bob, "@claude four")).status == "refused"


def test_a_deputy_can_not_decline_for_longer(kitchen: Kitchen) -> None:
    control.name_deputy(kitchen.alice, handle="dana", until=timezone.now() + timedelta(hours=1), recently=True)
    turn = kitchen.turn(kitchen.ask(kitchen.bob, "@claude one"))
    with pytest.raises(Refused):
        turns.answer(kitchen.dana, kitchen.question(turn).pk, verdict="never")
    turn.refresh_from_db()
    assert turn.status == "asked"
    assert not Grant.objects.exists()


def test_denying_ends_what_waits_for_an_answer_too(kitchen: Kitchen) -> None:
    turn = kitchen.turn(kitchen.ask(kitchen.bob, "@claude one"))
    control.set_grant(kitchen.alice, agent_id=kitchen.claude.pk, person_id=kitchen.bob.pk, level="deny")
    turn.refresh_from_db()
    assert turn.status == "cancelled"
    assert kitchen.question(turn).verdict == "gone"


# --- stop, for one person or one agent


def statuses(kitchen: Kitchen) -> dict[tuple[str, str], str]:
    rows = Turn.objects.values_list("principal__username", "agent__handle", "status")
    return {(person, agent): status for person, agent, status in rows}


@pytest.fixture
def busy(kitchen: Kitchen) -> Kitchen:
    """bob and dana have something waiting for claude, codex and gemini each."""
    for user in (kitchen.bob, kitchen.dana):
        for agent in (kitchen.claude, kitchen.codex, kitchen.gemini):
            if agent.owner_id != user.pk:
                control.set_grant(agent.owner, agent_id=agent.pk, member_id=kitchen.seat(user).pk, level="always")
            kitchen.ask(user, f"@{agent.handle} go")
    return kitchen


def test_stopping_a_person_cancels_what_waits_in_their_name_on_this_machine(busy: Kitchen) -> None:
    assert control.cancel_waiting(busy.daemon.machine, person="bob") == 2
    assert {pair for pair, status in statuses(busy).items() if status == "cancelled"} == {
        ("bob", "claude"),
        ("bob", "codex"),
    }


def test_stopping_an_agent_cancels_what_waits_for_it(busy: Kitchen) -> None:
    busy.daemon.run()
    assert control.cancel_waiting(busy.daemon.machine, agent="claude") == 1
    assert statuses(busy)["bob", "claude"] == "running"
    assert statuses(busy)["dana", "claude"] == "cancelled"


def test_stopping_both_is_one_persons_requests_to_one_agent(busy: Kitchen) -> None:
    assert control.cancel_waiting(busy.daemon.machine, person="dana", agent="codex") == 1


def test_a_machine_stops_no_others_agents(busy: Kitchen) -> None:
    for unknown in ("gemini", "nobody"):
        with pytest.raises(Invalid):
            control.cancel_waiting(busy.daemon.machine, agent=unknown)
    assert control.cancel_waiting(busy.daemon.machine, person="nobody") == 0
    assert "cancelled" not in statuses(busy).values()


def test_who_comes_back_starts_with_nothing(kitchen: Kitchen) -> None:
    always(kitchen)
    control.remove_member(kitchen.alice, kitchen.seat(kitchen.bob).pk)
    assert not Grant.objects.exists()
    assert Member.objects.get(room=kitchen.room, user=kitchen.bob).left_at is not None
