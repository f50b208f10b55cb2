"""Pausing, retiring and forgetting; the end of a machine."""

from __future__ import annotations

from django.db.models import Q
from django.utils import timezone

from approvals import audit, turns
from approvals.control.seats import unseat
from approvals.control.waiting import cancel_all
from approvals.models import Turn
from messaging import log, nudge
from messaging.models import Entry
from rooms.access import ABSENT, lock_machine, lock_rooms, owned_agent, owned_machine
from rooms.errors import NotFound
from rooms.models import Agent, Connection, Machine, Member, User
from rooms.rules import rule


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
    audit.write(owner, words, who=owner.username, agent=agent)
    if agent.machine_id:
        nudge.machine(agent.machine_id)
    agent.refresh_from_db()
    return agent


@rule
def retire_agent(owner: User, agent_id: int, *, by: User | None = None) -> None:
    """Take an agent out of every room for good; its words stay. ``by``: an administrator who does it for its owner."""
    by = by or owner
    agent = owned_agent(owner, agent_id)
    seats = list(Member.objects.filter(agent=agent, left_at=None).select_related("room", "agent"))
    lock_rooms(seat.room_id for seat in seats)
    for seat in seats:
        unseat(seat, by=by, what="retired")
    Connection.objects.filter(agent=agent, revoked_at=None).update(revoked_at=timezone.now())
    # The handle is free again for another agent of this owner.
    Agent.objects.filter(pk=agent.pk).update(retired_at=timezone.now(), handle=f"{agent.handle[:20]}-{agent.pk}"[:32])
    audit.write(owner, "retire agent", who=by.username, agent=agent)
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
def revoke_machine(owner: User, machine_id: int, *, by: User | None = None) -> int:
    """End a machine's token and its connections, and cancel everything that waits for its agents.

    ``by``: an administrator who does it for its owner.
    """
    by = by or owner
    machine = owned_machine(owner, machine_id)
    waiting = Turn.objects.filter(status__in=Turn.WAITING).filter(Q(agent__machine=machine) | Q(machine=machine))
    lock_rooms(waiting.values_list("room_id", flat=True))
    machine = lock_machine(machine.pk)
    now = timezone.now()
    Machine.objects.filter(pk=machine.pk).update(revoked_at=now)
    Connection.objects.filter(machine=machine, revoked_at=None).update(revoked_at=now)
    cancelled = cancel_all(waiting, by=by, note=f"{machine.name} was revoked.")
    audit.write(owner, "revoke machine", who=by.username, about=machine.name, decision=f"{cancelled} cancelled")
    nudge.machine(machine.pk)
    nudge.user(owner.pk)
    return cancelled
