"""People whose account is gone: what a room's log says of them by name is shown without it.

The log keeps its sentences as they were written. A name that is free again must not make somebody else the one who
joined, decided or was mentioned.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Any

from messaging.models import Entry
from rooms.models import FormerName, Member, Room

FORMER = "former member"
"""How they are called, with the number of their account; nobody can choose a name with a space in it."""
SENTENCES = frozenset({"joined", "left", "control", "blanked", "notice"})
"""Kinds whose body the server wrote. What people and agents said stays as they said it."""


def named(room_id: int, entries: Sequence[Entry]) -> Sequence[Entry]:
    """The same entries with names that mean nobody any more replaced, to be shown and never stored."""
    found: dict[str, list[FormerName]] = defaultdict(list)
    for name in FormerName.objects.filter(room=room_id).order_by("through"):
        found[name.handle].append(name)
    if not found:
        return entries
    words = re.compile(rf"(?<![\w-])@?({'|'.join(map(re.escape, found))})(?![\w-])", re.IGNORECASE)
    for entry in entries:
        shown = {
            handle: first.shown_as
            for handle, names in found.items()
            if (first := next((name for name in names if name.through >= entry.seq), None))
        }
        if shown:
            _rename(entry, shown, words)
    return entries


def _rename(entry: Entry, shown: dict[str, str], words: re.Pattern[str]) -> None:
    def instead(match: re.Match[str]) -> str:
        return shown.get(match[1].lower(), match[0])

    if entry.kind in SENTENCES and "body" not in entry.get_deferred_fields():
        entry.body = words.sub(instead, entry.body)
    data: dict[str, Any] = dict(entry.data)
    for key in ("by", "handle"):
        if isinstance(data.get(key), str):
            data[key] = shown.get(data[key], data[key])
    # Why a turn ended, and by which way mail came whose start is asked: the server's own words, too.
    written = "note" if entry.kind == Entry.Kind.TURN else "short" if data.get("subject") == "start" else ""
    if isinstance(data.get(written), str):
        data[written] = words.sub(instead, data[written])
    if data.get("mentions"):
        data["mentions"] = [{**one, "handle": shown.get(one["handle"], one["handle"])} for one in data["mentions"]]
    entry.data = data


def forget(seats: Iterable[Member], *, username: str, elsewhere: Iterable[int], shown_as: str) -> None:
    """From now on these seats' names, and that of their holder's account, mean nobody in what was logged so far.

    ``elsewhere``: rooms where the account was named without a seat. Under the rooms' locks.
    """
    through = dict(Room.objects.filter(members__in=[seat.pk for seat in seats]).values_list("pk", "last_seq"))
    through |= dict(Room.objects.filter(pk__in=list(elsewhere)).values_list("pk", "last_seq"))
    names: dict[tuple[int, str], int] = {(room_id, username): last for room_id, last in through.items()}
    for seat in seats:
        # Who left long ago may have a successor of the same name there already.
        left = Entry.objects.filter(author=seat, kind=Entry.Kind.LEFT).order_by("-seq").values_list("seq", flat=True)
        last = through[seat.room_id] if seat.left_at is None else left.first() or through[seat.room_id]
        names[seat.room_id, seat.handle] = last
        if seat.left_at is not None:
            names[seat.room_id, username] = last
    taken = set(
        Member.objects.filter(room__in=through, left_at=None)
        .exclude(pk__in=[seat.pk for seat in seats])
        .values_list("room_id", "handle")
    )
    for (room_id, handle), last in names.items():
        # Somebody else in the room bears that name now, by their own choice: what they did is theirs.
        if (room_id, handle) not in taken or last < through[room_id]:
            FormerName.objects.update_or_create(
                room_id=room_id, handle=handle, through=last, defaults={"shown_as": shown_as}
            )
