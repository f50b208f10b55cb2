"""Leaving, removing, roles: what ends with a seat ends in the same transaction."""

from __future__ import annotations

from django.utils import timezone

from approvals import audit
from approvals.control.waiting import cancel_all, mark_outlived
from approvals.models import Grant, Turn
from messaging import log, nudge
from messaging.models import Entry
from rooms import membership
from rooms.access import ABSENT, lock_rooms, member_for, owned_room, rights_changed, seated
from rooms.errors import Invalid, NotFound, Refused
from rooms.models import Connection, Member, Room, User
from rooms.rules import rule


@rule
def leave(user: User, room_id: int) -> None:
    """Leave a room, with one's agents. What one has queued there is cancelled; coming back revives no grant."""
    lock_rooms([room_id])
    member = member_for(user, room_id)
    if member.room.owner_id == user.pk:
        raise Refused("The room is yours: hand it over, archive it or delete it instead.")
    unseat(member, by=user, what="left")


@rule
def remove_member(user: User, member_id: int) -> None:
    """The room's owner removes anybody else; an agent's owner removes their agent."""
    seat = Member.objects.select_related("room", "user", "agent__owner").filter(pk=member_id, left_at=None).first()
    if seat is None:
        raise NotFound(ABSENT)
    lock_rooms([seat.room_id])
    seat = Member.objects.select_related("room", "user", "agent__owner").filter(pk=member_id, left_at=None).first()
    if seat is None:
        raise NotFound(ABSENT)
    actor = member_for(user, seat.room_id)
    mine = seat.agent is not None and seat.agent.owner_id == user.pk
    if seat.room.owner_id != user.pk and not mine:
        raise Refused("Only the room's owner can remove people; an agent's owner can remove the agent.")
    if seat.pk == actor.pk or seat.user_id == seat.room.owner_id:
        raise Refused("The room's owner stays: hand the room over, archive it or delete it instead.")
    if seat.role == Member.Role.KEEPER:
        raise Refused("The keeper stays as long as the agent does: remove the agent instead.")
    unseat(seat, by=user, what="removed")


def unseat(member: Member, *, by: User | None, what: str) -> None:
    """End a seat, and with it what was granted there, what it has queued, and its agents' seats. A *never* stays.

    Under the room's lock.
    """
    now = timezone.now()
    removed = {"removed_at": now} if what == "removed" else {}
    if not Member.objects.filter(pk=member.pk, left_at=None).update(left_at=now, **removed):
        return
    rights_changed(member.room_id)
    words = {
        "left": f"{member.handle} left.",
        "removed": f"{by.username if by else 'Somebody'} removed {member.handle}.",
        "expired": f"{member.handle} left: the guest's time was over.",
        "retired": f"{member.handle} left: its owner retired it.",
        "deleted": f"{member.handle} left: the account was deleted.",
        "owner left": f"{member.handle} left with its owner.",
    }[what]
    log.append(
        member.room_id,
        log.New(
            Entry.Kind.LEFT, author=member, body=words,
            data={"member": member.pk, "handle": member.handle, "is_agent": member.is_agent, "what": what,
                  "by": by.username if by else ""},
        ),
    )  # fmt: skip
    waiting = Turn.objects.filter(room=member.room_id, status__in=Turn.WAITING)
    Connection.objects.filter(room=member.room_id, agent=member.agent_id, agent__isnull=False, revoked_at=None).update(
        revoked_at=now
    )
    if member.is_agent:
        cancel_all(waiting.filter(agent=member.agent_id), by=by, note=words)
    if member.user_id is not None:
        Grant.objects.filter(member=member).exclude(level=Grant.Level.DENY).delete()
        cancel_all(waiting.filter(principal=member.user_id), by=by, note=words)
        mark_outlived(Turn.objects.filter(room=member.room_id, principal=member.user_id), words)
        for seat in Member.objects.filter(room=member.room_id, agent__owner=member.user_id, left_at=None):
            unseat(seat, by=by, what="owner left")
        nudge.user(member.user_id)
        audit.write(
            member.room.owner_id, what, who=by.username if by else "", room=member.room.name, about=member.handle
        )
    elif member.room.kind == Room.Kind.DIRECT:
        for keeper in Member.objects.filter(room=member.room_id, role=Member.Role.KEEPER, left_at=None):
            unseat(keeper, by=by, what="left")
    membership.end_unshared(
        Grant.objects.filter(agent=member.agent_id) if member.is_agent else Grant.objects.filter(person=member.user_id)
    )


@rule
def set_role(owner: User, member_id: int, role: str) -> None:
    """The room's owner lets a person write, or only read; a viewer's queued requests are cancelled."""
    seat = Member.objects.select_related("room").filter(pk=member_id, left_at=None, user__isnull=False).first()
    if seat is None:
        raise NotFound(ABSENT)
    owned_room(owner, seat.room_id)
    lock_rooms([seat.room_id])
    if role not in ("member", "viewer"):
        raise Invalid("Choose member or viewer.", field="role")
    if seat.user_id == owner.pk or seat.role == Member.Role.KEEPER:
        raise Refused("That seat keeps its role.")
    if role == "viewer" and seated(seat.room_id).filter(agent__owner=seat.user_id).exists():
        raise Refused("An agent's owner is a member; their agents have to leave first.")
    if not Member.objects.filter(pk=seat.pk, left_at=None).exclude(role=role).update(role=role):
        return
    rights_changed(seat.room_id)
    words = f"{seat.handle} may now only read." if role == "viewer" else f"{seat.handle} may now write."
    log.append(
        seat.room_id,
        log.New(
            Entry.Kind.CONTROL,
            body=words,
            data={"member": seat.pk, "handle": seat.handle, "what": "role", "by": owner.username},
        ),
    )
    if role == "viewer":
        cancel_all(
            Turn.objects.filter(room=seat.room_id, principal=seat.user_id, status__in=Turn.WAITING),
            by=owner,
            note=words,
        )


@rule
def expire_guest(member_id: int, room_id: int) -> int:
    lock_rooms([room_id])
    member = (
        Member.objects.select_related("room", "user", "agent")
        .filter(pk=member_id, left_at=None, expires_at__lte=timezone.now())
        .first()
    )
    if member is None:
        return 0
    unseat(member, by=None, what="expired")
    return 1
