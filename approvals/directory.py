"""How each agent of a room stands, as that room may know it: never what it does elsewhere."""

from __future__ import annotations

from dataclasses import dataclass

from approvals.models import Approval, Turn
from rooms.access import seated
from rooms.models import Agent, Member, Room, User


@dataclass(frozen=True, slots=True)
class Status:
    state: str
    """available, working, waiting, offline, asleep, paused or blocked."""
    words: str


def statuses(room: Room) -> dict[int, Status]:
    """Each seated agent's status in this room, by the seat's id."""
    seats = list(
        seated(room).filter(is_agent=True, agent__isnull=False).select_related("agent__machine", "agent__owner")
    )
    agents = [seat.agent_id for seat in seats]
    running = set(Turn.objects.filter(room=room, agent__in=agents, status="running").values_list("agent_id", flat=True))
    waits = set(
        Approval.objects.filter(verdict="", turn__room=room, turn__agent__in=agents).values_list(
            "turn__agent_id", flat=True
        )
    )
    return {
        seat.pk: _status(seat.agent, seat.agent_id in running, seat.agent_id in waits) for seat in seats if seat.agent
    }


def _status(agent: Agent, running: bool, waits: bool) -> Status:
    if agent.machine is None or not agent.machine.connected:
        return Status("offline", "offline")
    if waits:
        return Status("waiting", f"waiting for {agent.owner.username}")
    if running:
        return Status("working", "working")
    if agent.paused_at is not None:
        return Status("paused", "paused")
    if str(agent.pk) in agent.machine.problems:
        return Status("blocked", "blocked")
    if agent.pk in agent.machine.asleep:
        return Status("asleep", "asleep")
    return Status("available", "available")


def agent_status(owner: User, agent: Agent) -> Status:
    """An agent's status over all rooms, for its owner alone, with the reason when it can't run."""
    turns = Turn.objects.filter(agent=agent)
    waiting = turns.filter(status__in=Turn.WAITING).count()
    status = _status(
        agent, turns.filter(status="running").exists(), Approval.objects.filter(verdict="", turn__agent=agent).exists()
    )
    if status.state == "waiting":
        return Status("waiting", "waiting for you" if agent.owner_id == owner.pk else status.words)
    if status.state == "blocked" and agent.machine is not None:
        return Status("blocked", f"blocked: {agent.machine.problems[str(agent.pk)]}")
    if status.state == "offline" and waiting:
        return Status("offline", f"offline, {waiting} {'request waits' if waiting == 1 else 'requests wait'}")
    return status


def seats_of(agent: Agent) -> list[Member]:
    """Where an agent sits now, for its owner."""
    return list(Member.objects.filter(agent=agent, left_at=None).select_related("room").order_by("room__name"))
