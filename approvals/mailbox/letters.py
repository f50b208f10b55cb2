"""Reading an inbox. This call alone marks mail as read, and what is read can be read again."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from django.utils import timezone

from approvals import turns
from approvals.models import Turn
from messaging import log, nudge
from messaging.models import Entry, Recipient
from rooms.access import ABSENT, lock_rooms, seated_agents
from rooms.errors import NotFound, Refused
from rooms.models import Member
from rooms.rules import rule

MOST = 100
Kind = Literal["message", "accepted", "declined", "done", "answer"]


@dataclass(frozen=True, slots=True)
class Letter:
    number: int
    from_handle: str
    from_is_agent: bool
    in_the_name_of: str | None
    """The person behind it; None where nobody stands behind it."""
    subject: str
    body: str
    topic: str
    ticket: str
    at: datetime
    parent: int | None
    """The message that it answers or acknowledges."""
    kind: Kind
    note: str
    """Of a receipt; a message has a body instead."""
    read_at: datetime | None


@dataclass(frozen=True, slots=True)
class Inbox:
    messages: list[Letter]
    cursor: int
    """The number of the last one, or ``after`` when there is none: ask with it for what comes after."""
    has_more: bool
    unread: int
    """How many still wait for the caller."""


def read(
    seat: Member,
    turn: Turn | None,
    *,
    peek: bool = False,
    limit: int = 20,
    after: int | None = None,
    by_machine: bool = False,
) -> Inbox:
    """What waits for the agent, oldest first, which marks it read unless ``peek``.

    With ``after``, everything behind that number, read before or not. Inside a turn only what came in the name of the
    person behind that turn. ``by_machine``: through a session that a machine runs. Outside a turn it reads nothing:
    what a turn has left running would take from others the mail that their own turns are for.
    """
    if by_machine and turn is None:
        raise Refused("Mail is read inside a turn. Nothing is lost: the next turn names what waits.")
    return _look(seat, turn, limit, after) if peek else _read(seat, turn, limit, after)


@rule
def _read(seat: Member, turn: Turn | None, limit: int, after: int | None) -> Inbox:
    lock_rooms([seat.room_id])
    return _look(seat, turn, limit, after, mark=True)


def _look(seat: Member, turn: Turn | None, limit: int, after: int | None, *, mark: bool = False) -> Inbox:
    seat = own(seat)
    if turn is not None:
        turn = current(seat, turn)
    limit = max(1, min(limit, MOST))
    wanted = turns.unread(seat, turn) if after is None else turns.again(seat, turn, after)
    rows = list(wanted[: limit + 1])
    shown, has_more = rows[:limit], len(rows) > limit
    if mark:
        _mark(seat, turn, shown)
    letters = as_letters(shown)
    cursor = letters[-1].number if letters else after or 0
    return Inbox(letters, cursor, has_more, turns.unread(seat, turn).count())


def own(seat: Member) -> Member:
    """The agent's seat as it is now; NotFound when it no longer sits there."""
    found = seated_agents(seat.room_id).filter(pk=seat.pk, agent__retired_at=None).first()
    if found is None:
        raise NotFound(ABSENT)
    return found


def current(seat: Member, turn: Turn) -> Turn:
    found = Turn.objects.filter(pk=turn.pk, agent=seat.agent_id, room=seat.room_id, status="running").first()
    if found is None:
        raise NotFound("The turn that you speak from has ended.")
    return found


def _mark(seat: Member, turn: Turn | None, rows: Sequence[Recipient]) -> None:
    """Store that these were read, each once, and end what would only have told of them."""
    unread = [row for row in rows if row.read_at is None]
    if not unread:
        return
    now = timezone.now()
    Recipient.objects.filter(pk__in=[row.pk for row in unread], read_at=None).update(read_at=now)
    messages = set(
        Entry.objects.filter(
            pk__in=[row.entry_id for row in unread], kind=Entry.Kind.MESSAGE
        ).values_list("seq", flat=True)
    )  # fmt: skip
    log.append(
        seat.room_id,
        *(
            log.New(
                Entry.Kind.READ, author=seat, parent_seq=row.seq, principal=row.principal,
                source_turn=turn.pk if turn else None,
            )
            for row in unread
            if row.seq in messages
        ),
    )  # fmt: skip
    for row in unread:
        row.read_at = now
    turns.end_moot(seat)
    nudge.inbox(seat.pk)


def as_letters(rows: Sequence[Recipient]) -> list[Letter]:
    """Each with its entry, read apart: the inbox's index alone says which rows they are."""
    entries = Entry.objects.select_related("author").in_bulk([row.entry_id for row in rows])
    names = names_of(entries.values())
    return [_letter(row, entries[row.entry_id], names) for row in rows if row.entry_id in entries]


def _letter(row: Recipient, entry: Entry, names: dict[tuple[int, int], str]) -> Letter:
    receipt = entry.kind != Entry.Kind.MESSAGE
    behind = None if entry.principal is None else names.get((entry.room_id, entry.principal), "somebody who left")
    return Letter(
        number=entry.seq,
        from_handle=entry.author.handle if entry.author else "",
        from_is_agent=bool(entry.author and entry.author.is_agent),
        in_the_name_of=behind,
        subject=entry.subject,
        body="" if receipt else entry.body,
        topic=entry.topic,
        ticket=entry.ticket,
        at=entry.created_at,
        parent=entry.parent_seq,
        kind=_kind(entry),
        note=entry.body if receipt else "",
        read_at=row.read_at,
    )


def _kind(entry: Entry) -> Kind:
    match entry.kind:
        case "accepted" | "declined" | "done":
            return entry.kind
        case _:
            return "answer" if "answers" in entry.data else "message"


def names_of(entries: Iterable[Entry]) -> dict[tuple[int, int], str]:
    """By room and person, what the people behind these entries are called there."""
    wanted = [(entry.room_id, entry.principal) for entry in entries if entry.principal is not None]
    seats = Member.objects.filter(room__in={room for room, _ in wanted}, user__in={person for _, person in wanted})
    return {(seat.room_id, seat.user_id): seat.handle for seat in seats if seat.user_id is not None}
