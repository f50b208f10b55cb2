"""Who may start what: said, taken back, ended by time."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from django.utils import timezone

from approvals import audit
from approvals.control.waiting import cancel_under
from approvals.models import Grant
from rooms.access import ABSENT, lock_rooms, owned_agent
from rooms.errors import Invalid, NotFound
from rooms.models import Agent, Member, User
from rooms.rules import rule


@rule
def set_grant(
    owner: User,
    *,
    agent_id: int,
    level: str,
    member_id: int | None = None,
    person_id: int | None = None,
    expires_at: datetime | None = None,
) -> Grant:
    """Say what one person may start on one's own agent, in one room or in all that both share.

    Anything but ``always`` cancels what that person has queued there.
    """
    agent = owned_agent(owner, agent_id)
    if level not in Grant.Level.values:
        raise Invalid("Choose ask, always or deny.", field="level")
    if (member_id is None) == (person_id is None):
        raise Invalid("Name a seat in a room, or a person.", field="member")
    if expires_at is not None and expires_at <= timezone.now():
        raise Invalid("That time has passed.", field="expires_at")
    member, person = _granted(agent, member_id, person_id)
    lock_rooms(_shared_rooms(agent, member, person))
    key: dict[str, Any] = {"member": member} if member else {"person": person}
    grant, _ = Grant.objects.update_or_create(
        agent=agent, **key, defaults={"level": level, "expires_at": expires_at, "updated_at": timezone.now()}
    )
    if level != Grant.Level.ALWAYS:
        denied = level == Grant.Level.DENY
        cancel_under(agent, member, person, by=owner, note="Its permission changed.", asked=denied)
    _audit_grant(owner, grant, level)
    return grant


def _granted(agent: Agent, member_id: int | None, person_id: int | None) -> tuple[Member | None, User | None]:
    if member_id is not None:
        seat = (
            Member.objects.select_related("room", "user")
            .filter(
                pk=member_id, left_at=None, user__isnull=False, room__members__agent=agent, room__members__left_at=None
            )
            .first()
        )
        if seat is None or seat.user_id == agent.owner_id:
            raise NotFound(ABSENT)
        return seat, None
    shared = Member.objects.filter(agent=agent, left_at=None).values("room")
    person = User.objects.filter(pk=person_id or 0, seats__room__in=shared, seats__left_at=None).distinct().first()
    if person is None or person.pk == agent.owner_id:
        raise NotFound(ABSENT)
    return None, person


def _shared_rooms(agent: Agent, member: Member | None, person: User | None) -> list[int]:
    if member is not None:
        return [member.room_id]
    return list(Member.objects.filter(agent=agent, room__members__user=person).values_list("room_id", flat=True))


@rule
def revoke_grant(owner: User, grant_id: int) -> int:
    """Take a grant back. Everything that the person has queued under it is cancelled; returns how many."""
    grant = (
        Grant.objects.select_related("agent__owner", "member__room", "member__user", "person")
        .filter(pk=grant_id, agent__owner=owner)
        .first()
    )
    if grant is None:
        raise NotFound(ABSENT)
    lock_rooms(_shared_rooms(grant.agent, grant.member, grant.person))
    cancelled = cancel_under(grant.agent, grant.member, grant.person, by=owner, note="Its permission was revoked.")
    _audit_grant(owner, grant, "revoked")
    grant.delete()
    return cancelled


@rule
def expire_grant(grant_id: int) -> int:
    grant = (
        Grant.objects.select_related("agent__owner", "member__room", "member__user", "person")
        .filter(pk=grant_id)
        .first()
    )
    if grant is None:
        return 0
    lock_rooms(_shared_rooms(grant.agent, grant.member, grant.person))
    deleted, _ = Grant.objects.filter(pk=grant_id, expires_at__lte=timezone.now()).delete()
    if deleted:
        cancel_under(grant.agent, grant.member, grant.person, by=None, note="The time of its permission was over.")
        _audit_grant(grant.agent.owner, grant, "ended")
    return deleted


def _audit_grant(owner: User, grant: Grant, decision: str) -> None:
    person = grant.person or (grant.member.user if grant.member else None)
    audit.write(
        owner, "grant", who=owner.username, room=grant.member.room.name if grant.member else "",
        agent=grant.agent, about=f"until {grant.expires_at.isoformat()}" if grant.expires_at else "",
        in_name_of=person.username if person else "", decision=decision,
    )  # fmt: skip
