"""What became of a message, for each whom it was sent to: facts, each with its time, and why the rest still waits."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from django.db.models import Q

from approvals import directory, limits
from approvals.models import Turn
from messaging.models import Entry, Recipient
from rooms.models import Member

State = Literal["stored", "waiting", "delivered", "read", "accepted", "declined", "done", "answered"]
_ENDED = {"refused": "its owner declined it", "cancelled": "the request was taken back"}


@dataclass(frozen=True, slots=True)
class Fact:
    state: State
    at: datetime
    note: str = ""
    """Of a receipt; for *waiting*, why."""


@dataclass(frozen=True, slots=True)
class Delivery:
    handle: str
    facts: list[Fact]
    """Oldest first; *waiting*, if it does, last."""


def states(entry: Entry) -> list[Delivery]:
    """For each recipient what happened to this message. The reader's right to see it is the caller's to find out."""
    rows = list(
        Recipient.objects.filter(entry=entry)
        .select_related("member__agent__machine", "member__agent__owner")
        .order_by("pk")
    )
    happened: dict[int | None, list[Fact]] = defaultdict(list)
    told = [Entry.Kind.MESSAGE, *Entry.RECEIPTS]
    for child in Entry.objects.filter(room=entry.room_id, parent_seq=entry.seq, kind__in=told).order_by("seq"):
        state: State = "answered" if child.kind == Entry.Kind.MESSAGE else child.kind  # type: ignore[assignment]
        note = "" if state == "answered" else child.body
        happened[child.author_id].append(Fact(state, child.created_at, note))
    seats = [row.member for row in rows if row.member.agent is not None]
    standing = directory.standings(seats)
    turns = _turns(entry, seats)
    return [Delivery(row.member.handle, _facts(entry, row, happened[row.member_id], standing, turns)) for row in rows]


def _facts(
    entry: Entry,
    row: Recipient,
    happened: Sequence[Fact],
    standing: dict[int, directory.Status],
    turns: dict[int | None, Turn],
) -> list[Fact]:
    facts = [Fact("stored", entry.created_at), *happened]
    known = {fact.state for fact in facts}
    if "read" not in known and row.read_at is not None:
        facts.append(Fact("read", row.read_at))
    elif row.member.is_agent and not known & {"delivered", "read", "answered", "declined", "done"}:
        why = _why(row.member, standing.get(row.member_id), turns.get(row.member.agent_id))
        facts.append(Fact("waiting", entry.created_at, why))
    return facts


def _turns(entry: Entry, seats: Sequence[Member]) -> dict[int | None, Turn]:
    """By agent, the newest turn that this message belongs to."""
    found = (
        Turn.objects.filter(room=entry.room_id, agent__in=[seat.agent_id for seat in seats])
        .filter(Q(entry=entry) | Q(mail__entry=entry))
        .select_related("agent__owner")
        .order_by("pk")
    )
    return {turn.agent_id: turn for turn in found}


def _why(seat: Member, status: directory.Status | None, turn: Turn | None) -> str:
    """Why it has not been told yet, as this room may know it."""
    if seat.left_at is not None or seat.agent is None or status is None:
        return "it has left the room"
    if turn is not None and turn.status in _ENDED:
        return turn.note or _ENDED[turn.status]
    if turn is not None and turn.status == Turn.Status.ASKED:
        return f"{turn.agent.owner.username} is asked whether it may start"
    if limits.paused(seat.room_id):
        return "the agents' exchange is paused until a person writes"
    match status.state:
        case "working":
            return "queued behind other work"
        case "waiting" if status.mid_turn:
            return f"it waits for its owner, {seat.agent.owner.username}"
        case "usage_limited" | "offline" | "asleep" | "paused" | "blocked":
            return status.words
    return "queued"
