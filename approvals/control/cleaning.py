"""Entries that are older than their room keeps go, oldest first. What still waits in them ends before, visibly."""

from __future__ import annotations

import logging
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import datetime, timedelta
from operator import itemgetter

from django.db.models import Count, Exists, F, Max, Min, OuterRef, Q, QuerySet
from django.utils import timezone

from approvals import audit, consent, limits, turns
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
OLDER = "Its message is older than the"
"""So begins why the clean-up cancels a request."""
WORK = ("text", "plan", "tool_call", "file_change", "artifact", "notice")
NOTES = ("accepted", "declined", "done")
"""What machines and agents say under a message, where alone a page shows it, and maybe long after it."""


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
    held: str
    """Why not more goes: what runs, or what is young under an old message; empty when nothing holds it back."""


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


@dataclass(frozen=True, slots=True)
class Reach:
    through: int
    """What may be removed."""
    unworked: int
    """Before what runs: so far, what waits ends. Never less than ``through``."""
    held: str


def due(room: Room, days: int, now: datetime) -> Due | None:
    """What would go of a room that keeps its entries for so many days; None for nothing."""
    before = now - timedelta(days=days)
    reach = _unheld(room.pk, retention.reach(room.pk, before), before, days)
    going = Entry.objects.filter(room=room, seq__lte=reach.through)
    found = going.aggregate(entries=Count("pk"), oldest=Min("created_at"), newest=Max("created_at"))
    if not found["entries"]:
        return None
    return Due(room.pk, room.name, days, found["entries"], reach.through, found["oldest"], found["newest"], reach.held)


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
    files.sweep(now)
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
    limit = retention.days(room) or 0
    reach = _unheld(room_id, retention.reach(room_id, before, most=SLICE), before, limit)
    why = f"{OLDER} {limit} days that this room keeps."
    here = Turn.objects.filter(room=room_id, entry__seq__lte=reach.through)
    if here.exists() and (ended := _end(room_id, reach.through, why)):
        _tell(room_id, reach.through, limit, ended)
        return Step(0, more=True)
    if reach.through < reach.unworked:
        # What waits behind it doesn't wait longer because of it: else each could hold the next one for ever.
        behind = _unheld(room_id, retention.reach(room_id, before), before, limit).unworked
        if ended := _end_waiting(room_id, behind, why):
            _tell(room_id, behind, limit, ended)
            return Step(0, more=True)
    return _purge(room_id, reach.through, limit, now)


def _purge(room_id: int, through: int, days: int, now: datetime) -> Step:
    if unread := _unread(room_id, through):
        _tell(room_id, through, days, unread)
    # In the step that removes them, and in no other: each counts once.
    limits.keep_count(Turn.objects.filter(room=room_id, entry__seq__lte=through))
    removed = log.purge(room_id, through, now=now)
    # Less than a slice: there the entries that stay begin.
    return Step(removed, more=removed >= SLICE)


def _unheld(room_id: int, through: int, before: datetime, days: int) -> Reach:
    """How far a clean-up may go: it removes no message that a turn works on, nor one under which something is young.

    Without its message, that could neither be read on a page nor be blanked or undone.
    """
    running = Turn.objects.filter(entry__room=room_id, status=Turn.Status.RUNNING)
    runs = min(_first(running, room_id, through), default=None)
    unworked = through if runs is None else runs[0] - 1
    lately = f"less than {days} day{'' if days == 1 else 's'} ago"
    ended = _first(_fresh_turns(room_id, before, days), room_id, unworked)
    fresh = [(seq, f"turn {pk} ended {lately}") for seq, pk in ended]
    if (seq := _young_under(room_id, unworked, before, days)) is not None:
        fresh.append((seq, f"something was said under message {seq} {lately}"))
    if fresh:
        seq, why = min(fresh, key=itemgetter(0))
        return Reach(seq - 1, unworked, f"{why}: that and what came after it stays for now")
    return Reach(unworked, unworked, f"what turn {runs[1]} works on stays until it ends" if runs else "")


def _first(rows: QuerySet[Turn], room_id: int, through: int) -> list[tuple[int, int]]:
    """The first message up to this number that one of these turns is about, and which; mail is beside."""
    own = rows.filter(entry__seq__lte=through).order_by("entry__seq")
    beside = Mail.objects.filter(Exists(rows.filter(pk=OuterRef("turn"))), entry__room=room_id, entry__seq__lte=through)
    return [
        *own.values_list("entry__seq", "pk")[:1],
        *beside.order_by("entry__seq").values_list("entry__seq", "turn_id")[:1],
    ]


def _fresh_turns(room_id: int, before: datetime, days: int) -> QuerySet[Turn]:
    """Turns that ended after this instant, or not long before it while their undo was asked for after it.

    None of them are questions, whose answers stand apart, and what the clean-up itself cancelled.
    """
    undone = Q(undo__asked_at__gte=before, finished_at__gte=before - timedelta(days=days))
    return (
        _in_time(room_id, days)
        .filter(Q(finished_at__gte=before) | undone)
        .exclude(cause="ask")
        .exclude(status=Turn.Status.CANCELLED, ended_by=None, note__startswith=OLDER)
    )


def _in_time(room_id: int, days: int) -> QuerySet[Turn]:
    """Turns that can hold a room back: one that began on a message of long ago can't, or it would go on for ever."""
    return Turn.objects.filter(
        entry__room=room_id, created_at__lt=F("entry__created_at") + timedelta(days=2 * days)
    )  # fmt: skip


def _young_under(room_id: int, through: int, before: datetime, days: int) -> int | None:
    """The first message up to this number under which a machine or an agent said something after this instant.

    A machine may report late, and a note may come late; but not for ever: neither under a
    message, nor by a turn that ended, twice as long ago.
    """
    since = before - timedelta(days=days)
    message = Entry.objects.filter(room=room_id, seq=OuterRef("parent_seq"), created_at__gte=since)
    turn = _in_time(room_id, days).filter(pk=OuterRef("source_turn"), finished_at__gte=since)
    work = Q(kind__in=WORK, author__isnull=False) & Exists(turn)
    note = Q(kind__in=NOTES) & ~Q(body="") & Exists(message)
    young = Entry.objects.filter(
        work | note, room=room_id, parent_seq__gt=0, parent_seq__lte=through, created_at__gte=before
    )
    return young.order_by("parent_seq").values_list("parent_seq", flat=True).first()


def _end_waiting(room_id: int, through: int, why: str) -> list[str]:
    waiting = _whole(Turn.objects.filter(room=room_id, entry__seq__lte=through, status__in=Turn.WAITING))
    if waiting:
        audit.hold([room_id])
    return [_cancel(turn, through, why) for turn in waiting]


def _end(room_id: int, through: int, why: str) -> list[str]:
    """End some of what waits in these entries; says what that was, and nothing once nothing waits."""
    if ended := _end_waiting(room_id, through, why):
        return ended
    # What a turn that has ended left open: a question to the owner that no work hangs on, and an undo.
    of_these = Turn.objects.filter(room=room_id, entry__seq__lte=through)
    asked = Approval.objects.filter(verdict="", turn__in=of_these)
    if found := list(asked.select_related("turn__agent__owner", "turn__entry", "turn__principal")[:AT_ONCE]):
        audit.hold([room_id])
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
