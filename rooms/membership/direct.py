"""A room of two: a person and an agent, with the agent's owner as keeper when that is somebody else."""

from __future__ import annotations

from datetime import timedelta

from django.db.models import Exists, OuterRef, QuerySet
from django.utils import timezone

from messaging import nudge
from messaging.models import Entry
from rooms import access
from rooms.errors import NotFound, Refused
from rooms.membership import words
from rooms.membership.agents import add_agent
from rooms.membership.rooms import say, seats_of
from rooms.models import Agent, Member, Room, User
from rooms.rules import rule

ASK_AGAIN_AFTER = timedelta(days=1)


def reachable_agent(user: User, agent_id: int) -> Agent:
    """An agent of one's own, or one that sits in a room with oneself; NotFound for every other."""
    agent = Agent.objects.select_related("owner").filter(pk=agent_id, retired_at=None).first()
    if agent is None or (agent.owner_id != user.pk and not _shared(user, agent).exists()):
        raise NotFound(access.ABSENT)
    return agent


@rule
def direct_room(user: User, agent_id: int) -> Room:
    """The direct room of a person and an agent. Somebody else's agent comes in when its owner says so."""
    agent = reachable_agent(user, agent_id)
    mine = agent.owner_id == user.pk
    room = Room.objects.filter(owner=user, kind=Room.Kind.DIRECT, direct_agent=agent).first()
    if room is not None and room.archived_at is None:
        if mine:
            add_agent(user, room.pk, agent.pk)
        return room
    if not mine and not _shared(user, agent).exclude(role=Member.Role.VIEWER).exists():
        raise Refused("You only read where this agent sits. The room's owner can let you write.")
    if room is None:
        room = Room.objects.create(
            owner=user, kind=Room.Kind.DIRECT, direct_agent=agent, name=f"{user.username} and {agent.handle}"
        )
        _seat(room, user, Member.Role.MEMBER)
        if not mine:
            _seat(room, agent.owner, Member.Role.KEEPER)
    else:
        _open_again(room, user, agent)
    if mine:
        add_agent(user, room.pk, agent.pk)
    else:
        seat = access.member_for(user, room.pk)
        text = f"{user.username} would like to talk with {agent.handle} here. {agent.owner.username} decides."
        say(seat, Entry.Kind.CONTROL, text, what="direct_asked", by=user.username)
    nudge.user(user.pk)
    nudge.user(agent.owner_id)
    return room


def direct_requests(owner: User) -> QuerySet[Room]:
    """Direct rooms that wait for this owner's word, oldest first."""
    seated = Member.objects.filter(room=OuterRef("pk"), agent=OuterRef("direct_agent"))
    return (
        Room.objects.filter(kind=Room.Kind.DIRECT, archived_at=None, direct_agent__owner=owner)
        .filter(direct_agent__retired_at=None)
        .exclude(owner=owner)
        .exclude(Exists(seated))
        .select_related("owner", "direct_agent")
        .order_by("created_at")
    )


def waits_for_owner(room: Room) -> bool:
    """Whether a direct room's agent was never let in."""
    if room.kind != Room.Kind.DIRECT or room.archived_at is not None or room.direct_agent_id is None:
        return False
    return not Member.objects.filter(room=room, agent=room.direct_agent_id).exists()


def check_not_declined(room: Room) -> None:
    """Refused while a direct room that its agent's owner turned down can't be asked for again."""
    since = timezone.now() - ASK_AGAIN_AFTER
    if room.archived_at is None or room.archived_at <= since or room.direct_agent is None:
        return
    told = Entry.objects.filter(room=room, kind=Entry.Kind.CONTROL, created_at__gt=since, data__what="declined")
    if told.exists():
        raise Refused(f"{room.direct_agent.owner.username} declined. This room stays closed until you can ask again.")


def _open_again(room: Room, user: User, agent: Agent) -> None:
    if room.archived_at is not None and timezone.now() - room.archived_at < ASK_AGAIN_AFTER:
        raise Refused(f"{agent.owner.username} declined. You can ask again tomorrow.")
    access.lock_rooms([room.pk])
    Room.objects.filter(pk=room.pk).update(archived_at=None)
    _seat(room, user, Member.Role.MEMBER)
    if agent.owner_id != user.pk:
        _seat(room, agent.owner, Member.Role.KEEPER)
    access.rights_changed(room.pk)


def _seat(room: Room, user: User, role: str) -> None:
    Member.objects.update_or_create(
        room=room,
        user=user,
        defaults={
            "handle": words.handle(user.username), "role": role, "joined_at": timezone.now(), "left_at": None,
            "removed_at": None, "expires_at": None,
        },
    )  # fmt: skip


def _shared(user: User, agent: Agent) -> QuerySet[Member]:
    """The person's seats in rooms where the agent sits too."""
    return seats_of(user).filter(room__in=agent.seats.filter(left_at=None).values("room_id"))
