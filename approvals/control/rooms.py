"""Deputies, direct rooms that nobody wants, rooms that close."""

from __future__ import annotations

from datetime import datetime

from django.utils import timezone

from approvals import audit
from approvals.control.waiting import cancel_all
from approvals.models import Turn
from messaging import log, nudge
from messaging.models import Entry
from rooms.access import ABSENT, lock_rooms, owned_room, rights_changed, seated
from rooms.errors import Conflict, Invalid, NotFound
from rooms.models import Member, Room, User
from rooms.rules import rule


@rule
def name_deputy(owner: User, *, handle: str, until: datetime) -> None:
    """Let another person answer for one's agents until then."""
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


@rule
def archive(owner: User, room_id: int, *, archived: bool) -> None:
    """Close a room for writing, or open it again. What waits there is cancelled; it stays readable."""
    room = owned_room(owner, room_id)
    lock_rooms([room.pk])
    if not Room.objects.filter(pk=room.pk, archived_at__isnull=archived).update(
        archived_at=timezone.now() if archived else None
    ):
        return
    words = f"{owner.username} {'archived' if archived else 'reopened'} this room."
    log.append(room.pk, log.New(Entry.Kind.CONTROL, body=words, data={"what": "archived", "by": owner.username}))
    rights_changed(room.pk)
    if archived:
        cancel_all(Turn.objects.filter(room=room, status__in=Turn.WAITING), by=owner, note=words)
