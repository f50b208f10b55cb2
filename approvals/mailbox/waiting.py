"""What mail waits for a person's own agents, for that person."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from django.db.models import Count, Exists, Max, OuterRef, Q

from approvals.mailbox.delivery import TOLD, states_of
from approvals.models import Turn
from messaging.models import Entry, Recipient
from rooms.models import Agent, Room

_KNOWS = ["message" if state == "answered" else state for state in TOLD]


@dataclass(frozen=True, slots=True)
class Waits:
    room: Room
    count: int
    why: str
    """Why the newest of them waits."""
    number: int
    """Of the newest of them."""


def waits(agents: Sequence[Agent]) -> dict[int, list[Waits]]:
    """By agent, and there by room, the mail that no notice has named yet. Whose agents they are, the caller knows."""
    done = Entry.objects.filter(
        room=OuterRef("entry__room"), parent_seq=OuterRef("seq"), author=OuterRef("member"), kind__in=_KNOWS
    )
    ended = Turn.objects.filter(
        Q(entry=OuterRef("entry")) | Q(mail__entry=OuterRef("entry")),
        agent=OuterRef("member__agent"), status__in=["refused", "cancelled"],
    )  # fmt: skip
    newest = (
        Recipient.objects.filter(member__agent__in=agents, member__left_at=None, read_at=None)
        .filter(entry__room__archived_at=None, entry__kind=Entry.Kind.MESSAGE)
        .filter(Q(entry__author__is_agent=True) | Q(entry__data__has_key="answers"))
        .exclude(Exists(done))
        .exclude(Exists(ended))
        .values("member", "member__agent", "member__handle", "entry__room")
        .annotate(count=Count("pk"), newest=Max("entry"))
        .order_by("member")
    )
    groups = list(newest)
    entries = Entry.objects.in_bulk([group["newest"] for group in groups])
    rooms = Room.objects.in_bulk({group["entry__room"] for group in groups})
    by_room: dict[int, list[Entry]] = defaultdict(list)
    for entry in entries.values():
        by_room[entry.room_id].append(entry)
    known = {room: states_of(found) for room, found in by_room.items()}
    result: dict[int, list[Waits]] = defaultdict(list)
    for group in groups:
        room, entry = rooms[group["entry__room"]], entries[group["newest"]]
        [mine] = [one for one in known[room.pk][entry.seq] if one.handle == group["member__handle"]]
        result[group["member__agent"]].append(Waits(room, group["count"], mine.facts[-1].note, entry.seq))
    return result
