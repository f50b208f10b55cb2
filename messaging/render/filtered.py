"""A room's timeline with only what one agent, one topic or one ticket has to do with."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import urlencode

from django.db.models import Q

from messaging import log
from messaging.models import Entry, Recipient
from messaging.render.reading import Timeline, items
from rooms.models import Member, Room

SPAN = 20_000
"""Numbers that one page looks through at most; the next page goes on from there."""
LONGEST = 200


@dataclass(frozen=True)
class Filter:
    agent: str = ""
    topic: str = ""
    ticket: str = ""

    @property
    def query(self) -> str:
        return urlencode({name: value for name, value in vars(self).items() if value})

    def __bool__(self) -> bool:
        return bool(self.query)


def asked(query: Mapping[str, str]) -> Filter:
    """What a reader asks for; false when it is everything."""
    given = {
        name: " ".join(log.clean(query.get(name) or "")[:LONGEST].split()) for name in ("agent", "topic", "ticket")
    }
    return Filter(given["agent"].removeprefix("@"), given["topic"].removeprefix("#"), given["ticket"])


def newest(room_id: int, only: Filter, *, before: int | None = None, limit: int = 50) -> Timeline:
    """The newest entries that it lets through, or those before a number."""
    cursor = Room.objects.values_list("last_seq", flat=True).get(pk=room_id)
    upper = min(before or cursor + 1, cursor + 1)
    floor = max(0, upper - 1 - SPAN)
    rows = Entry.objects.filter(log.STANDS, room_id=room_id, seq__lt=upper, seq__gt=floor)
    if only.agent:
        seats = list(Member.objects.filter(room=room_id, handle__iexact=only.agent, is_agent=True))
        got = Recipient.objects.filter(member__in=seats, seq__lt=upper, seq__gt=floor)
        rows = rows.filter(Q(author__in=seats) | Q(pk__in=got.values("entry")))
    if only.topic:
        rows = rows.filter(topic=only.topic)
    if only.ticket:
        rows = rows.filter(ticket=only.ticket)
    found = list(rows.select_related("author").order_by("-seq")[: limit + 1])
    shown = found[:limit][::-1]
    earlier = None
    if len(found) > limit:
        earlier = shown[0].seq
    elif floor:
        earlier = floor + 1
    return Timeline(items(room_id, shown), cursor, earlier)
