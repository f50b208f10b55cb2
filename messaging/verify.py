"""Whether a room's log is still what was written: each entry's digest is over the one before it."""

from __future__ import annotations

from dataclasses import dataclass

from messaging.log import BLANK, begins_after, chained, content_hash
from messaging.models import Anchor, Entry
from rooms.errors import NotFound
from rooms.models import Room


@dataclass(frozen=True, slots=True)
class Verified:
    room: int
    entries: int
    begins_after: int
    """0, or the last number that a clean-up removed."""
    blanked: int
    broken_at: int | None = None
    """The first number that does not fit; None when all do."""
    why: str = ""

    @property
    def ok(self) -> bool:
        return self.broken_at is None


def verify(room_id: int) -> Verified:
    """Read the room's whole log and hold each entry against its digest, from the anchor of the last clean-up on."""
    while True:
        found = _verify(room_id)
        # A clean-up that came between the anchor and the entries looks like a hole.
        if found.ok or begins_after(room_id) == found.begins_after:
            return found


def _verify(room_id: int) -> Verified:
    room = Room.objects.filter(pk=room_id).only("last_seq", "last_digest").first()
    if room is None:
        raise NotFound("The room is gone.")
    anchor = Anchor.objects.filter(room=room_id).first()
    seq, digest = (anchor.seq, anchor.digest) if anchor else (0, "")
    begins_after, entries = seq, 0
    blank: set[int] = set()
    named: set[int] = set()

    def broken(at: int, why: str) -> Verified:
        return Verified(room_id, entries, begins_after, len(blank), at, why)

    for entry in Entry.objects.filter(room=room_id, seq__lte=room.last_seq).order_by("seq").iterator(1000):
        if entry.seq != seq + 1:
            return broken(seq + 1, "It is missing.")
        if entry.digest != chained(digest, entry):
            return broken(entry.seq, "It, or what came before it, was changed.")
        if entry.data == BLANK and not entry.body and not entry.subject:
            blank.add(entry.seq)
        elif entry.body_hash != content_hash(entry.subject, entry.body, entry.data):
            return broken(entry.seq, "Its words were changed.")
        if entry.kind == Entry.Kind.BLANKED:
            named |= {int(number) for number in entry.data.get("seqs", [])}
        seq, digest, entries = entry.seq, entry.digest, entries + 1
    if seq != room.last_seq or digest != room.last_digest:
        return broken(seq + 1, "The newest entries are missing.")
    if unnamed := sorted(blank - named):
        return broken(unnamed[0], "It was blanked, and nobody is named who did it.")
    return Verified(room_id, entries, begins_after, len(blank))
