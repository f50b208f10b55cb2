"""What the rail beside every page shows: one's rooms, what is new in them, and what waits."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from django.conf import settings
from django.db.models import Count, F, OuterRef, Q, QuerySet, Subquery
from django.db.models.functions import Coalesce
from django.http import HttpRequest

from approvals import consent
from messaging.models import Entry, Recipient
from rooms import membership
from rooms.models import Member, Room, User


@dataclass(frozen=True, slots=True)
class Item:
    id: int
    name: str
    unread: int
    mentions: int


@dataclass(frozen=True, slots=True)
class Rail:
    rooms: list[Item]
    direct: list[Item]
    waiting: int
    chat: int
    """What programs said in the account's chat since its owner read it."""


def rail(request: HttpRequest) -> dict[str, Any]:
    """The context processor. Strangers learn only whether they may sign up; a page without a rail pays nothing."""
    user = getattr(request, "user", None)
    if not isinstance(user, User) or not user.is_authenticated:
        return {"sign_up_open": settings.SIGN_UP == "open"}
    return {"rail": Lazily(user)}


class Lazily:
    """A rail that asks the database when a template first looks at it."""

    def __init__(self, user: User) -> None:
        self._user = user
        self._built: Rail | None = None

    def _rail(self) -> Rail:
        if self._built is None:
            self._built = build(self._user)
        return self._built

    @property
    def rooms(self) -> list[Item]:
        return self._rail().rooms

    @property
    def direct(self) -> list[Item]:
        return self._rail().direct

    @property
    def waiting(self) -> int:
        return self._rail().waiting

    @property
    def chat(self) -> int:
        return self._rail().chat


def build(user: User) -> Rail:
    seats = list(_with_counts(membership.seats_of(user)).select_related("room__direct_agent", "room__owner"))
    seats.sort(key=lambda seat: seat.room.name.lower())
    return Rail(
        rooms=[_item(seat, user) for seat in seats if seat.room.kind == Room.Kind.ROOM],
        direct=[_item(seat, user) for seat in seats if seat.room.kind == Room.Kind.DIRECT],
        waiting=waiting(user),
        chat=next((_item(seat, user).unread for seat in seats if seat.room.kind == Room.Kind.ACCOUNT), 0),
    )


def waiting(user: User) -> int:
    """How many things need this person's word."""
    return consent.waiting_for(user).count() + membership.direct_requests(user).count()


def direct_name(room: Room, user: User) -> str:
    """A direct room is called after the agent; for the agent's owner who keeps it, also after the person."""
    if room.direct_agent is None:
        return room.name
    if room.owner_id == user.pk:
        return room.direct_agent.handle
    return f"{room.direct_agent.handle} · {room.owner.username}"


def _item(seat: Member, user: User) -> Item:
    name = direct_name(seat.room, user) if seat.room.kind == Room.Kind.DIRECT else seat.room.name
    return Item(seat.room_id, name, getattr(seat, "unread", 0), getattr(seat, "mentions", 0))


def _with_counts(seats: QuerySet[Member]) -> QuerySet[Member]:
    # In the account's chat its owner's seat is the author of all; what programs said came by a connection.
    said = Entry.objects.filter(room=OuterRef("room"), kind=Entry.Kind.MESSAGE, seq__gt=OuterRef("read_seq")).exclude(
        Q(author=OuterRef("pk")) & ~Q(connection__startswith="connection:")
    )
    to_me = Recipient.objects.filter(member=OuterRef("pk"), seq__gt=OuterRef("read_seq"))
    return seats.annotate(
        unread=Coalesce(Subquery(said.order_by().values("room").annotate(n=Count("pk")).values("n")), 0),
        mentions=Coalesce(Subquery(to_me.order_by().values("member").annotate(n=Count("pk")).values("n")), 0),
    ).order_by(F("room__name"))
