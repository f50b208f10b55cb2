from __future__ import annotations

import pytest

from approvals import control
from rooms import membership, tokens
from rooms.errors import Invalid, NotFound
from rooms.models import Connection
from tests.approvals.kitchen import Kitchen


def test_a_token_speaks_as_ones_agent_in_one_room(kitchen: Kitchen) -> None:
    made, token = membership.connect(kitchen.alice, agent=kitchen.claude.pk, room=kitchen.room.pk, name="terminal")
    assert (made.kind, made.agent, made.room, made.user) == ("agent", kitchen.claude, kitchen.room, kitchen.alice)
    assert made.token_hash == tokens.digest(token)
    assert token not in str(list(Connection.objects.values()))


def test_nobody_else_makes_one_for_it(kitchen: Kitchen) -> None:
    for other in (kitchen.bob, kitchen.dana, kitchen.charlie):
        with pytest.raises(NotFound):
            membership.connect(other, agent=kitchen.claude.pk, room=kitchen.room.pk, name="mine")


def test_an_agent_has_tokens_only_where_it_sits(kitchen: Kitchen) -> None:
    pantry = membership.create_room(kitchen.alice, name="pantry")
    with pytest.raises(NotFound):
        membership.connect(kitchen.alice, agent=kitchen.claude.pk, room=pantry.pk, name="there")
    foreign = membership.create_room(kitchen.dana, name="foreign")
    with pytest.raises(NotFound):
        membership.connect(kitchen.alice, agent=kitchen.claude.pk, room=foreign.pk, name="there")


def test_a_connection_has_a_name(kitchen: Kitchen) -> None:
    with pytest.raises(Invalid):
        membership.connect_account(kitchen.bob, " \n ")


def test_only_its_person_revokes_a_connection(kitchen: Kitchen) -> None:
    made, _ = membership.connect_account(kitchen.bob, "script")
    for other in (kitchen.alice, kitchen.charlie):
        with pytest.raises(NotFound):
            membership.revoke_connection(other, made.pk)
    revoked = membership.revoke_connection(kitchen.bob, made.pk)
    assert revoked.revoked_at is not None
    assert membership.revoke_connection(kitchen.bob, made.pk).revoked_at == revoked.revoked_at


def test_a_revoked_machine_takes_its_connection_along(kitchen: Kitchen) -> None:
    machine = kitchen.daemon.machine
    control.revoke_machine(kitchen.alice, machine.pk)
    assert Connection.objects.get(machine=machine).revoked_at is not None
