"""Invite links: who may come in, as what, for how long."""

from __future__ import annotations

from datetime import datetime, timedelta

from django.conf import settings
from django.db.models import F
from django.utils import timezone

from approvals.models import Grant
from messaging import nudge
from messaging.models import Entry
from rooms import access, tokens
from rooms.errors import Invalid, NotFound, Refused
from rooms.membership import words
from rooms.membership.people import make_person
from rooms.membership.rooms import say
from rooms.membership.sharing import end_unshared
from rooms.models import Invite, Member, Room, User
from rooms.rules import rule

UNKNOWN = "This invite link is not one of ours. Copy it again, whole."
REVOKED = "This invite link was taken back. Ask for a new one."
EXPIRED = "This invite link has expired. Ask for a new one."
USED_UP = "This invite link was used up. Ask for a new one."
REMOVED = "You were removed from this room after this link was made. Ask for a new one."


@rule
def invite(
    owner: User, room_id: int, *, role: str, days: int, max_uses: int, seat_days: int | None = None
) -> tuple[Invite, str]:
    """Make a link into a room. Its token is returned once and stored as a hash."""
    room = access.owned_room(owner, room_id)
    if room.kind != Room.Kind.ROOM or room.archived_at is not None:
        raise Refused("Nobody can be invited into this room.")
    if role not in (Member.Role.MEMBER, Member.Role.VIEWER):
        raise Invalid("Choose member or viewer.", field="role")
    now = timezone.now()
    token = tokens.new(tokens.INVITE)
    made = Invite.objects.create(
        room=room,
        token_hash=tokens.digest(token),
        role=role,
        max_uses=_between(max_uses, 1, 1000, "max_uses"),
        created_by=owner,
        expires_at=now + timedelta(days=_between(days, 1, 365, "days")),
        member_expires_at=now + timedelta(days=_between(seat_days, 1, 365, "seat_days")) if seat_days else None,
    )
    return made, token


@rule
def revoke_invite(owner: User, invite_id: int) -> Invite:
    """Take a link back at once. Who came in by it stays."""
    found = Invite.objects.select_related("room").filter(pk=invite_id, room__owner=owner).first()
    if found is None:
        raise NotFound(access.ABSENT)
    Invite.objects.filter(pk=found.pk, revoked_at=None).update(revoked_at=timezone.now())
    found.refresh_from_db()
    return found


def invite_for(token: str) -> Invite:
    """The open invite of this link; NotFound says plainly why it lets nobody in, and never into which room."""
    found = Invite.objects.select_related("room", "created_by").filter(token_hash=tokens.digest(token)).first()
    now = timezone.now()
    if found is None:
        raise NotFound(UNKNOWN)
    if found.revoked_at is not None or found.room.archived_at is not None:
        raise NotFound(REVOKED)
    if found.expires_at <= now or (found.member_expires_at is not None and found.member_expires_at <= now):
        raise NotFound(EXPIRED)
    if found.uses >= found.max_uses:
        raise NotFound(USED_UP)
    return found


def seat_by_invite(user: User, token: str) -> Member | None:
    """The seat that this person already has in the link's room, however the link stands."""
    found = Invite.objects.filter(token_hash=tokens.digest(token)).first()
    return None if found is None else access.seated(found.room_id).filter(user=user).first()


@rule
def accept_invite(user: User, token: str, *, handle: str = "") -> Member:
    """Take a seat by a link. Whoever already sits there keeps the seat that they have."""
    if (seated := seat_by_invite(user, token)) is not None:
        return seated
    room_id = invite_for(token).room_id
    room = access.lock_rooms([room_id])[room_id]
    # Again, now that the room is locked: the link may have been taken back in between.
    found = invite_for(token)
    seat = Member.objects.filter(room=room, user=user).first()
    if seat is not None and seat.seated:
        return seat
    if seat is not None and seat.removed_at is not None and found.created_at <= seat.removed_at:
        raise Refused(REMOVED)
    name = words.claim_handle(room, words.handle(handle or user.username), seat=seat)
    _count_use(found)
    seat = _take_seat(seat, room, user, name, role=found.role, until=found.member_expires_at)
    access.rights_changed(room.pk)
    as_what = " to read along" if seat.role == Member.Role.VIEWER else ""
    text = f"{seat.handle} joined by a link{as_what}."
    say(seat, Entry.Kind.JOINED, text, what="joined", by=found.created_by.username)
    nudge.user(user.pk)
    return seat


@rule
def join_as_new_person(token: str, *, handle: str, password: str) -> tuple[User, Member]:
    """Make an account by a link, and take the seat: both or neither."""
    if settings.SIGN_UP == "closed":
        raise Refused("This server makes no new accounts. Sign in with yours, then open the link again.")
    invite_for(token)
    if not password:
        raise Invalid("Choose a password of 12 characters or more.", field="password")
    user = make_person(handle, password=password)
    return user, accept_invite(user, token)


def _take_seat(
    seat: Member | None, room: Room, user: User, handle: str, *, role: str, until: datetime | None
) -> Member:
    """A seat without a past: what was granted to its holder before doesn't come back with them; a *never* does."""
    end_unshared(Grant.objects.filter(person=user))
    clean = {
        "handle": handle,
        "name": user.get_full_name()[:60],
        "role": role,
        "expires_at": until,
        "joined_at": timezone.now(),
        "left_at": None,
        "removed_at": None,
        "read_seq": room.last_seq,
    }
    if seat is None:
        return Member.objects.create(room=room, user=user, **clean)
    for name, value in clean.items():
        setattr(seat, name, value)
    seat.save()
    Grant.objects.filter(member=seat).exclude(level=Grant.Level.DENY).delete()
    return seat


def _count_use(found: Invite) -> None:
    # The condition is in the UPDATE, so that two people can't share the last use.
    open_still = Invite.objects.filter(
        pk=found.pk, revoked_at=None, expires_at__gt=timezone.now(), uses__lt=F("max_uses")
    )
    if not open_still.update(uses=F("uses") + 1):
        raise NotFound(USED_UP)


def _between(value: int, least: int, most: int, field: str) -> int:
    if not least <= value <= most:
        raise Invalid(f"Choose a number from {least} to {most}.", field=field)
    return value
