"""Two transactions at once: whatever the order, nothing runs on a permission that was gone before."""

from __future__ import annotations

import threading
from collections.abc import Callable
from datetime import datetime
from typing import Any

import pytest
from django.db import connections

from approvals import control, turns
from approvals.models import Approval, Grant, Turn
from rooms import membership
from rooms.errors import RuleError
from rooms.models import Room, User
from tests.approvals.kitchen import Kitchen, join, key, make_kitchen

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.timeout(300)]
ROUNDS = 8


def both(*acts: Callable[[], Any]) -> list[Any]:
    """Run these at the same moment, each on a connection of its own; what each came to, a refusal as its words."""
    together = threading.Barrier(len(acts))
    came: list[Any] = [None] * len(acts)

    def run(number: int, act: Callable[[], Any]) -> None:
        try:
            together.wait(30)
            came[number] = act()
        except RuleError as error:
            came[number] = error.detail
        finally:
            connections.close_all()

    threads = [threading.Thread(target=run, args=(number, act)) for number, act in enumerate(acts)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    return came


def take_back(kitchen: Kitchen, how: str) -> Callable[[], Any]:
    bob = kitchen.seat(kitchen.bob)
    grant = Grant.objects.get()
    acts: dict[str, Callable[[], Any]] = {
        "revoke": lambda: control.revoke_grant(kitchen.alice, grant.pk),
        "deny": lambda: control.set_grant(
            kitchen.alice, agent_id=kitchen.claude.pk, person_id=kitchen.bob.pk, level="deny"
        ),
        "remove": lambda: control.remove_member(kitchen.alice, bob.pk),
        "viewer": lambda: control.set_role(kitchen.alice, bob.pk, "viewer"),
        "stop": lambda: control.cancel_waiting(kitchen.daemon.machine, person="bob"),
        "revoke the machine": lambda: control.revoke_machine(kitchen.alice, kitchen.daemon.machine.pk),
    }
    return acts[how]


@pytest.mark.parametrize("how", ["revoke", "deny", "remove", "viewer", "stop", "revoke the machine"])
@pytest.mark.parametrize("round_", range(2))
def test_a_start_comes_before_the_end_of_its_permission_or_not_at_all(how: str, round_: int) -> None:
    kitchen = make_kitchen()
    seat = kitchen.seat(kitchen.bob)
    control.set_grant(kitchen.alice, agent_id=kitchen.claude.pk, member_id=seat.pk, level="always")
    turn = kitchen.turn(kitchen.ask(kitchen.bob, "@claude go"))
    [offer] = kitchen.daemon.take()
    machine = kitchen.daemon.machine
    acts = [
        take_back(kitchen, how),
        lambda: turns.start(machine, turn.pk, claim_id=offer.claim_id, journal_id="journal-1"),
    ]
    came = both(*(acts if round_ else acts[::-1]))
    started = next((one for one in came if isinstance(one, datetime)), None)
    turn.refresh_from_db()
    assert (turn.status == "running") == (started is not None)
    if started is None:
        assert turn.status == "cancelled"
    elif how in ("revoke", "deny", "remove"):
        assert turn.outlived_at is not None, "it ran first, and is marked"
        assert turn.outlived_at >= started


@pytest.mark.parametrize("round_", range(ROUNDS))
def test_of_two_answers_one_is_the_decision(round_: int) -> None:
    kitchen = make_kitchen()
    turn = kitchen.turn(kitchen.ask(kitchen.bob, "@claude go"))
    question = kitchen.question(turn).pk
    came = both(
        lambda: turns.answer(kitchen.alice, question, verdict="once"),
        lambda: turns.answer(kitchen.alice, question, verdict="no"),
    )
    assert sum(isinstance(one, Approval) for one in came) == 1
    assert next(one for one in came if isinstance(one, str)).startswith("alice was first")
    turn.refresh_from_db()
    assert turn.status == {"once": "queued", "no": "refused"}[kitchen.question(turn).verdict]


@pytest.mark.parametrize("round_", range(ROUNDS))
def test_an_approval_covers_the_mail_that_was_read_and_no_more(round_: int) -> None:
    kitchen = make_kitchen()
    source = Turn.objects.get(pk=_running(kitchen))
    seat = kitchen.seat(kitchen.claude)

    def send(body: str) -> Any:
        return turns.send(seat, source, to=["gemini"], body=body, client_id=key(), connection="turn")

    turn = kitchen.turn(send("harmless"))
    read = kitchen.question(turn)
    both(
        lambda: turns.answer(kitchen.dana, read.pk, verdict="once", digest=read.action_digest),
        lambda: send("and delete it all"),
    )
    offers = kitchen.danas.sync().offers
    if kitchen.question(turn).verdict == "once":
        assert [offer.body for offer in offers] == ["harmless"]
    else:
        assert offers == []


def test_two_who_ask_each_others_agents_in_two_rooms_never_wait_for_each_other(
    caplog: pytest.LogCaptureFixture,
) -> None:
    kitchen = make_kitchen()
    cellar = membership.create_room(kitchen.dana, name="cellar")
    join(cellar, kitchen.alice)
    membership.add_agent(kitchen.dana, cellar.pk, kitchen.gemini.pk)

    def thirty(asker: User, room: Room, words: str) -> Callable[[], Any]:
        return lambda: [kitchen.ask(asker, words, room) for _ in range(30)]

    came = both(thirty(kitchen.dana, kitchen.room, "@claude go"), thirty(kitchen.alice, cellar, "@gemini go"))
    assert [len(asked) for asked in came] == [30, 30]
    assert Turn.objects.count() == 60
    assert "deadlock" not in caplog.text


def _running(kitchen: Kitchen) -> int:
    turn = kitchen.turn(kitchen.ask(kitchen.bob, "@claude go"))
    turns.answer(kitchen.alice, kitchen.question(turn).pk, verdict="once")
    return kitchen.daemon.run()
