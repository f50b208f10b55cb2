"""How long a room keeps its entries, as its owner sets it."""

from __future__ import annotations

from approvals import audit
from messaging import log, retention
from messaging.models import Entry
from rooms.access import lock_rooms, owned_room
from rooms.errors import Conflict, Invalid, Refused
from rooms.models import Room, User
from rooms.rules import rule

MOST_DAYS = 3_650


def shortens(room: Room, days: int | None) -> bool:
    """Whether entries would go sooner than they do now."""
    now, then = retention.days(room), retention.days(Room(kind=room.kind, retention_days=days))
    return then is not None and (now is None or then < now)


@rule
def keep(owner: User, room_id: int, *, days: int | None, confirmed: bool = False) -> Room:
    """Let entries go after so many days; None keeps them as long as the server does.

    A limit under which entries go sooner wants to be ``confirmed``, by somebody who has seen how many; else Conflict.
    """
    room = owned_room(owner, room_id)
    if room.kind != Room.Kind.ROOM:
        raise Refused("This room has no settings.")
    if days is not None and not 1 <= days <= MOST_DAYS:
        raise Invalid(f"Say 1 to {MOST_DAYS:,} days, or nothing to keep everything.", field="days")
    room = lock_rooms([room.pk])[room.pk]
    if room.retention_days == days:
        return room
    if shortens(room, days) and not confirmed:
        raise Conflict("Entries would go sooner. Look at how many, then confirm it.", field="days", code="confirm")
    room.retention_days = days
    room.save(update_fields=["retention_days"])
    kept = "as long as this server does" if days is None else "for 1 day" if days == 1 else f"for {days} days"
    words = f"{owner.username} set that entries are kept {kept}."
    log.append(room.pk, log.New(Entry.Kind.CONTROL, body=words, data={"what": "kept", "by": owner.username}))
    audit.write(owner, "keep entries", who=owner.username, room=room.name, decision=kept)
    return room
