"""Ending turns: one, or all that a machine has."""

from __future__ import annotations

from django.utils import timezone

from approvals import audit, turns
from approvals.control.waiting import cancel_all
from approvals.models import Turn
from messaging import nudge
from rooms.access import lock_rooms
from rooms.errors import Conflict, Invalid, Refused
from rooms.models import Machine, User
from rooms.rules import rule


@rule
def stop_turn(user: User, turn_id: int) -> Turn:
    """The asker's or owner's Stop: what waits is cancelled, what runs ends when its machine hears it."""
    turn = turns.own_turn(user, turn_id)
    if turns.end(turn, Turn.Status.CANCELLED, by=user):
        return turn
    if not Turn.objects.filter(pk=turn.pk, status=Turn.Status.RUNNING, stop_asked_at=None).update(
        stop_asked_at=timezone.now(), ended_by=user
    ):
        turn.refresh_from_db()
        if turn.status == Turn.Status.RUNNING:
            return turn
        raise Conflict("It has ended already.")
    turns.tell(turn, "stopping", by=user.username)
    audit.write(
        turn.agent.owner_id,
        "stop",
        who=user.username,
        room=turn.room.name,
        agent=turn.agent,
        about=f"message {turn.entry.seq}",
        decision="stopping",
    )
    if turn.machine_id:
        nudge.machine(turn.machine_id)
    return turn


@rule
def close_turn(owner: User, turn_id: int) -> Turn:
    """The agent's owner ends a turn whose machine does not come back: interrupted, outcome unknown."""
    turn = turns.own_turn(owner, turn_id)
    if turn.agent.owner_id != owner.pk:
        raise Refused("Only the agent's owner can close it.")
    if turn.machine is not None and turn.machine.connected:
        raise Refused("Its machine is connected: press Stop, and it ends there.")
    Turn.objects.filter(pk=turn.pk, status=Turn.Status.RUNNING).update(ended_by=owner)
    if not turns.finish(
        turn, Turn.Status.INTERRUPTED, reason=f"Closed by {owner.username}: its machine did not come back."
    ):
        raise Conflict("It does not run.")
    return turn


@rule
def stop_machine(machine: Machine, *, now: bool) -> tuple[int, int]:
    """`agentroom stop`: cancel what waits for this machine's agents; with ``now`` ask what runs to end as well."""
    waiting = Turn.objects.filter(agent__machine=machine, status__in=Turn.WAITING)
    running = Turn.objects.filter(machine=machine, status=Turn.Status.RUNNING)
    lock_rooms([*waiting.values_list("room_id", flat=True), *running.values_list("room_id", flat=True)])
    cancelled = cancel_all(waiting, by=machine.owner, note=f"{machine.name} was stopped by its owner.")
    stopping = 0
    if now:
        stopping = running.filter(stop_asked_at=None).update(stop_asked_at=timezone.now(), ended_by=machine.owner)
        nudge.machine(machine.pk)
    audit.write(
        machine.owner, "stop machine", who=machine.owner.username, about=machine.name,
        decision=f"{cancelled} cancelled, {stopping} stopping",
    )  # fmt: skip
    return cancelled, stopping


@rule
def cancel_waiting(machine: Machine, *, person: str = "", agent: str = "") -> int:
    """`agentroom stop --person X | --agent Y`: cancel what waits for this machine's agents so.

    What runs goes on. Returns how many were cancelled.
    """
    waiting = Turn.objects.filter(agent__machine=machine, status__in=Turn.WAITING)
    if agent:
        if not machine.agents.filter(handle=agent, retired_at=None).exists():
            raise Invalid(f"No agent of this machine is called {agent}.", field="agent")
        waiting = waiting.filter(agent__handle=agent, agent__retired_at=None)
    if person:
        waiting = waiting.filter(principal__username=person)
    lock_rooms(waiting.values_list("room_id", flat=True))
    cancelled = cancel_all(waiting, by=machine.owner, note=f"{machine.owner.username} stopped what waits.")
    whose = " ".join(word for word in (agent and f"agent {agent}", person and f"person {person}") if word)
    audit.write(
        machine.owner, "stop", who=machine.owner.username, about=f"{machine.name}: {whose}",
        decision=f"{cancelled} cancelled",
    )  # fmt: skip
    return cancelled
