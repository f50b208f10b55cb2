"""How each agent of a room stands, as that room may know it: never what it does elsewhere."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db.models import Count, QuerySet
from django.utils import timezone

from approvals import reported
from approvals.models import Approval, Report, Turn
from messaging.models import Recipient
from rooms.access import ABSENT, seated, seated_agents
from rooms.errors import NotFound
from rooms.models import Agent, Connection, Member, Room, User

BY_HAND = timedelta(minutes=3)
"""How long after its last call an agent that somebody runs by hand counts as there."""
RUNTIMES = ("claude", "codex", "opencode", "gemini", "demo")


@dataclass(frozen=True, slots=True)
class Status:
    state: str
    """available, working, waiting, offline, asleep, paused, blocked or usage_limited."""
    words: str
    since: datetime | None = None
    mid_turn: bool = False
    """It waits for its owner in the middle of its work; else only a request to start does."""


@dataclass(frozen=True, slots=True)
class AgentLive:
    handle: str
    display_name: str
    runtime: str
    """claude, codex, opencode, gemini, demo; any other is ``agent``, so that no command line is told."""
    role: str
    state: str
    """available, busy, waiting, blocked, usage_limited, asleep, offline or paused."""
    words: str
    since: datetime | None
    unread: int
    ticket: str
    note: str
    until: datetime | None
    owner: str


def live(seat: Member) -> list[AgentLive]:
    """Every agent of the caller's room, itself included, by handle."""
    if not seated_agents(seat.room_id).filter(pk=seat.pk, agent__retired_at=None).exists():
        raise NotFound(ABSENT)
    seats = _agents(seat.room_id)
    found, reports = standings(seats), reported.standing([other.pk for other in seats])
    unread = {
        row["member"]: row["unread"]
        for row in Recipient.objects.filter(member__in=seats, read_at=None)
        .values("member")
        .annotate(unread=Count("pk"))
    }
    people = [other.agent.owner_id for other in seats if other.agent]
    owners = dict(Member.objects.filter(room=seat.room_id, user__in=people).values_list("user_id", "handle"))
    return [
        _live(other, other.agent, found[other.pk], reports.get(other.pk), unread.get(other.pk, 0), owners)
        for other in seats
        if other.agent is not None
    ]


def _live(
    seat: Member, agent: Agent, status: Status, report: Report | None, unread: int, owners: dict[int, str]
) -> AgentLive:
    return AgentLive(
        handle=seat.handle,
        display_name=seat.name or agent.display_name,
        runtime=agent.runtime if agent.runtime in RUNTIMES else "agent",
        role=agent.role,
        state="busy" if status.state == "working" else status.state,
        words=status.words,
        since=status.since,
        unread=unread,
        ticket=report.ticket if report else "",
        note=report.note if report else "",
        until=report.until if report and report.status == "usage_limited" else None,
        owner=owners.get(agent.owner_id, agent.owner.username),
    )


def statuses(room: Room) -> dict[int, Status]:
    """Each seated agent's status in this room, by the seat's id."""
    return standings(_agents(room.pk))


def _agents(room_id: int) -> list[Member]:
    return list(
        seated(room_id)
        .filter(is_agent=True, agent__isnull=False)
        .select_related("agent__machine", "agent__owner")
        .order_by("handle")
    )


def standings(seats: Sequence[Member]) -> dict[int, Status]:
    """How the agents on these seats of one room stand there, by the seat's id."""
    if not seats:
        return {}
    room, agents = seats[0].room_id, [seat.agent_id for seat in seats]
    turns = Turn.objects.filter(room=room, agent__in=agents, status="running")
    running = dict(turns.values_list("agent_id", "started_at"))
    stuck, asked = _waits(Approval.objects.filter(turn__room=room, turn__agent__in=agents))
    reports = reported.standing([seat.pk for seat in seats])
    by_hand = set(
        Connection.objects.filter(
            room=room, agent__in=agents, machine=None, revoked_at=None, last_used_at__gt=timezone.now() - BY_HAND
        ).values_list("agent_id", flat=True)
    )
    return {
        seat.pk: _status(
            seat.agent, running.get(seat.agent_id or 0), stuck.get(seat.agent_id or 0), asked.get(seat.agent_id or 0),
            reports.get(seat.pk),
            by_hand=seat.agent_id in by_hand,
        )
        for seat in seats
        if seat.agent
    }  # fmt: skip


def _waits(open_: QuerySet[Approval]) -> tuple[dict[int, datetime], dict[int, datetime]]:
    """By agent, since when its work waits for its owner, and since when a request to start it does.

    What it asked its owner and went on is neither.
    """
    rows = open_.filter(verdict="").exclude(subject=Approval.Subject.ASK).order_by("-pk")
    at_work = rows.filter(turn__status="running")
    others = rows.exclude(turn__status="running")
    return dict(at_work.values_list("turn__agent", "created_at")), dict(others.values_list("turn__agent", "created_at"))


def _status(
    agent: Agent,
    running: datetime | None,
    stuck: datetime | None,
    asked: datetime | None,
    report: Report | None = None,
    *,
    by_hand: bool = False,
) -> Status:
    machine = agent.machine
    here = machine is not None and machine.connected
    if machine is None or not (here or by_hand):
        return Status("offline", "offline", machine.last_seen_at if machine else None)
    if stuck:
        return Status("waiting", f"waiting for {agent.owner.username}", stuck, mid_turn=True)
    if running:
        return Status("working", "working", running)
    if agent.paused_at is not None:
        return Status("paused", "paused", agent.paused_at)
    if report is not None:
        return Status(report.status, _words(report), report.at)
    if here and str(agent.pk) in machine.problems:
        return Status("blocked", "blocked")
    if asked:
        return Status("waiting", f"waiting for {agent.owner.username}", asked)
    if agent.pk in machine.asleep and not by_hand:
        return Status("asleep", "asleep")
    return Status("available", "available")


def _words(report: Report) -> str:
    if report.status == "usage_limited":
        return f"usage-limited until {report.until:%Y-%m-%d %H:%M %Z}" if report.until else "usage-limited"
    return report.status


def agent_status(owner: User, agent: Agent) -> Status:
    """An agent's status over all rooms, for its owner alone, with the reason when it can't run."""
    turns = Turn.objects.filter(agent=agent)
    waiting = turns.filter(status__in=Turn.WAITING).count()
    running = turns.filter(status="running").values_list("started_at", flat=True).first()
    stuck, asked = _waits(Approval.objects.filter(turn__agent=agent))
    status = _status(agent, running, stuck.get(agent.pk), asked.get(agent.pk))
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
