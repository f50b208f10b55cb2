"""What became of a message, for each whom it was sent to: facts, each with its time, and why the rest still waits."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from django.db.models import Min

from approvals import directory, limits
from approvals.models import Mail, Turn
from messaging.models import Entry, Recipient
from rooms.models import Member

State = Literal["stored", "waiting", "delivered", "read", "accepted", "declined", "done", "answered"]
TOLD = frozenset({"delivered", "read", "accepted", "answered", "declined", "done"})
"""Whoever did one of these knows of the message, and waits for no notice."""
_ENDED = {"refused": "its owner declined it", "cancelled": "the request was taken back"}


@dataclass(frozen=True, slots=True)
class Fact:
    state: State
    at: datetime
    note: str = ""
    """Of a receipt; for *waiting*, why."""
    number: int = 0
    """Of the entry that says so; 0 where none does."""
    over: bool = False
    """For *waiting*: no notice will come any more."""


@dataclass(frozen=True, slots=True)
class Delivery:
    handle: str
    facts: list[Fact]
    """Oldest first; *waiting*, if it does, last."""
    is_agent: bool = True


type Happened = defaultdict[tuple[int, int | None], list[Fact]]
"""By message and member, in order."""


def states(entry: Entry) -> list[Delivery]:
    """For each recipient what happened to this message. The reader's right to see it is the caller's to find out."""
    return states_of([entry])[entry.seq]


def states_of(entries: Sequence[Entry]) -> dict[int, list[Delivery]]:
    """The same for many messages of one room, by their numbers, in as many queries as for one."""
    rows: dict[int, list[Recipient]] = defaultdict(list)
    for row in (
        Recipient.objects.filter(entry__in=[entry.pk for entry in entries])
        .select_related("member__agent__machine", "member__agent__owner")
        .order_by("pk")
    ):
        rows[row.entry_id].append(row)
    happened = _happened(entries)
    waiting = [
        row
        for entry in entries
        for row in rows[entry.pk]
        if _waits(row, {fact.state for fact in happened[(entry.seq, row.member_id)]})
    ]
    why = _reasons(entries[0].room_id, waiting) if waiting else {}
    return {entry.seq: [_delivery(entry, row, happened, why) for row in rows[entry.pk]] for entry in entries}


def _delivery(entry: Entry, row: Recipient, happened: Happened, why: dict[int, tuple[str, bool]]) -> Delivery:
    facts = [Fact("stored", entry.created_at, "", entry.seq), *happened[(entry.seq, row.member_id)]]
    if row.read_at is not None and all(fact.state != "read" for fact in facts):
        facts.append(Fact("read", row.read_at))
    elif row.pk in why:
        note, over = why[row.pk]
        facts.append(Fact("waiting", entry.created_at, note, over=over))
    return Delivery(row.member.handle, facts, row.member.is_agent)


def _happened(entries: Sequence[Entry]) -> Happened:
    """Each receipt, and the first answer."""
    if not entries:
        return defaultdict(list)
    under = Entry.objects.filter(room=entries[0].room_id, parent_seq__in=[entry.seq for entry in entries])
    told: list[tuple[int, int | None, Fact]] = [
        (int(child.parent_seq or 0), child.author_id, Fact(child.kind, child.created_at, child.body, child.seq))  # type: ignore[arg-type]
        for child in under.filter(kind__in=Entry.RECEIPTS)
    ]
    answers = under.filter(kind=Entry.Kind.MESSAGE).values_list("parent_seq", "author").order_by()
    for parent, author, at, number in answers.annotate(at=Min("created_at"), number=Min("seq")):
        told.append((int(parent or 0), author, Fact("answered", at, "", number)))
    found: Happened = defaultdict(list)
    for parent, author, fact in sorted(told, key=lambda one: one[2].number):
        found[(parent, author)].append(fact)
    return found


def _waits(row: Recipient, known: set[State]) -> bool:
    return row.read_at is None and row.member.is_agent and not known & TOLD


def _reasons(room_id: int, waiting: Sequence[Recipient]) -> dict[int, tuple[str, bool]]:
    """By the recipient's row why it has not been told yet, and whether that is for good."""
    seats = {row.member_id: row.member for row in waiting if row.member.agent is not None}
    standing = directory.standings(list(seats.values()))
    turns = _turns(room_id, waiting)
    paused = limits.paused(room_id)
    return {
        row.pk: _why(
            row.member, standing.get(row.member_id), turns.get((row.entry_id, row.member.agent_id)), paused=paused
        )
        for row in waiting
    }


def _turns(room_id: int, waiting: Sequence[Recipient]) -> dict[tuple[int, int | None], Turn]:
    """By message and agent, the newest turn that it belongs to."""
    entries, agents = {row.entry_id for row in waiting}, {row.member.agent_id for row in waiting}
    turns = Turn.objects.filter(room=room_id, agent__in=agents).select_related("agent__owner")
    found = [(turn.entry_id, turn) for turn in turns.filter(entry__in=entries)]
    joined = Mail.objects.filter(entry__in=entries, turn__room=room_id, turn__agent__in=agents)
    found += [(mail.entry_id, mail.turn) for mail in joined.select_related("turn__agent__owner")]
    return {(entry, turn.agent_id): turn for entry, turn in sorted(found, key=lambda one: one[1].pk)}


def _why(seat: Member, status: directory.Status | None, turn: Turn | None, *, paused: bool) -> tuple[str, bool]:
    """Why it has not been told yet, as this room may know it, and whether it never will be."""
    if seat.left_at is not None or seat.agent is None or status is None:
        return "it has left the room", True
    if turn is not None and turn.status in _ENDED:
        return turn.note or _ENDED[turn.status], True
    if turn is not None and turn.status == Turn.Status.ASKED:
        return f"{turn.agent.owner.username} is asked whether it may start", False
    if paused:
        return "the agents' exchange is paused until a person writes", False
    match status.state:
        case "working":
            return "queued behind other work", False
        case "waiting" if status.mid_turn:
            return f"it waits for its owner, {seat.agent.owner.username}", False
        case "usage_limited" | "offline" | "asleep" | "paused" | "blocked":
            return status.words, False
    return "queued", False
