"""Agents: put on a machine, described, seated in rooms."""

from __future__ import annotations

from django.core.files.base import ContentFile
from django.utils import timezone

from agentroom_machine import wire
from approvals.models import Grant, Turn
from messaging import nudge
from messaging.models import Entry
from rooms import access, tokens
from rooms.errors import Conflict, Invalid, NotFound, Refused
from rooms.membership import words
from rooms.membership.rooms import say
from rooms.membership.sharing import end_unshared
from rooms.models import Agent, Machine, Member, Room, User
from rooms.rules import rule

MAX_AVATAR = 1_000_000
"""Bytes of an agent's picture."""
_PICTURES = {b"\x89PNG\r\n\x1a\n": "png", b"\xff\xd8\xff": "jpg", b"GIF87a": "gif", b"GIF89a": "gif"}


@rule
def register_agent(machine: Machine, new: wire.AgentNew) -> Agent:
    """Give a runtime in a working directory an address."""
    machine = access.lock_machine(machine.pk)
    if machine.revoked_at is not None:
        raise NotFound(access.ABSENT)
    handle = words.handle(new.handle)
    used = set(Agent.objects.filter(owner=machine.owner).values_list("handle", flat=True))
    if handle in used:
        free = next(name for name in words.variants(handle) if name not in used)
        raise Conflict(f"You have an agent called {handle} already. Try {free}.", field="handle")
    agent = Agent(owner=machine.owner, handle=handle)
    agent.machine = machine
    agent.display_name = words.line(new.display_name or handle, most=60, field="display_name", what="the display name")
    agent.role = words.line(new.role, most=200, field="role", what="the role", needed=False)
    agent.runtime = words.line(new.runtime, most=500, field="runtime", what="the runtime")
    agent.model = words.line(new.model, most=100, field="model", what="the model", needed=False)
    agent.workdir = words.line(new.workdir, most=1000, field="workdir", what="the working directory")
    agent.save()
    nudge.machine(machine.pk)
    nudge.user(machine.owner_id)
    return agent


@rule
def edit_agent(owner: User, handle: str, edit: wire.AgentEdit, machine: Machine | None = None) -> Agent:
    """Change what is given. ``here`` brings the agent to ``machine``. Pausing is ``approvals.control``'s."""
    agent = Agent.objects.filter(owner=owner, handle=handle, retired_at=None).first()
    if agent is None:
        raise NotFound(f"You have no agent called {handle}.")
    before = agent.machine_id
    moves = edit.here and machine is not None and before != machine.pk
    replaced = edit.workdir not in (None, agent.workdir) or edit.runtime not in (None, agent.runtime)
    if (moves or replaced) and Turn.objects.filter(agent=agent, status__in=["offered", "running"]).exists():
        raise Conflict(f"{handle} works right now. Wait until it is done, or stop it.")
    if moves and machine is not None:
        if machine.owner_id != owner.pk or machine.revoked_at is not None:
            raise NotFound(access.ABSENT)
        agent.machine = machine
    for name, most, needed in (
        ("display_name", 60, True),
        ("role", 200, False),
        ("model", 100, False),
        ("runtime", 500, True),
        ("workdir", 1000, True),
    ):
        value = getattr(edit, name)
        if value is not None:
            what = f"the {name.replace('_', ' ')}"
            setattr(agent, name, words.line(value, most=most, field=name, what=what, needed=needed))
    if edit.share_diffs is not None:
        agent.share_diffs = edit.share_diffs
    if edit.worktree_per_room is not None:
        agent.worktree_per_room = edit.worktree_per_room
    if edit.wake_for_mail is not None:
        agent.wake_for_mail = edit.wake_for_mail
    agent.save()
    for machine_id in {before, agent.machine_id}:
        if machine_id is not None:
            nudge.machine(machine_id)
    for room_id in _rooms_with(agent):
        nudge.room(room_id)
    nudge.user(owner.pk)
    return agent


@rule
def set_avatar(owner: User, agent_id: int, picture: bytes | None) -> Agent:
    """Give the agent a picture, or take it away. What it is is read from the bytes, never from its name."""
    agent = access.owned_agent(owner, agent_id)
    kind = "" if picture is None else picture_kind(picture)
    if picture is not None and len(picture) > MAX_AVATAR:
        raise Invalid("Use a picture of at most 1 MB.", field="avatar")
    if picture is not None and not kind:
        raise Invalid("Use a PNG, JPEG, GIF or WebP picture.", field="avatar")
    agent.avatar.delete(save=False)
    if picture is not None:
        agent.avatar.save(f"{tokens.digest(tokens.new(''))[:32]}.{kind}", ContentFile(picture), save=False)
    agent.save(update_fields=["avatar"])
    return agent


def picture_kind(picture: bytes) -> str:
    """The file ending of a picture that browsers show inertly; empty for anything else."""
    if picture[:4] == b"RIFF" and picture[8:12] == b"WEBP":
        return "webp"
    return next((kind for start, kind in _PICTURES.items() if picture.startswith(start)), "")


@rule
def add_agent(owner: User, room_id: int, agent_id: int, *, handle: str = "") -> Member:
    """Seat one's own agent in a room that one sits in. Its inbox is empty, and it brings no old *always*."""
    agent = access.owned_agent(owner, agent_id)
    access.member_for(owner, room_id)
    room = access.lock_rooms([room_id])[room_id]
    own = access.member_for(owner, room_id)
    if own.role == Member.Role.VIEWER:
        raise Refused("You read this room; its owner can let you bring an agent.")
    if room.archived_at is not None or room.kind == Room.Kind.ACCOUNT:
        raise Refused("No agent can sit in this room.")
    if room.kind == Room.Kind.DIRECT and room.direct_agent_id != agent.pk:
        raise Refused("This room is for one agent alone.")
    seat = Member.objects.filter(room=room, agent=agent).first()
    if seat is not None and seat.seated:
        return seat
    name = words.claim_handle(room, words.handle(handle or agent.handle), owner.username, seat=seat)
    end_unshared(Grant.objects.filter(agent=agent))
    if seat is None:
        seat = Member(room=room, agent=agent, is_agent=True)
    else:
        Grant.objects.filter(agent=agent, member__room=room).exclude(level=Grant.Level.DENY).delete()
    seat.handle, seat.name, seat.role = name, agent.display_name, Member.Role.MEMBER
    seat.joined_at, seat.left_at, seat.removed_at, seat.expires_at = timezone.now(), None, None, None
    seat.read_seq = room.last_seq
    seat.save()
    seat.inbox.filter(read_at=None).delete()
    access.rights_changed(room.pk)
    say(seat, Entry.Kind.JOINED, f"{owner.username} brought {seat.handle} in.", what="brought", by=owner.username)
    nudge.user(owner.pk)
    return seat


def _rooms_with(agent: Agent) -> list[int]:
    return list(agent.seats.filter(left_at=None).values_list("room_id", flat=True))
