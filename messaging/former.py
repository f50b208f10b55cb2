"""People whose account is gone: what a room's log says of them by name is shown without it.

The log keeps its sentences as they were written. A name that is free again must not make somebody else the one who
joined, decided or was mentioned.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from django.db.models import Max, Q

from messaging.models import Entry
from rooms.models import FormerName, Member, Room

FORMER = "former member"
"""How they are called, with the number of their account; nobody can choose a name with a space in it."""
SENTENCES = frozenset({"joined", "left", "control", "blanked", "notice"})
"""Kinds whose body the server wrote. What people and agents said stays as they said it."""
SAYS_WHO = SENTENCES | {"turn", "approval", "message"}
"""Kinds that may say whose act they tell of; a message does when it is the answer to an agent's question."""


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

    ``elsewhere``: rooms where the account may be named, with or without a seat. Under the locks of the seats' rooms.
    """
    seats = list(seats)
    own = {seat.pk for seat in seats}
    # A deputy, an administrator, an agent's owner: they need no seat where they do something.
    acted: dict[int, int] = dict(
        Entry.objects.filter(kind__in=SAYS_WHO, data__by=username).values_list("room").annotate(Max("seq")).order_by()
    )
    rooms = {seat.room_id for seat in seats} | set(elsewhere) | set(acted)
    last = dict(Room.objects.filter(pk__in=rooms).values_list("pk", "last_seq"))
    joined = _joined(last)
    names: dict[tuple[int, str], int] = defaultdict(int)
    for seat in seats:
        came = joined[seat.room_id]
        for handle in {seat.handle, username} | {one.handle for one in came if one.seat == seat.pk}:
            since = max((one.seq for one in came if (one.seat, one.handle) == (seat.pk, handle)), default=0)
            # Who left may have a successor of the same name there.
            next_ = (one.seq for one in came if one.handle == handle and one.seq > since and one.seat not in own)
            through = min((seq - 1 for seq in next_), default=last[seat.room_id])
            names[seat.room_id, handle] = max(names[seat.room_id, handle], through)
    for room_id, seq in [*((pk, last[pk]) for pk in elsewhere if pk in last), *acted.items()]:
        names[room_id, username] = max(names[room_id, username], seq)
    taken = Member.objects.filter(room__in=last, left_at=None).exclude(pk__in=own)
    for room_id, handle, pk in taken.values_list("room_id", "handle", "pk"):
        if (room_id, handle) in names:
            # Somebody else bears that name there now, by their own choice: what they did is theirs.
            began = max((one.seq for one in joined[room_id] if one.seat == pk), default=0)
            names[room_id, handle] = min(names[room_id, handle], began - 1)
            if not _there(room_id, own, username, names[room_id, handle]):
                del names[room_id, handle]
    for (room_id, handle), through in names.items():
        FormerName.objects.get_or_create(
            room_id=room_id, handle=handle, through=through, defaults={"shown_as": shown_as}
        )


@dataclass(frozen=True, slots=True)
class _Joined:
    seq: int
    seat: int
    handle: str


def _joined(rooms: Iterable[int]) -> dict[int, list[_Joined]]:
    """Who came into these rooms, and under which name."""
    found: dict[int, list[_Joined]] = defaultdict(list)
    entries = Entry.objects.filter(room__in=list(rooms), kind=Entry.Kind.JOINED)
    for room_id, seq, data in entries.values_list("room_id", "seq", "data"):
        found[room_id].append(_Joined(seq, data.get("member", 0), data.get("handle", "")))
    return found


def _there(room_id: int, own: set[int], username: str, through: int) -> bool:
    """Whether they did anything in the room so far."""
    upto = Entry.objects.filter(room=room_id, seq__lte=through)
    return upto.filter(Q(author__in=own) | Q(data__member__in=own) | Q(data__by=username)).exists()
