"""The owner's hand: grants, stop, leaving and removing, and what each of them cancels at once."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from django.db.models import Q, QuerySet
from django.utils import timezone

from approvals import audit, turns
from approvals.models import Grant, Turn
from messaging import log, nudge
from messaging.models import Entry
from rooms.access import (
    ABSENT,
    lock_machine,
    lock_rooms,
    member_for,
    owned_agent,
    owned_machine,
    owned_room,
    rights_changed,
    seated,
)
from rooms.errors import Conflict, Invalid, NotFound, Refused
from rooms.models import Agent, Connection, Machine, Member, Room, User
from rooms.rules import rule

# --- grants ---------------------------------------------------------------------------------------------------------


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
        _cancel_under(agent, member, person, by=owner, note="Its permission changed.")
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
    cancelled = _cancel_under(grant.agent, grant.member, grant.person, by=owner, note="Its permission was revoked.")
    _audit_grant(owner, grant, "revoked")
    grant.delete()
    return cancelled


def _cancel_under(agent: Agent, member: Member | None, person: User | None, *, by: User, note: str) -> int:
    waiting = Turn.objects.filter(agent=agent, status__in=["queued", "offered"])
    if member is not None:
        return _cancel(waiting.filter(room=member.room_id, principal=member.user_id), by=by, note=note)
    return _cancel(waiting.filter(principal=person), by=by, note=note)


def _cancel(waiting: QuerySet[Turn], *, by: User | None, note: str) -> int:
    rows = waiting.select_related("agent__owner", "agent__machine", "room", "entry", "principal").order_by("pk")
    return sum(turns.end(turn, Turn.Status.CANCELLED, by=by, note=note) for turn in rows)


def _audit_grant(owner: User, grant: Grant, decision: str) -> None:
    person = grant.person or (grant.member.user if grant.member else None)
    audit.write(
        owner, "grant", who=owner.username, room=grant.member.room.name if grant.member else "",
        about=f"{grant.agent.handle}{' until ' + grant.expires_at.isoformat() if grant.expires_at else ''}",
        in_name_of=person.username if person else "", decision=decision,
    )  # fmt: skip


# --- turns ----------------------------------------------------------------------------------------------------------


@rule
def stop_turn(user: User, turn_id: int) -> Turn:
    """The asker's or owner's Stop: what waits is cancelled, what runs ends when its machine hears it."""
    turn = turns.own_turn(user, turn_id)
    if turns.end(turn, Turn.Status.CANCELLED, by=user):
        return turn
    if not Turn.objects.filter(pk=turn.pk, status=Turn.Status.RUNNING, stop_asked_at=None).update(
        stop_asked_at=timezone.now(), ended_by=user
    ):
        turn.refresh_from_db()
        if turn.status == Turn.Status.RUNNING:
            return turn
        raise Conflict("It has ended already.")
    turns.tell(turn, "stopping", by=user.username)
    audit.write(
        turn.agent.owner_id,
        "stop",
        who=user.username,
        room=turn.room.name,
        about=turn.agent.handle,
        decision="stopping",
    )
    if turn.machine_id:
        nudge.machine(turn.machine_id)
    return turn


@rule
def close_turn(owner: User, turn_id: int) -> Turn:
    """The agent's owner ends a turn whose machine does not come back: interrupted, outcome unknown."""
    turn = turns.own_turn(owner, turn_id)
    if turn.agent.owner_id != owner.pk:
        raise Refused("Only the agent's owner can close it.")
    if turn.machine is not None and turn.machine.connected:
        raise Refused("Its machine is connected: press Stop, and it ends there.")
    Turn.objects.filter(pk=turn.pk, status=Turn.Status.RUNNING).update(ended_by=owner)
    if not turns.finish(
        turn, Turn.Status.INTERRUPTED, reason=f"Closed by {owner.username}: its machine did not come back."
    ):
        raise Conflict("It does not run.")
    return turn


@rule
def stop_machine(machine: Machine, *, now: bool) -> tuple[int, int]:
    """`agentroom stop`: cancel what waits for this machine's agents; with ``now`` ask what runs to end as well."""
    waiting = Turn.objects.filter(agent__machine=machine, status__in=Turn.WAITING)
    running = Turn.objects.filter(machine=machine, status=Turn.Status.RUNNING)
    lock_rooms([*waiting.values_list("room_id", flat=True), *running.values_list("room_id", flat=True)])
    cancelled = _cancel(waiting, by=machine.owner, note=f"{machine.name} was stopped by its owner.")
    stopping = 0
    if now:
        stopping = running.filter(stop_asked_at=None).update(stop_asked_at=timezone.now(), ended_by=machine.owner)
        nudge.machine(machine.pk)
    audit.write(
        machine.owner, "stop machine", who=machine.owner.username, about=machine.name,
        decision=f"{cancelled} cancelled, {stopping} stopping",
    )  # fmt: skip
    return cancelled, stopping


# --- leaving and removing -------------------------------------------------------------------------------------------


@rule
def leave(user: User, room_id: int) -> None:
    """Leave a room, with one's agents. What one has queued there is cancelled; coming back revives no grant."""
    lock_rooms([room_id])
    member = member_for(user, room_id)
    if member.room.owner_id == user.pk:
        raise Refused("The room is yours: hand it over, archive it or delete it instead.")
    _unseat(member, by=user, what="left")


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
    _unseat(seat, by=user, what="removed")


def _unseat(member: Member, *, by: User | None, what: str) -> None:
    """End a seat, and with it its grants, what it has queued, and its agents' seats. Under the room's lock."""
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
        _cancel(waiting.filter(agent=member.agent_id), by=by, note=words)
    if member.user_id is not None:
        Grant.objects.filter(member=member).delete()
        _cancel(waiting.filter(principal=member.user_id), by=by, note=words)
        for seat in Member.objects.filter(room=member.room_id, agent__owner=member.user_id, left_at=None):
            _unseat(seat, by=by, what="owner left")
        nudge.user(member.user_id)
        audit.write(
            member.room.owner_id, what, who=by.username if by else "", room=member.room.name, about=member.handle
        )
    elif member.room.kind == Room.Kind.DIRECT:
        for keeper in Member.objects.filter(room=member.room_id, role=Member.Role.KEEPER, left_at=None):
            _unseat(keeper, by=by, what="left")


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
        _cancel(
            Turn.objects.filter(room=seat.room_id, principal=seat.user_id, status__in=Turn.WAITING),
            by=owner,
            note=words,
        )


# --- agents and machines --------------------------------------------------------------------------------------------


@rule
def pause_agent(owner: User, agent_id: int, *, paused: bool) -> Agent:
    """A paused agent starts nothing: what waits keeps its place. What runs goes on."""
    agent = owned_agent(owner, agent_id)
    rooms = list(Member.objects.filter(agent=agent, left_at=None).values_list("room_id", flat=True))
    lock_rooms(rooms)
    if not Agent.objects.filter(pk=agent.pk, paused_at__isnull=paused).update(
        paused_at=timezone.now() if paused else None
    ):
        return agent
    for turn in Turn.objects.filter(agent=agent, status=Turn.Status.OFFERED) if paused else ():
        turns.take_back(turn)
    words = "paused" if paused else "resumed"
    for seat in Member.objects.filter(agent=agent, left_at=None):
        log.append(
            seat.room_id,
            log.New(
                Entry.Kind.CONTROL, author=seat, body=f"{owner.username} {words} {seat.handle}.",
                data={"member": seat.pk, "handle": seat.handle, "what": words, "by": owner.username},
            ),
        )  # fmt: skip
    audit.write(owner, words, who=owner.username, about=agent.handle)
    if agent.machine_id:
        nudge.machine(agent.machine_id)
    agent.refresh_from_db()
    return agent


@rule
def retire_agent(owner: User, agent_id: int) -> None:
    """Take an agent out of every room for good; its words stay."""
    agent = owned_agent(owner, agent_id)
    seats = list(Member.objects.filter(agent=agent, left_at=None).select_related("room", "agent"))
    lock_rooms(seat.room_id for seat in seats)
    for seat in seats:
        _unseat(seat, by=owner, what="retired")
    Connection.objects.filter(agent=agent, revoked_at=None).update(revoked_at=timezone.now())
    # The handle is free again for another agent of this owner.
    Agent.objects.filter(pk=agent.pk).update(retired_at=timezone.now(), handle=f"{agent.handle[:20]}-{agent.pk}"[:32])
    audit.write(owner, "retire agent", who=owner.username, about=agent.handle)
    if agent.machine_id:
        nudge.machine(agent.machine_id)


@rule
def reset_memory(owner: User, member_id: int) -> None:
    """An agent's owner makes it forget one room: its next turn there begins a new session."""
    seat = Member.objects.select_related("room").filter(pk=member_id, agent__owner=owner, left_at=None).first()
    if seat is None:
        raise NotFound(ABSENT)
    lock_rooms([seat.room_id])
    Member.objects.filter(pk=seat.pk).update(memory=seat.memory + 1)
    log.append(
        seat.room_id,
        log.New(
            Entry.Kind.CONTROL, author=seat, body=f"{owner.username} reset what {seat.handle} remembers of this room.",
            data={"member": seat.pk, "handle": seat.handle, "what": "memory", "by": owner.username},
        ),
    )  # fmt: skip


@rule
def revoke_machine(owner: User, machine_id: int) -> int:
    """End a machine's token and its connections, and cancel everything that waits for its agents."""
    machine = owned_machine(owner, machine_id)
    waiting = Turn.objects.filter(status__in=Turn.WAITING).filter(Q(agent__machine=machine) | Q(machine=machine))
    lock_rooms(waiting.values_list("room_id", flat=True))
    machine = lock_machine(machine.pk)
    now = timezone.now()
    Machine.objects.filter(pk=machine.pk).update(revoked_at=now)
    Connection.objects.filter(machine=machine, revoked_at=None).update(revoked_at=now)
    cancelled = _cancel(waiting, by=owner, note=f"{machine.name} was revoked.")
    audit.write(owner, "revoke machine", who=owner.username, about=machine.name, decision=f"{cancelled} cancelled")
    nudge.machine(machine.pk)
    nudge.user(owner.pk)
    return cancelled


# --- people ---------------------------------------------------------------------------------------------------------


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
        _cancel(Turn.objects.filter(room=room, status__in=Turn.WAITING), by=owner, note=words)


# --- time -----------------------------------------------------------------------------------------------------------


def expire() -> int:
    """End the seats of guests whose time is over, and grants that have run out. Safe to run twice at once."""
    now = timezone.now()
    guests = list(Member.objects.filter(left_at=None, expires_at__lte=now).values_list("pk", "room_id")[:200])
    grants = list(Grant.objects.filter(expires_at__lte=now).values_list("pk", flat=True)[:200])
    return sum(_expire_guest(pk, room_id) for pk, room_id in guests) + sum(_expire_grant(pk) for pk in grants)


@rule
def _expire_guest(member_id: int, room_id: int) -> int:
    lock_rooms([room_id])
    member = (
        Member.objects.select_related("room", "user", "agent")
        .filter(pk=member_id, left_at=None, expires_at__lte=timezone.now())
        .first()
    )
    if member is None:
        return 0
    _unseat(member, by=None, what="expired")
    return 1


@rule
def _expire_grant(grant_id: int) -> int:
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
        _audit_grant(grant.agent.owner, grant, "ended")
    return deleted
