"""The token that a machine gives one agent's session in one room, so that it can use its mailbox."""

from __future__ import annotations

from rooms import access
from rooms.errors import Conflict, NotFound
from rooms.models import Connection, Machine
from rooms.rules import rule


@rule
def connect_session(machine: Machine, *, agent_id: int, room_id: int, token_hash: str) -> Connection:
    """Bind a token to machine, agent and room. The one before it, of the same three, ends; the same again is no harm.

    It ends with the machine, with the agent's seat and with the agent.
    """
    machine = access.lock_machine(machine.pk)
    seat = (
        access.seated(room_id)
        .filter(agent=agent_id, agent__machine=machine, agent__owner=machine.owner_id, agent__retired_at=None)
        .select_related("agent")
        .first()
    )
    if seat is None or machine.revoked_at is not None:
        raise NotFound(access.ABSENT)
    same = Connection.objects.filter(
        kind=Connection.Kind.AGENT, machine=machine, user=machine.owner_id, agent=agent_id, room=room_id
    )
    if Connection.objects.filter(token_hash=token_hash).exclude(pk__in=same.values("pk")).exists():
        raise Conflict("That token is in use. Make another one.", field="token_hash")
    if (known := same.filter(token_hash=token_hash, revoked_at=None).first()) is not None:
        return known
    same.delete()
    return Connection.objects.create(
        kind=Connection.Kind.AGENT, user_id=machine.owner_id, agent_id=agent_id, room_id=room_id, machine=machine,
        name=f"{seat.handle} on {machine.name}"[:60], token_hash=token_hash,
    )  # fmt: skip
