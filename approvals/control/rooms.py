"""Deputies, direct rooms that nobody wants, rooms that close."""

from __future__ import annotations

from datetime import datetime

from django.utils import timezone

from approvals import audit
from approvals.control.removal import SIGN_IN
from approvals.control.waiting import cancel_all
from approvals.models import Turn
from messaging import log, nudge
from messaging.models import Entry
from rooms import membership
from rooms.access import ABSENT, lock_rooms, owned_room, rights_changed, seated
from rooms.errors import Conflict, Invalid, NotFound, Refused
from rooms.models import Invite, Member, Room, User
from rooms.rules import rule


@rule
def name_deputy(owner: User, *, handle: str, until: datetime, recently: bool) -> None:
    """Let another person answer for one's agents until then.

    The owner has ``recently`` signed in: a deputy approves what the owner can't without. Ending it wants none.
    """
    if not recently:
        raise Refused(SIGN_IN, code="sign_in")
    deputy = User.objects.filter(username=handle.strip().lower().lstrip("@"), is_active=True).first()
    rooms = Member.objects.filter(user=owner, left_at=None).values("room")
    if deputy is None or not Member.objects.filter(user=deputy, left_at=None, room__in=rooms).exists():
        raise Invalid("Nobody by that name shares a room with you.", field="handle")
    if deputy.pk == owner.pk:
        raise Invalid("You answer for your agents anyway.", field="handle")
    if until <= timezone.now():
        raise Invalid("That time has passed.", field="until")
    User.objects.filter(pk=owner.pk).update(deputy=deputy, deputy_until=until)
    audit.write(owner, "deputy", who=owner.username, about=deputy.username, decision=f"until {until.isoformat()}")
    nudge.user(deputy.pk)


@rule
def end_deputy(owner: User) -> None:
    """Answer for one's agents alone again."""
    if User.objects.filter(pk=owner.pk, deputy__isnull=False).update(deputy=None, deputy_until=None):
        audit.write(owner, "deputy", who=owner.username, decision="ended")


@rule
def decline_direct(owner: User, room_id: int) -> None:
    """The agent's owner turns down a direct room that somebody asked for."""
    room = Room.objects.filter(pk=room_id, kind=Room.Kind.DIRECT, direct_agent__owner=owner, archived_at=None).first()
    if room is None:
        raise NotFound(ABSENT)
    lock_rooms([room.pk])
    if seated(room).filter(agent=room.direct_agent).exists():
        raise Conflict("The agent sits there already: remove it instead.")
    log.append(
        room.pk,
        log.New(
            Entry.Kind.CONTROL, body=f"{owner.username} declined.", data={"what": "declined", "by": owner.username}
        ),
    )
    Room.objects.filter(pk=room.pk).update(archived_at=timezone.now())
    rights_changed(room.pk)


def heirs(room: Room) -> list[Member]:
    """The seats to whose holders the room can be handed over."""
    seats = seated(room).filter(role=Member.Role.MEMBER, user__is_active=True, user__gone_at=None)
    return list(seats.exclude(user=room.owner_id).select_related("user").order_by("handle"))


@rule
def transfer(owner: User, room_id: int, member_id: int, *, recently: bool, by: User | None = None) -> Room:
    """Hand a room over to somebody who sits in it and may write. Agents, grants and turns keep their own owners.

    Its owner has ``recently`` signed in: whoever gets it may delete it. ``by``: an administrator who does it for them.

    The old owner's open invite links end: who comes in is the new owner's to say. A guest's end of time is lifted.
    """
    room = owned_room(owner, room_id)
    if room.kind != Room.Kind.ROOM:
        raise Refused(
            "This room can't be handed over: it is a talk of its own."
            if room.kind == Room.Kind.DIRECT
            else "Your agents' chat stays yours."
        )
    if not recently:
        raise Refused(SIGN_IN)
    room = lock_rooms([room.pk])[room.pk]
    if room.owner_id != owner.pk:
        raise Conflict("The room was handed over meanwhile.")
    heir = next((seat for seat in heirs(room) if seat.pk == member_id), None)
    if heir is None or heir.user is None:
        raise Invalid("Choose somebody who sits in the room and may write.", field="to")
    now, by = timezone.now(), by or owner
    Room.objects.filter(pk=room.pk).update(owner=heir.user)
    Member.objects.filter(pk=heir.pk).update(expires_at=None)
    Invite.objects.filter(room=room, revoked_at=None).update(revoked_at=now)
    rights_changed(room.pk)
    words = f"{by.username} handed this room over to {heir.handle}."
    data = {"what": "transferred", "by": by.username, "member": heir.pk, "handle": heir.handle}
    log.append(room.pk, log.New(Entry.Kind.CONTROL, body=words, data=data))
    for trail in (owner, heir.user):
        audit.write(trail, "hand over room", who=by.username, room=room.name, about=heir.user.username)
    nudge.user(owner.pk)
    nudge.user(heir.user.pk)
    room.refresh_from_db()
    return room


@rule
def archive(owner: User, room_id: int, *, archived: bool) -> None:
    """Close a room for writing, or open it again. What waits there is cancelled; it stays readable."""
    room = owned_room(owner, room_id)
    if room.kind == Room.Kind.ACCOUNT:
        raise Refused("Your agents' chat stays open. Switch it off in its settings instead.")
    room = lock_rooms([room.pk])[room.pk]
    if not archived:
        membership.check_not_declined(room)
    if not Room.objects.filter(pk=room.pk, archived_at__isnull=archived).update(
        archived_at=timezone.now() if archived else None
    ):
        return
    words = f"{owner.username} {'archived' if archived else 'reopened'} this room."
    log.append(room.pk, log.New(Entry.Kind.CONTROL, body=words, data={"what": "archived", "by": owner.username}))
    rights_changed(room.pk)
    if archived:
        audit.hold([room.pk])
        cancel_all(Turn.objects.filter(room=room, status__in=Turn.WAITING), by=owner, note=words)
