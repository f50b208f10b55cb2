"""Fetch through the actor: what is absent and what is not theirs look the same."""

from __future__ import annotations

from collections.abc import Iterable

from django.contrib.auth.models import AnonymousUser
from django.db import connection
from django.db.models import Exists, F, OuterRef, Q, QuerySet
from django.utils import timezone

from rooms.errors import NotFound, Refused
from rooms.models import Agent, Machine, Member, Room, User

ABSENT = "It does not exist, or it is not yours to see."


def seated(room: Room | int) -> QuerySet[Member]:
    """Everybody who sits in the room now."""
    room_id = room if isinstance(room, int) else room.pk
    return Member.objects.filter(room_id=room_id, left_at=None).filter(
        Q(expires_at=None) | Q(expires_at__gt=timezone.now())
    )


def seated_agents(room_id: int) -> QuerySet[Member]:
    """The agents' seats in the room; none whose owner's time there is over, though it was not yet taken away."""
    over = Agent.objects.filter(
        pk=OuterRef("agent"), owner__seats__room=room_id, owner__seats__left_at=None,
        owner__seats__expires_at__lte=timezone.now(),
    )  # fmt: skip
    return seated(room_id).filter(~Exists(over), agent__isnull=False)


def member_for(user: User | AnonymousUser | None, room_id: int) -> Member:
    """The person's seat in that room, with ``member.room``; NotFound for everybody else."""
    if user is None or not user.is_authenticated or not user.is_active:
        raise NotFound(ABSENT)
    member = seated(room_id).filter(user_id=user.pk).select_related("room", "user").first()
    if member is None:
        raise NotFound(ABSENT)
    return member


def writer_for(user: User, room_id: int) -> Member:
    """As ``member_for``, but only a seat that may write; Refused for a viewer or keeper, and in an archived room."""
    member = member_for(user, room_id)
    if member.room.archived_at is not None:
        raise Refused("This room is archived. Nothing more can be written here.")
    if not member.may_ask:
        raise Refused("You read this room; its owner can let you write.")
    return member


def principal_for(user_id: int | None, room_id: int) -> Member | None:
    """The seat of somebody in whose name agents may work here: who may write, and is not shut out of the server."""
    if user_id is None:
        return None
    return seated(room_id).filter(user=user_id, user__is_active=True, role=Member.Role.MEMBER).first()


def owned_room(user: User, room_id: int) -> Room:
    """A room that the person owns. Who sits in it but doesn't own it is told so."""
    room = Room.objects.filter(pk=room_id, owner_id=user.pk).first()
    if room is None:
        member_for(user, room_id)
        raise Refused("Only the room's owner can do that.")
    return room


def owned_agent(user: User, agent_id: int) -> Agent:
    agent = Agent.objects.select_related("machine").filter(pk=agent_id, owner_id=user.pk, retired_at=None).first()
    if agent is None:
        raise NotFound(ABSENT)
    return agent


def owned_machine(user: User, machine_id: int) -> Machine:
    machine = Machine.objects.filter(pk=machine_id, owner_id=user.pk, revoked_at=None).first()
    if machine is None:
        raise NotFound(ABSENT)
    return machine


class Locked(dict[int, Room]):
    """Rooms by their ids; asking for one that was deleted before it could be locked is NotFound."""

    def __missing__(self, room_id: int) -> Room:
        raise NotFound(ABSENT)


def lock_rooms(room_ids: Iterable[int], *, going: bool = False) -> Locked:
    """Lock these rooms' rows in id order, so that two rules can't wait for each other.

    ``going``: they may be deleted, so nobody may commit a row that names them either.
    """
    rooms = Room.objects.filter(pk__in=set(room_ids)).order_by("pk")
    if connection.features.has_select_for_update:
        rooms = rooms.select_for_update(no_key=not going)
    return Locked({room.pk: room for room in rooms})


def lock_machine(machine_id: int) -> Machine:
    """Lock a machine's row; always after the rooms'."""
    machines = Machine.objects.filter(pk=machine_id)
    if connection.features.has_select_for_update:
        machines = machines.select_for_update(no_key=True)
    machine = machines.first()
    if machine is None:
        raise NotFound(ABSENT)
    return machine


def rights_changed(room_id: int) -> None:
    """Somebody's right to read this room may have changed: every open page reads its own again."""
    Room.objects.filter(pk=room_id).update(membership_version=F("membership_version") + 1)
