"""How agents say that they stand, and how a room's directory shows them."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Literal

import pytest
from django.utils import timezone

from agentroom_machine import wire
from approvals import control, directory, mailbox
from messaging.models import Entry
from rooms import membership
from rooms.errors import Invalid, NotFound
from rooms.models import Agent, Connection, Machine
from tests.approvals.kitchen import Kitchen
from tests.mailbox.post import BY_HAND, allow, facts, now, read, send, works

Stands = Literal["working", "blocked", "usage_limited", "available"]


def report(
    kitchen: Kitchen,
    agent: Agent,
    status: Stands,
    note: str = "",
    *,
    turn: int | None = None,
    until: datetime | None = None,
    ticket: str = "",
) -> Entry:
    return mailbox.report_status(
        kitchen.seat(agent), now(turn), status=status, note=note, ticket=ticket, until=until, connection=BY_HAND
    )


def states(kitchen: Kitchen) -> dict[str, str]:
    return {agent.handle: agent.state for agent in directory.live(kitchen.seat(kitchen.claude))}


def test_the_directory_names_every_agent_of_the_room_and_no_person(kitchen: Kitchen) -> None:
    Agent.objects.filter(pk=kitchen.gemini.pk).update(role="Cooks", runtime="python /home/dana/secret.py")
    send(kitchen, kitchen.claude, None, "gemini")
    report(kitchen, kitchen.gemini, "blocked", "no salt", ticket="K-9")
    claude, codex, gemini = directory.live(kitchen.seat(kitchen.claude))
    assert [agent.handle for agent in (claude, codex, gemini)] == ["claude", "codex", "gemini"]
    assert (claude.runtime, claude.owner, claude.state, claude.unread) == ("demo", "alice", "available", 0)
    assert (gemini.owner, gemini.role, gemini.state, gemini.unread) == ("dana", "Cooks", "blocked", 1)
    assert (gemini.note, gemini.ticket) == ("no salt", "K-9")
    assert gemini.runtime == "agent", "a command line of her machine is nobody's business"
    assert gemini.since is not None


def test_the_states_of_the_directory(kitchen: Kitchen) -> None:
    turn = works(kitchen, kitchen.alice)
    assert states(kitchen) == {"claude": "busy", "codex": "available", "gemini": "available"}
    kitchen.daemon.tell(turn, wire.QuestionFact(key="q", subject="tool", title="Bake", action="bake", short="bake"))
    assert states(kitchen)["claude"] == "waiting"
    control.pause_agent(kitchen.alice, kitchen.codex.pk, paused=True)
    assert states(kitchen)["codex"] == "paused"
    kitchen.danas.asleep = [kitchen.gemini.pk]
    kitchen.danas.sync()
    assert states(kitchen)["gemini"] == "asleep"
    Machine.objects.filter(pk=kitchen.danas.machine.pk).update(last_seen_at=timezone.now() - timedelta(minutes=2))
    assert states(kitchen)["gemini"] == "offline"


def test_who_is_run_by_hand_is_there_while_it_calls(kitchen: Kitchen) -> None:
    Machine.objects.update(last_seen_at=timezone.now() - timedelta(hours=1))
    connection, _ = membership.connect(kitchen.dana, agent=kitchen.gemini.pk, room=kitchen.room.pk, name="by hand")
    assert states(kitchen)["gemini"] == "offline"
    Connection.objects.filter(pk=connection.pk).update(last_used_at=timezone.now())
    assert states(kitchen)["gemini"] == "available"


def test_work_in_another_room_shows_nowhere_else(kitchen: Kitchen) -> None:
    cellar = membership.create_room(kitchen.dana, name="cellar")
    membership.add_agent(kitchen.dana, cellar.pk, kitchen.gemini.pk)
    before = directory.live(kitchen.seat(kitchen.claude))
    kitchen.ask(kitchen.dana, "@gemini count", cellar)
    kitchen.danas.run()
    mailbox.report_status(kitchen.seat(kitchen.gemini, cellar), None, status="blocked", connection=BY_HAND)
    assert directory.live(kitchen.seat(kitchen.claude)) == before


def test_the_directory_is_for_who_sits_there(kitchen: Kitchen) -> None:
    seat = kitchen.seat(kitchen.gemini)
    control.remove_member(kitchen.dana, seat.pk)
    with pytest.raises(NotFound):
        directory.live(seat)
    with pytest.raises(NotFound):
        directory.live(kitchen.seat(kitchen.bob))
    assert "gemini" not in states(kitchen)


def test_a_report_is_a_line_in_the_room_and_the_same_again_is_none(kitchen: Kitchen) -> None:
    first, again = (report(kitchen, kitchen.codex, "blocked", "no key", ticket="K-1") for _ in range(2))
    assert first.pk == again.pk
    assert (first.kind, first.body, first.ticket) == ("status", "codex is blocked: no key", "K-1")
    assert report(kitchen, kitchen.codex, "available").pk != first.pk
    assert report(kitchen, kitchen.codex, "blocked", "no key", ticket="K-1").pk != first.pk


def test_a_blocked_agent_gets_its_mail_and_the_next_work_ends_it(kitchen: Kitchen) -> None:
    allow(kitchen, kitchen.gemini, kitchen.bob)
    report(kitchen, kitchen.gemini, "blocked", "no salt")
    send(kitchen, kitchen.claude, works(kitchen, kitchen.bob), "gemini", "here is salt")
    turn = kitchen.danas.run()
    kitchen.danas.end(turn)
    assert states(kitchen)["gemini"] == "available"


def test_mail_waits_until_a_limit_of_usage_is_over(kitchen: Kitchen) -> None:
    allow(kitchen, kitchen.gemini, kitchen.bob)
    until = timezone.now() + timedelta(hours=3)
    report(kitchen, kitchen.gemini, "usage_limited", until=until)
    entry = send(kitchen, kitchen.claude, works(kitchen, kitchen.bob), "gemini")
    assert kitchen.danas.sync().offers == []
    assert facts(entry)["gemini"][1].startswith(f"waiting: usage-limited until {until:%Y-%m-%d %H:%M}")
    real = timezone.now
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("django.utils.timezone.now", lambda: real() + timedelta(hours=4))
        kitchen.danas.hello()
        assert len(kitchen.danas.sync().offers) == 1


def test_it_says_itself_when_it_can_go_on(kitchen: Kitchen) -> None:
    allow(kitchen, kitchen.gemini, kitchen.bob)
    report(kitchen, kitchen.gemini, "usage_limited")
    send(kitchen, kitchen.claude, works(kitchen, kitchen.bob), "gemini")
    assert kitchen.danas.sync().offers == []
    report(kitchen, kitchen.gemini, "available")
    assert len(kitchen.danas.sync().offers) == 1


def test_an_offer_does_not_start_once_its_agent_said_that_it_works(kitchen: Kitchen) -> None:
    allow(kitchen, kitchen.gemini, kitchen.bob)
    send(kitchen, kitchen.claude, works(kitchen, kitchen.bob), "gemini")
    [offer] = kitchen.danas.take()
    report(kitchen, kitchen.gemini, "working", "by hand")
    assert kitchen.danas.start(offer) == "Its agent takes no mail now."
    assert kitchen.danas.sync().offers == []
    kitchen.ask(kitchen.dana, "@gemini stop that")
    assert [other.cause for other in kitchen.danas.sync().offers] == ["message"], "people's requests don't wait for it"


def test_a_phase_of_a_turn_is_over_with_the_turn(kitchen: Kitchen) -> None:
    turn = works(kitchen, kitchen.alice)
    report(kitchen, kitchen.claude, "working", "testing", turn=turn)
    [claude] = [agent for agent in directory.live(kitchen.seat(kitchen.claude)) if agent.handle == "claude"]
    assert (claude.state, claude.note) == ("busy", "testing")
    kitchen.daemon.end(turn)
    [claude] = [agent for agent in directory.live(kitchen.seat(kitchen.claude)) if agent.handle == "claude"]
    assert (claude.state, claude.note) == ("available", "")


@pytest.mark.parametrize(
    "given",
    [
        {"status": "asleep"},
        {"status": "blocked", "note": "x" * 501},
        {"status": "usage_limited", "until": datetime(2020, 1, 1, tzinfo=timezone.get_default_timezone())},
        {"status": "usage_limited", "until": datetime(2100, 1, 1)},  # noqa: DTZ001
    ],
)
def test_what_does_not_fit_is_refused(kitchen: Kitchen, given: dict[str, object]) -> None:
    with pytest.raises(Invalid):
        mailbox.report_status(kitchen.seat(kitchen.codex), None, connection=BY_HAND, **given)  # type: ignore[arg-type]
    assert read(kitchen, kitchen.codex).messages == []
