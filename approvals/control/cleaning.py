"""Entries that are older than their room keeps go, oldest first. What still waits in them ends before, visibly."""

from __future__ import annotations

import logging
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import datetime, timedelta

from django.db.models import Count, Max, Min, Q, QuerySet
from django.utils import timezone

from approvals import consent, limits, turns
from approvals.models import Approval, Mail, Turn, Undo
from approvals.turns.asking import asker
from messaging import files, log, nudge, retention
from messaging.models import Attachment, Entry, Recipient
from rooms.access import lock_rooms, seated
from rooms.models import Room
from rooms.rules import rule

logger = logging.getLogger(__name__)

SLICE = 250
"""Entries that one transaction removes: whoever writes waits so long."""
AT_ONCE = 20
"""Requests and questions that one transaction ends."""
REST = 1.0
"""The pause after a transaction, in the time that it took: others write meanwhile."""
NAMED = 5
"""Of what has ended, so much is named in the room; the rest is counted."""


@dataclass(frozen=True, slots=True)
class Due:
    """What a clean-up takes from one room."""

    room: int
    name: str
    days: int
    entries: int
    through: int
    oldest: datetime
    newest: datetime
    held_by: int | None
    """The turn that still runs, whose request and what came after it stay; None for none."""


@dataclass(frozen=True, slots=True)
class Preview:
    rooms: list[Due]
    files: int
    """Files that nothing names any more then, with those that nothing names now."""
    bytes: int

    @property
    def entries(self) -> int:
        return sum(due.entries for due in self.rooms)


@dataclass(frozen=True, slots=True)
class Cleaned:
    rooms: int
    entries: int
    failed: tuple[int, ...] = ()
    """Rooms that could not be cleaned up; the next clean-up tries again."""


@dataclass(frozen=True, slots=True)
class Step:
    removed: int
    more: bool


def due(room: Room, days: int, now: datetime) -> Due | None:
    """What would go of a room that keeps its entries for so many days; None for nothing."""
    through, held_by = _unheld(room.pk, retention.reach(room.pk, now - timedelta(days=days)))
    going = Entry.objects.filter(room=room, seq__lte=through)
    found = going.aggregate(entries=Count("pk"), oldest=Min("created_at"), newest=Max("created_at"))
    if not found["entries"]:
        return None
    return Due(room.pk, room.name, days, found["entries"], through, found["oldest"], found["newest"], held_by)


def preview(now: datetime | None = None) -> Preview:
    """What a clean-up would do now. Changes nothing."""
    now = now or timezone.now()
    limited = [(room, retention.days(room)) for room in retention.rooms_due(now)]
    rooms = [found for room, days in limited if days and (found := due(room, days, now)) is not None]
    going: Counter[tuple[str, str]] = Counter()
    sizes: dict[tuple[str, str], int] = {}
    for one in rooms:
        attached = Attachment.objects.filter(entry__room=one.room, entry__seq__lte=one.through)
        for source, sha256, size in attached.values_list("source", "sha256", "size"):
            going[source, sha256] += 1
            sizes[source, sha256] = size
    lost = [
        size
        for (source, sha256), size in sizes.items()
        if Attachment.objects.filter(source=source, sha256=sha256).count() == going[source, sha256]
        and files.path(source, sha256).exists()
    ]
    lost += [found.size for found in files.unnamed(now)]
    return Preview(rooms, len(lost), sum(lost))


def clean(now: datetime | None = None) -> Cleaned:
    """Remove everywhere what is older than its room keeps. Safe to run twice at once, and after it was killed."""
    now = now or timezone.now()
    counts, failed = list[int](), list[int]()
    for room in retention.rooms_due(now):
        try:
            counts.append(clean_room(room.pk, now))
        except Exception:
            logger.exception("Room %s could not be cleaned up; the next clean-up tries again.", room.pk)
            failed.append(room.pk)
    for found in files.unnamed(now):
        files.remove(found.path, now)
    return Cleaned(sum(1 for count in counts if count), sum(counts), tuple(failed))


def clean_room(room_id: int, now: datetime) -> int:
    """Remove what this room no longer keeps, slice by slice, and return how many entries went."""
    removed = 0
    while True:
        began = time.monotonic()
        step = _step(room_id, now)
        removed += step.removed
        if not step.more:
            return removed
        time.sleep((time.monotonic() - began) * REST)


@rule
def _step(room_id: int, now: datetime) -> Step:
    """End some of what waits in the oldest slice, or remove the slice once nothing does."""
    room = lock_rooms([room_id]).get(room_id)
    before = None if room is None else retention.cutoff(room, now)
    if room is None or before is None:
        return Step(0, more=False)
    reach = retention.reach(room_id, before, most=SLICE)
    through, _ = _unheld(room_id, reach)
    limit = retention.days(room) or 0
    here = Turn.objects.filter(room=room_id, entry__seq__lte=through)
    if not here.exists():
        return _purge(room_id, through, limit, now)
    if ended := _end(room_id, through, f"Its message is older than the {limit} days that this room keeps."):
        _tell(room_id, through, limit, ended)
        return Step(0, more=True)
    limits.keep_count(here)
    return _purge(room_id, through, limit, now)


def _purge(room_id: int, through: int, days: int, now: datetime) -> Step:
    if unread := _unread(room_id, through):
        _tell(room_id, through, days, unread)
    removed = log.purge(room_id, through, now=now)
    # Less than a slice: there the entries that stay begin.
    return Step(removed, more=removed >= SLICE)


def _unheld(room_id: int, through: int) -> tuple[int, int | None]:
    """How far a clean-up may go: nothing of a turn that runs is removed. And which turn holds it back."""
    running = Turn.objects.filter(room=room_id, status=Turn.Status.RUNNING)
    first = [(seq, pk) for seq, pk in running.values_list("entry__seq", "pk") if seq <= through]
    first += running.filter(mail__entry__seq__lte=through).values_list("mail__entry__seq", "pk")
    if not first:
        return through, None
    seq, turn = min(first)
    return seq - 1, turn


def _end(room_id: int, through: int, why: str) -> list[str]:
    """End some of what waits in these entries; says what that was, and nothing once nothing waits."""
    of_these = Turn.objects.filter(room=room_id, entry__seq__lte=through)
    waiting = _whole(of_these.filter(status__in=Turn.WAITING))
    if waiting:
        return [_cancel(turn, through, why) for turn in waiting]
    # What a turn that has ended left open: a question to the owner that no work hangs on, and an undo.
    asked = Approval.objects.filter(verdict="", turn__in=of_these)
    if found := list(asked.select_related("turn__agent__owner", "turn__entry", "turn__principal")[:AT_ONCE]):
        return [_lapse(approval) for approval in found]
    undos = Undo.objects.filter(turn__in=of_these, asked_at__isnull=False, done_at=None)
    wanted = _whole(of_these.filter(undo__in=undos))
    for turn in wanted:
        Undo.objects.filter(turn=turn).update(done_at=timezone.now())
        turns.notice(turn, f"It is not undone any more. {why}")
    return [f"the undo of what {turn.agent.handle} changed" for turn in wanted]


def _whole(rows: QuerySet[Turn]) -> list[Turn]:
    return list(
        rows.select_related("agent__owner", "agent__machine", "room", "entry__author", "principal").order_by("pk")[
            :AT_ONCE
        ]
    )


def _cancel(turn: Turn, through: int, why: str) -> str:
    who = asker(turn) or "somebody"
    for approval in Approval.objects.filter(turn=turn, verdict=""):
        consent.end_undecided(approval.pk, Approval.Verdict.LAPSED)
    turns.end(turn, Turn.Status.CANCELLED, note=why)
    _carry_on(turn, through)
    return f"{who}’s {'mail' if turn.cause == 'mail' else 'request'} to {turn.agent.handle}"


def _carry_on(turn: Turn, through: int) -> None:
    """Mail that joined the request later and stays waits in a request of its own, with fresh consent."""
    seat = seated(turn.room_id).filter(agent=turn.agent_id).select_related("agent__owner").first()
    later = Mail.objects.filter(turn=turn, entry__seq__gt=through, entry__kind=Entry.Kind.MESSAGE)
    if seat is None:
        return
    unread = later.filter(entry__recipients__member=seat, entry__recipients__read_at=None)
    for letter in unread.select_related("entry__author").order_by("entry__seq"):
        turns.request(letter.entry, seat, turn)


def _lapse(approval: Approval) -> str:
    consent.end_undecided(approval.pk, Approval.Verdict.LAPSED)
    approval.refresh_from_db(fields=["verdict"])
    if approval.subject == Approval.Subject.ASK:
        turns.hear(approval, None)
    return f"{approval.turn.agent.handle}’s question to {approval.turn.agent.owner.username}"


def _unread(room_id: int, through: int) -> list[str]:
    """The letters among these entries that agents of the room have not read: they go with them."""
    letters = Recipient.objects.filter(
        Q(read_at=None, member__is_agent=True, member__left_at=None),
        entry__room=room_id, entry__seq__lte=through, entry__kind=Entry.Kind.MESSAGE,
    )  # fmt: skip
    by_seat = letters.values("member", "member__handle").annotate(count=Count("pk")).order_by("member")
    for seat in by_seat:
        nudge.inbox(seat["member"])
    return [
        f"{seat['count']} {'message' if seat['count'] == 1 else 'messages'} that {seat['member__handle']} had not read"
        for seat in by_seat
    ]


def _tell(room_id: int, through: int, days: int, ended: Sequence[str]) -> None:
    more = len(ended) - NAMED
    named = "; ".join([*ended[:NAMED], *([f"{more} more"] if more > 0 else [])])
    words = f"This room keeps entries for {days} days. What waited in older ones has ended: {named}."
    data = {"what": "cleaned", "through": through, "count": len(ended)}
    log.append(room_id, log.New(Entry.Kind.CONTROL, body=words, data=data))


def told(preview: Preview) -> dict[str, object]:
    """A preview as JSON can say it."""
    rooms = [
        asdict(due) | {"oldest": due.oldest.isoformat(), "newest": due.newest.isoformat()} for due in preview.rooms
    ]
    return {"rooms": rooms, "entries": preview.entries, "files": preview.files, "bytes": preview.bytes}
