"""Making rooms and naming them."""

from __future__ import annotations

from django.db.models import Q, QuerySet
from django.utils import timezone

from messaging import log, nudge
from messaging.models import Entry
from rooms import access
from rooms.errors import Refused
from rooms.membership import words
from rooms.models import Member, Room, User
from rooms.rules import rule


@rule
def create_room(user: User, *, name: str, about: str = "") -> Room:
    """Make a room; whoever makes it owns it and sits in it."""
    room = Room.objects.create(
        owner=user,
        name=words.line(name, most=80, field="name", what="the name"),
        about=words.line(about, most=200, field="about", what="the line about it", needed=False),
    )
    seat = Member.objects.create(room=room, user=user, handle=user.username, name=user.get_full_name()[:60])
    say(seat, Entry.Kind.CONTROL, f"{user.username} made this room.", what="made", by=user.username)
    nudge.user(user.pk)
    return room


@rule
def rename(owner: User, room_id: int, *, name: str, about: str) -> Room:
    """Give a room another name, and another line about it."""
    room = access.owned_room(owner, room_id)
    if room.kind != Room.Kind.ROOM:
        raise Refused("This room is named after who talks in it.")
    room = access.lock_rooms([room.pk])[room.pk]
    old = room.name
    room.name = words.line(name, most=80, field="name", what="the name")
    room.about = words.line(about, most=200, field="about", what="the line about it", needed=False)
    room.save(update_fields=["name", "about"])
    if room.name != old:
        seat = access.member_for(owner, room.pk)
        text = f"{owner.username} renamed the room from {old} to {room.name}."
        say(seat, Entry.Kind.CONTROL, text, what="renamed", by=owner.username)
    else:
        nudge.room(room.pk)
    return room


@rule
def account_chat(user: User) -> Room:
    """The private chat of one account's agents: made with the account, the same ever after."""
    room = Room.objects.filter(owner=user, kind=Room.Kind.ACCOUNT).first()
    if room is None:
        room = Room.objects.create(owner=user, kind=Room.Kind.ACCOUNT, name="Agent chat")
        Member.objects.create(room=room, user=user, handle=user.username)
    return room


def say(seat: Member, kind: Entry.Kind, text: str, *, what: str, by: str) -> Entry:
    """Append one plain sentence about a seat to its room's timeline."""
    data = {"member": seat.pk, "handle": seat.handle, "is_agent": seat.is_agent, "what": what, "by": by}
    return log.append(seat.room_id, log.New(kind, body=text, data=data))[0]


def seats_of(user: User) -> QuerySet[Member]:
    """Where this person sits now."""
    return Member.objects.filter(user=user, left_at=None, room__archived_at=None).filter(
        Q(expires_at=None) | Q(expires_at__gt=timezone.now())
    )


def rooms_of(user: User) -> QuerySet[Room]:
    return Room.objects.filter(pk__in=seats_of(user).values("room_id"))
