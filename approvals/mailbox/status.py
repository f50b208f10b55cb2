"""How an agent says that it stands."""

from __future__ import annotations

from datetime import datetime
from typing import Literal

from django.utils import timezone

from approvals import reported, turns
from approvals.models import Report, Turn
from messaging import log, mail, nudge
from messaging.models import Entry
from rooms.errors import Invalid
from rooms.models import Member
from rooms.rules import rule

MAX_NOTE = 500
_WORDS = {
    "working": "is at work",
    "blocked": "is blocked",
    "usage_limited": "has reached a limit of its usage",
    "available": "is available",
}


@rule
def report_status(
    seat: Member,
    turn: Turn | None,
    *,
    status: Literal["working", "blocked", "usage_limited", "available"],
    note: str = "",
    ticket: str = "",
    until: datetime | None = None,
    connection: str,
) -> Entry:
    """Tell the room how the agent stands. Mail waits while it works and while its usage is limited.

    *Usage-limited* counts until ``until`` or until another report; without one for an hour, as *working* does outside
    a turn. *Blocked* keeps no mail away. The same again is the same entry.
    """
    if status not in Report.Status.values:
        raise Invalid("Say working, blocked, usage_limited or available.", field="status")
    note, ticket = mail.line(note, "note", most=MAX_NOTE), mail.line(ticket, "ticket")
    if until is not None and timezone.is_naive(until):
        raise Invalid("Give the time with its offset from UTC.", field="until")
    if until is not None and until <= timezone.now():
        raise Invalid("That time has passed.", field="until")
    author, turn = turns.speaking(seat, turn)
    counts_until = until
    if until is None and (status == "usage_limited" or (status == "working" and turn is None)):
        counts_until = timezone.now() + reported.GOOD_FOR
    known = _same(author, turn, status=status, note=note, ticket=ticket, until=until)
    if known is None:
        [known] = log.append(
            author.room_id,
            log.New(
                Entry.Kind.STATUS, author=author, body=_words(author, status, note, until), ticket=ticket,
                data={
                    "member": author.pk, "handle": author.handle, "status": status, "note": note,
                    "until": until.isoformat() if until else "", "turn_of": turn.pk if turn else None,
                },
                principal=turn.principal_id if turn else None, source_turn=turn.pk if turn else None,
                connection=connection,
            ),
        )  # fmt: skip
    Report.objects.update_or_create(
        member=author,
        defaults={
            "status": status, "note": note, "ticket": ticket, "until": counts_until, "at": timezone.now(),
            "turn": turn.pk if turn and status == "working" else None,
        },
    )  # fmt: skip
    if author.agent is not None and author.agent.machine_id is not None:
        nudge.machine(author.agent.machine_id)
    return known


def _words(author: Member, status: str, note: str, until: datetime | None) -> str:
    when = f" until {until:%Y-%m-%d %H:%M %Z}" if until else ""
    return f"{author.handle} {_WORDS[status]}{when}" + (f": {note}" if note else ".")


def _same(
    author: Member, turn: Turn | None, *, status: str, note: str, ticket: str, until: datetime | None
) -> Entry | None:
    """The last report, if this one says nothing new."""
    last = Entry.objects.filter(room=author.room_id, author=author, kind=Entry.Kind.STATUS).order_by("-seq").first()
    if last is None or not Report.objects.filter(member=author, status=status).exists():
        return None
    said = (last.data.get("status"), last.data.get("note"), last.ticket, last.data.get("until"), last.source_turn)
    now = (status, note, ticket, until.isoformat() if until else "", turn.pk if turn else None)
    return last if said == now else None
