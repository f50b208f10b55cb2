"""Home: what waits for me, my agents, my machines, who may do what."""

from __future__ import annotations

from dataclasses import dataclass

from django.conf import settings
from django.db.models import Count, Exists, OuterRef, Q, QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

from approvals import consent, directory, mailbox
from approvals.models import Approval, Grant, Turn
from messaging.render.excerpt import Excerpt, excerpt
from rooms import membership
from rooms.models import Agent, Machine, Room, User
from rooms.people import runtime_name
from rooms.views.actor import person

RECENT = 10
WAITING = 20
"""Questions that stand on the page; after one is answered, the next comes up."""


@dataclass(frozen=True, slots=True)
class OwnAgent:
    agent: Agent
    runtime: str
    rooms: list[str]
    status: directory.Status
    mail: list[mailbox.Waits]
    """What waits for it and why, by room."""


@dataclass(frozen=True, slots=True)
class Waiting:
    approval: Approval
    action: Excerpt


def home(request: HttpRequest) -> HttpResponse:
    user = person(request)
    machines = (
        user.machines.filter(revoked_at=None)
        .annotate(
            count=Count("agents", filter=Q(agents__retired_at=None), distinct=True),
            running=Count("turns", filter=Q(turns__status="running"), distinct=True),
        )
        .order_by("name")
    )
    questions = list(consent.waiting_for(user))
    requests = list(membership.direct_requests(user))
    context = {
        "questions": [Waiting(asked, excerpt(asked.action)) for asked in questions[:WAITING]],
        "more_questions": questions[WAITING:],
        # A deputy answers for rooms that they may not read.
        "readable": set(membership.rooms_of(user).values_list("pk", flat=True)),
        "requests": requests,
        "waiting": len(questions) + len(requests),
        "agents": own_agents(user),
        "machines": machines,
        "grants": own_grants(user),
        "turns": recent_turns(user),
        "archived": Room.objects.filter(owner=user, archived_at__isnull=False, kind=Room.Kind.ROOM).order_by("name"),
        "first_run": not Machine.objects.filter(owner=user).exists(),
        "public_url": settings.PUBLIC_URL,
    }
    return render(request, "rooms/home.html", context)


def rail(request: HttpRequest) -> HttpResponse:
    """The rail alone, as open pages fetch it again."""
    person(request)
    return render(request, "_rail.html")


def own_agents(user: User) -> list[OwnAgent]:
    mine = Agent.objects.filter(owner=user, retired_at=None).select_related("machine", "owner").order_by("handle")
    agents = list(mine)
    waiting = mailbox.waits(agents)
    return [
        OwnAgent(
            agent,
            runtime_name(agent),
            [seat.room.name for seat in directory.seats_of(agent)],
            directory.agent_status(user, agent),
            waiting.get(agent.pk, []),
        )
        for agent in agents
    ]


def own_grants(user: User) -> QuerySet[Grant]:
    """What this person granted, to whom, where. A *never* counts again when who has left comes back."""
    return (
        Grant.objects.filter(agent__owner=user, agent__retired_at=None)
        .filter(Q(member__left_at=None) | Q(level=Grant.Level.DENY))
        .select_related("agent", "member__room", "member__user", "person")
        .order_by("agent__handle", "pk")
    )


def recent_turns(user: User) -> QuerySet[Turn]:
    """The newest turns of this person, or of their agents, in rooms that they still read."""
    return (
        Turn.objects.filter(Q(agent__owner=user) | Q(principal=user), room__in=membership.rooms_of(user))
        .annotate(asks=Exists(Approval.objects.filter(turn=OuterRef("pk"), verdict="")))
        .select_related("agent__owner", "machine", "principal", "room", "entry", "ended_by")
        .order_by("-pk")[:RECENT]
    )
