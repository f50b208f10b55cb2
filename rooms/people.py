"""Who is in a room, as one member may see it: owners, status, and what may be asked of whom."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from django.db.models import Q

from approvals import consent, directory
from approvals.models import Grant
from rooms import access, membership
from rooms.models import Agent, Member, Room

RUNTIMES = {"claude": "Claude Code", "codex": "Codex", "opencode": "OpenCode", "gemini": "Gemini", "demo": "demo agent"}
LEVELS = {Grant.Level.ALWAYS: "always", Grant.Level.ASK: "asks first", Grant.Level.DENY: "never"}


@dataclass(frozen=True, slots=True)
class AgentSeat:
    seat: Member
    agent: Agent
    mine: bool
    runtime: str
    status: directory.Status
    may: str
    """What the reader may ask of it, in words."""
    removable: bool


@dataclass(frozen=True, slots=True)
class PersonSeat:
    seat: Member
    me: bool
    owns_room: bool
    grants: list[str]
    """What this person may start on the reader's agents, in words."""
    until: datetime | None
    removable: bool


@dataclass(frozen=True, slots=True)
class Column:
    room: Room
    me: Member
    owns_room: bool
    agents: list[AgentSeat]
    people: list[PersonSeat]
    addable: list[Agent]
    """The reader's own agents that could be brought in."""
    waits_for: str
    """Whose word a direct room waits for; empty if for nobody's."""


def runtime_name(agent: Agent) -> str:
    """What others may know of the runtime: a command line of one's own may say too much."""
    return RUNTIMES.get(agent.runtime, "another agent")


def column(me: Member) -> Column:
    """The people's column of ``me.room``, for that member."""
    room = me.room
    holders = access.seated(room).select_related("user", "agent__owner", "agent__machine")
    seats = list(holders.order_by("joined_at", "pk"))
    statuses = directory.statuses(room)
    owns = room.owner_id == me.user_id
    agents = [
        AgentSeat(
            seat=seat,
            agent=seat.agent,
            mine=seat.agent.owner_id == me.user_id,
            runtime=runtime_name(seat.agent),
            status=_status(statuses.get(seat.pk), mine=seat.agent.owner_id == me.user_id),
            may=_may(seat.agent, me),
            removable=owns or seat.agent.owner_id == me.user_id,
        )
        for seat in seats
        if seat.agent is not None
    ]
    people = [
        PersonSeat(
            seat=seat,
            me=seat.pk == me.pk,
            owns_room=seat.user_id == room.owner_id,
            grants=_grants(seat, [item for item in agents if item.mine and item.agent.owner_id != seat.user_id]),
            until=seat.expires_at,
            removable=owns and seat.pk != me.pk and seat.role != Member.Role.KEEPER,
        )
        for seat in seats
        if seat.user is not None
    ]
    return Column(room, me, owns, agents, people, _addable(me, agents), _waits_for(room))


def _status(status: directory.Status | None, *, mine: bool) -> directory.Status:
    if status is None:
        return directory.Status("offline", "offline")
    return directory.Status("waiting", "waiting for you") if mine and status.state == "waiting" else status


def _may(agent: Agent, me: Member) -> str:
    if agent.owner_id == me.user_id:
        return ""
    if not me.may_ask:
        return ""
    level = consent.level(agent, me)
    if level == Grant.Level.ALWAYS:
        return "starts at once for you"
    if level == Grant.Level.DENY:
        return "does not start for you"
    return f"asks {agent.owner.username} first"


def _grants(seat: Member, mine: list[AgentSeat]) -> list[str]:
    if not mine:
        return []
    said = set(
        Grant.objects.filter(agent__in=[item.agent for item in mine])
        .filter(Q(member=seat) | Q(person=seat.user))
        .values_list("agent_id", flat=True)
    )
    return [f"{item.seat.handle}: {LEVELS[consent.level(item.agent, seat)]}" for item in mine if item.agent.pk in said]


def _addable(me: Member, agents: list[AgentSeat]) -> list[Agent]:
    if me.user is None or me.role == Member.Role.VIEWER or me.room.archived_at is not None:
        return []
    mine = Agent.objects.filter(owner=me.user, retired_at=None).exclude(pk__in=[item.agent.pk for item in agents])
    if me.room.kind == Room.Kind.DIRECT:
        mine = mine.filter(direct_rooms=me.room)
    elif me.room.kind == Room.Kind.ACCOUNT:
        return []
    return list(mine.order_by("handle"))


def _waits_for(room: Room) -> str:
    if not membership.waits_for_owner(room) or room.direct_agent is None:
        return ""
    return room.direct_agent.owner.username
