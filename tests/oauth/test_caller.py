"""Whose token it is, and what is left of it when something behind it ends."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta

import pytest
from django.utils import timezone

from agentroom import auth
from agentroom.auth import Caller, Unauthorised
from approvals import control
from rooms import membership, tokens
from rooms.errors import NotFound
from rooms.models import Connection
from tests.approvals.kitchen import Kitchen


def bearer(token: str) -> str:
    return f"Bearer {token}"


def claudes(kitchen: Kitchen) -> str:
    return membership.connect(kitchen.alice, agent=kitchen.claude.pk, room=kitchen.room.pk, name="by hand")[1]


def of_the_machine(kitchen: Kitchen) -> str:
    """A token such as the daemon has made for claude in the kitchen."""
    token = claudes(kitchen)
    Connection.objects.filter(token_hash=tokens.digest(token)).update(machine=kitchen.daemon.machine)
    return token


def test_a_token_speaks_from_its_agents_seat(kitchen: Kitchen) -> None:
    caller = auth.caller(bearer(claudes(kitchen)))
    assert (caller.kind, caller.seat()) == ("agent", kitchen.seat(kitchen.claude))
    assert caller.seat().room == kitchen.room


def test_an_accounts_token_speaks_from_the_account_chat(kitchen: Kitchen) -> None:
    _, token = membership.connect_account(kitchen.bob, "script")
    caller = auth.caller(bearer(token))
    assert (caller.kind, caller.seat().user, caller.seat().room.kind) == ("account", kitchen.bob, "account")
    assert caller.turn() is None


@pytest.mark.parametrize("header", ["", "Bearer", "Bearer ", "Bearer arc_unknown", "Basic arc_unknown", "arc_unknown"])
def test_nobody_is_behind_an_unknown_token(header: str, kitchen: Kitchen) -> None:
    with pytest.raises(Unauthorised):
        auth.caller(header)


def test_a_machines_own_token_is_no_connection(kitchen: Kitchen) -> None:
    token = tokens.new(tokens.MACHINE)
    machine = kitchen.daemon.machine
    machine.token_hash = tokens.digest(token)
    machine.save()
    with pytest.raises(Unauthorised):
        auth.caller(bearer(token))


ENDS: dict[str, Callable[[Kitchen, Caller], object]] = {
    "it was revoked": lambda k, c: membership.revoke_connection(k.alice, c.connection.pk),
    "its agent left": lambda k, c: control.remove_member(k.alice, k.seat(k.claude).pk),
    "its agent is retired": lambda k, c: control.retire_agent(k.alice, k.claude.pk),
    "its user is inactive": lambda k, c: membership.set_active(k.alice, active=False),
    "its machine was revoked": lambda k, c: control.revoke_machine(k.alice, k.daemon.machine.pk),
}


@pytest.mark.parametrize("what", ENDS)
def test_it_ends_at_once_when(what: str, kitchen: Kitchen) -> None:
    token = of_the_machine(kitchen)
    caller = auth.caller(bearer(token))
    ENDS[what](kitchen, caller)
    with pytest.raises(Unauthorised):
        auth.caller(bearer(token))
    with pytest.raises(NotFound):
        caller.seat()


def test_an_ended_guest_seat_ends_it_without_anybody_sweeping(kitchen: Kitchen) -> None:
    caller = auth.caller(bearer(claudes(kitchen)))
    seat = caller.seat()
    seat.expires_at = timezone.now() - timedelta(seconds=1)
    seat.save()
    with pytest.raises(NotFound):
        caller.seat()


def test_only_a_connection_that_the_machine_made_speaks_from_the_running_turn(kitchen: Kitchen) -> None:
    kitchen.ask(kitchen.alice, "@claude begin")
    running = kitchen.daemon.run()
    by_hand, machines = auth.caller(bearer(claudes(kitchen))), auth.caller(bearer(of_the_machine(kitchen)))
    assert by_hand.turn() is None
    turn = machines.turn()
    assert turn is not None
    assert turn.pk == running
    kitchen.daemon.end(running)
    assert machines.turn() is None


def test_the_turn_of_another_agent_is_not_its_turn(kitchen: Kitchen) -> None:
    kitchen.ask(kitchen.alice, "@codex begin")
    kitchen.daemon.run()
    assert auth.caller(bearer(of_the_machine(kitchen))).turn() is None


def test_its_last_use_is_noted_to_the_minute(kitchen: Kitchen) -> None:
    token = claudes(kitchen)
    found = Connection.objects.filter(token_hash=tokens.digest(token))
    auth.caller(bearer(token))
    first = found.get().last_used_at
    assert first is not None
    auth.caller(bearer(token))
    assert found.get().last_used_at == first
    found.update(last_used_at=first - timedelta(minutes=2))
    auth.caller(bearer(token))
    assert found.get().last_used_at not in (None, first - timedelta(minutes=2))
