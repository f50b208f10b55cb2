"""A room goes for good: what is lost is said first, what waits or runs in it ends, the trails keep what was decided."""

from __future__ import annotations

from dataclasses import dataclass

from django.db.models import Q, Sum

from approvals import audit, limits, turns
from approvals.control.waiting import cancel_all
from approvals.models import Approval, Grant, Mail, Turn, Undo
from messaging import log, nudge
from messaging.models import Attachment, Entry
from rooms import membership
from rooms.access import lock_rooms, owned_room, seated
from rooms.errors import Invalid, Refused
from rooms.models import Connection, Room, User
from rooms.rules import rule

SIGN_IN = (
    "This wants a sign-in within the last 15 minutes. Set a password or add a passkey in your account, or sign in by a "
    "new link."
)


@dataclass(frozen=True, slots=True)
class Loss:
    """What goes with a room."""

    entries: int
    files: int
    size: int
    """Bytes of its files."""
    people: int
    """Who sits in it, beside its owner."""
    agents: int
    waiting: int
    running: int
    connections: int


def lost_with(room: Room) -> Loss:
    seats = seated(room)
    turns_there = Turn.objects.filter(room=room)
    attached = Attachment.objects.filter(entry__room=room)
    return Loss(
        entries=Entry.objects.filter(room=room).count(),
        files=attached.count(),
        size=attached.aggregate(size=Sum("size"))["size"] or 0,
        people=seats.filter(is_agent=False).exclude(user=room.owner_id).count(),
        agents=seats.filter(is_agent=True).count(),
        waiting=turns_there.filter(status__in=Turn.WAITING).count(),
        running=turns_there.filter(status=Turn.Status.RUNNING).count(),
        connections=Connection.objects.filter(room=room, revoked_at=None).count(),
    )


def check_deletable(room: Room) -> None:
    """Refused for an account's chat, and for a direct room that was just turned down: else it could be asked anew."""
    if room.kind == Room.Kind.ACCOUNT:
        raise Refused("Your agents’ chat goes with your account, and not without it.")
    membership.check_not_declined(room)


@rule
def delete_room(owner: User, room_id: int, *, name: str, recently: bool) -> Loss:
    """Delete a room with all that it holds. ``name`` is typed by the owner, who has ``recently`` signed in."""
    room = owned_room(owner, room_id)
    check_deletable(room)
    if not recently:
        raise Refused(SIGN_IN)
    room = lock_rooms([room.pk], going=True)[room.pk]
    check_deletable(room)
    if " ".join(name.split()) != room.name:
        raise Invalid("Write the room's name as it stands here.", field="name")
    audit.hold([room.pk])
    return remove(room, by=owner)


def remove(room: Room, *, by: User) -> Loss:
    """Take a room out of the database, its files once that is certain. Under its lock."""
    lost = lost_with(room)
    agents = list(seated(room).filter(is_agent=True).values_list("agent", flat=True))
    words = f"{by.username} deleted {room.name}."
    there = Turn.objects.filter(room=room).select_related(
        "agent__owner", "agent__machine", "room", "entry", "principal"
    )
    cancel_all(there.filter(status__in=Turn.WAITING), by=by, note=words)
    for turn in there.filter(status=Turn.Status.RUNNING).order_by("pk"):
        turns.finish(turn, Turn.Status.STOPPED, reason=words)
    _tell_owners(room, by, lost)
    limits.keep_count(Turn.objects.filter(room=room))
    signed_in = Connection.objects.filter(room=room).exclude(grant_id="").values_list("grant_id", flat=True)
    membership.end_tokens(signed_in)
    # Open pages look, find no room, and say so.
    nudge.room(room.pk)
    for rows in (
        Undo.objects.filter(turn__room=room), Approval.objects.filter(turn__room=room),
        Mail.objects.filter(turn__room=room), Turn.objects.filter(room=room),
    ):  # fmt: skip
        rows._raw_delete(rows.db)
    log.erase(room.pk)
    room.delete()
    membership.end_unshared(Grant.objects.filter(agent__in=agents))
    return lost


def _tell_owners(room: Room, by: User, lost: Loss) -> None:
    """A line in the trail of the room's owner, and of each whose agent sat in it; whoever had it open looks again."""
    about = f"{lost.entries} entries, {lost.files} files, {lost.people + 1} people, {lost.agents} agents"
    audit.write(room.owner_id, "delete room", who=by.username, room=room.name, about=about)
    for seat in seated(room).filter(Q(is_agent=True) | Q(user__isnull=False)).select_related("agent", "user"):
        if seat.user_id is not None:
            nudge.user(seat.user_id)
        elif seat.agent is not None:
            if seat.agent.owner_id != room.owner_id:
                audit.write(seat.agent.owner_id, "room deleted", who=by.username, room=room.name, agent=seat.agent)
            if seat.agent.machine_id is not None:
                nudge.machine(seat.agent.machine_id)
