"""What was said in the agent's room, for an agent that wants to know what it is about."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Literal

from approvals.mailbox.letters import names_of, own
from messaging import former, log
from messaging.models import Entry
from rooms.errors import NotFound
from rooms.models import Member, Room

MOST = 200


@dataclass(frozen=True, slots=True)
class Line:
    number: int
    from_handle: str
    from_is_agent: bool
    in_the_name_of: str | None
    to: list[str]
    """The handles that it addressed."""
    subject: str
    body: str
    topic: str
    ticket: str
    at: datetime
    parent: int | None
    kind: Literal["message", "text"]
    """*text*: what an agent wrote while it worked on ``parent``."""


@dataclass(frozen=True, slots=True)
class History:
    entries: list[Line]
    cursor: int
    """Everything up to this number was looked at: ask for what comes after it."""
    has_more: bool
    latest_seq: int


def history(seat: Member, *, after: int = 0, limit: int = 50) -> History:
    """What people and agents said in the room, oldest first, without what tools put out.

    Without ``after`` it begins where the agent joined, so that an old room does not flood it.
    """
    seat = own(seat)
    limit = max(1, min(limit, MOST))
    latest = Room.objects.filter(pk=seat.room_id).values_list("last_seq", flat=True).first()
    if latest is None:
        raise NotFound("The room is gone.")
    cursor = min(max(after if after > 0 else seat.read_seq, log.begins_after(seat.room_id)), latest)
    reach = min(latest, cursor + log.WINDOW)
    rows = list(
        Entry.objects.filter(
            room=seat.room_id, seq__gt=cursor, seq__lte=reach, kind__in=[Entry.Kind.MESSAGE, Entry.Kind.TEXT]
        ).select_related("author").order_by("seq")[: limit + 1]
    )  # fmt: skip
    if len(rows) > limit:
        rows = rows[:limit]
        reach = rows[-1].seq
    return History(_lines(former.named(seat.room_id, rows)), reach, reach < latest, latest)


def _lines(rows: Sequence[Entry]) -> list[Line]:
    """One line for each message, and for each passage of an agent's text, which came in pieces."""
    names = names_of(rows)
    lines: list[Line] = []
    part: tuple[object, object] | None = None
    for entry in rows:
        this = (entry.data.get("turn"), entry.data.get("part")) if entry.kind == Entry.Kind.TEXT else None
        if this is not None and this == part:
            lines[-1] = replace(lines[-1], body=lines[-1].body + entry.body)
            continue
        part = this
        lines.append(
            Line(
                number=entry.seq,
                from_handle=entry.author.handle if entry.author else "",
                from_is_agent=bool(entry.author and entry.author.is_agent),
                in_the_name_of=names.get((entry.room_id, entry.principal)) if entry.principal is not None else None,
                to=[str(mention["handle"]) for mention in entry.data.get("mentions", [])],
                subject=entry.subject,
                body=entry.body,
                topic=entry.topic,
                ticket=entry.ticket,
                at=entry.created_at,
                parent=entry.parent_seq,
                kind="text" if this is not None else "message",
            )
        )
    return lines
