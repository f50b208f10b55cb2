"""Reads a stretch of a room's timeline, with the turns under its messages, in a bounded number of rows."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from django.db.models import Case, Count, F, Q, QuerySet, TextField, When
from django.db.models.functions import Right
from django.utils import timezone

from approvals.models import Turn
from messaging import former, log
from messaging.models import Attachment, Entry
from messaging.render import away, mail
from messaging.render.card import ENDED, Card, Facts
from rooms.models import Member, Room

NEWEST: dict[str, int] = {"tool_call": 80, "text": 200, "file_change": 300}
"""Rows of a kind that are read of one finished turn; what came before is fetched when somebody asks for it."""
TAIL = 6_000
"""Characters of a tool call's output that a card needs."""


@dataclass
class Item:
    """An entry that stands by itself, and what hangs under it."""

    entry: Entry
    cards: list[Card] = field(default_factory=list)
    files: list[Attachment] = field(default_factory=list)
    post: mail.Post | None = None
    removed_through: int = 0
    """Up to this number a clean-up has taken what an entry may answer."""


@dataclass
class Timeline:
    items: list[Item]
    cursor: int
    """Everything up to this number is in it."""
    earlier: int | None = None
    """Ask for what comes before this number; None when nothing does."""
    still: bool = False
    """Whether newer entries are left out, so that nothing can be added live."""


def newest(room_id: int, *, before: int | None = None, limit: int = 50) -> Timeline:
    """The newest entries, or those before a number.

    The cursor is read first, so that a live page is told something twice rather than never.
    """
    cursor = Room.objects.values_list("last_seq", flat=True).get(pk=room_id)
    entries = log.before(room_id, before, limit=limit + 1)
    earlier = entries[1].seq if len(entries) > limit else None
    return Timeline(items(room_id, entries[-limit:]), cursor, earlier)


def around(room_id: int, seq: int, *, limit: int = 50) -> Timeline:
    """Everything since shortly before an entry, for a link to it; only its neighbours when that is too much."""
    cursor = Room.objects.values_list("last_seq", flat=True).get(pk=room_id)
    below = Entry.objects.filter(room_id=room_id, seq=seq).exclude(log.STANDS).values_list("parent_seq", flat=True)
    seq = below.first() or seq
    roots = Entry.objects.filter(log.STANDS, room_id=room_id)
    start = roots.filter(seq__lte=seq).order_by("-seq").values_list("seq", flat=True)[:10]
    first = min(start, default=0)
    entries = list(roots.filter(seq__gte=first).select_related("author").order_by("seq")[: 6 * limit + 1])
    still = len(entries) > 6 * limit
    earlier = first if roots.filter(seq__lt=first).exists() else None
    return Timeline(items(room_id, entries[:limit] if still else entries), cursor, earlier, still)


def refers_to(entry: Entry) -> int:
    """The number of the message that this one answers, asks again or replaces; 0 for none."""
    return int(entry.data.get("again") or entry.parent_seq or entry.data.get("changes") or 0)


def items(room_id: int, entries: Sequence[Entry]) -> list[Item]:
    entries = former.named(room_id, entries)
    messages = [entry.pk for entry in entries if entry.kind == Entry.Kind.MESSAGE]
    files: dict[int, list[Attachment]] = defaultdict(list)
    for attachment in Attachment.objects.filter(entry__in=messages).order_by("pk"):
        files[attachment.entry_id].append(attachment)
    cards = cards_of(room_id, Turn.objects.filter(entry__in=messages))
    posts = mail.posts(room_id, entries)
    removed = log.begins_after(room_id) if any(refers_to(entry) for entry in entries) else 0
    return [
        Item(entry, cards.get(entry.seq, []), files.get(entry.pk, []), posts.get(entry.seq), removed)
        for entry in entries
    ]


def card(room_id: int, turn_id: int, *, whole: bool = False) -> Card | None:
    """One turn; ``whole`` reads all of its steps even when it is long and has ended."""
    found = cards_of(room_id, Turn.objects.filter(pk=turn_id), whole=whole)
    return next((card for cards in found.values() for card in cards), None)


def cards_of(room_id: int, turns: QuerySet[Turn], *, whole: bool = False) -> dict[int, list[Card]]:
    """The room's turns among ``turns`` as cards, by the number of the message that asked."""
    rows = list(
        turns.filter(room_id=room_id)
        .select_related("agent__owner__deputy", "machine", "principal", "entry__author")
        .order_by("pk")
    )
    if not rows:
        return {}
    handles = handles_in(room_id, rows)
    made = {turn.pk: Card(room_id, turn.pk, facts_of(turn, handles)) for turn in rows}
    parents = {turn.pk: turn.entry.seq for turn in rows}
    long_kinds = set() if whole else crowded(room_id, rows)
    for entry in children(room_id, rows, long_kinds):
        if (known := made.get(entry.data.get("turn"))) is not None:
            known.fold([entry])
    count_unread(room_id, rows, made, long_kinds)
    result: dict[int, list[Card]] = defaultdict(list)
    for turn_id, known in made.items():
        result[parents[turn_id]].append(known)
    return result


def handles_in(room_id: int, turns: Iterable[Turn]) -> dict[tuple[str, int | None], str]:
    """The room's names for the turns' agents and people, whether they are still there or not."""
    rows = list(turns)
    seats = Member.objects.filter(room_id=room_id).filter(
        Q(agent__in={turn.agent_id for turn in rows})
        | Q(
            user__in={
                person
                for turn in rows
                for person in (turn.agent.owner_id, turn.agent.owner.deputy_id, turn.principal_id)
                if person
            }
        )
    )
    return {("agent", seat.agent_id) if seat.is_agent else ("person", seat.user_id): seat.handle for seat in seats}


def facts_of(turn: Turn, handles: dict[tuple[str, int | None], str]) -> Facts:
    owner, principal = turn.agent.owner, turn.principal
    has_deputy = owner.deputy is not None and owner.deputy_until is not None and owner.deputy_until > timezone.now()
    return Facts(
        agent=handles.get(("agent", turn.agent_id), turn.agent.handle),
        owner=handles.get(("person", owner.pk), owner.username),
        principal=handles.get(("person", principal.pk), principal.username) if principal else "",
        asker=turn.entry.author.handle if turn.entry.author else "",
        deputy=handles.get(("person", owner.deputy_id), owner.deputy.username) if owner.deputy and has_deputy else "",
        cause=turn.cause,
        away=away.of(turn),
    )


def children(room_id: int, turns: Sequence[Turn], long_kinds: set[tuple[int, str]]) -> list[Entry]:
    """What happened in these turns, in order, without the bodies that no card shows; of ``long_kinds`` the newest."""
    under = Entry.objects.filter(room_id=room_id)
    left_out = Q(pk__in=[])
    for parent, kind in long_kinds:
        left_out |= Q(parent_seq=parent, kind=kind)
    rows = list(light(under.filter(parent_seq__in={turn.entry.seq for turn in turns}).exclude(left_out)))
    for parent, kind in long_kinds:
        sharing = sum(1 for turn in turns if turn.entry.seq == parent)
        rows += light(under.filter(parent_seq=parent, kind=kind)).order_by("-seq")[: NEWEST[kind] * sharing]
    for entry in rows:
        entry.body = entry.shown  # type: ignore[attr-defined]
    return sorted(former.named(room_id, rows), key=lambda entry: entry.seq)


def crowded(room_id: int, turns: Sequence[Turn]) -> set[tuple[int, str]]:
    """Which (parent, kind) hold more rows than a card needs. A running turn is read whole: any step may be open."""
    running = {turn.entry.seq for turn in turns if turn.status not in ENDED}
    finished = {turn.entry.seq for turn in turns} - running
    counts = (
        Entry.objects.filter(room_id=room_id, parent_seq__in=finished, kind__in=NEWEST)
        .values("parent_seq", "kind")
        .annotate(rows=Count("id"))
        .values_list("parent_seq", "kind", "rows")
    )
    return {(int(parent or 0), str(kind)) for parent, kind, rows in counts if rows > NEWEST[str(kind)]}


def light(entries: QuerySet[Entry]) -> QuerySet[Entry]:
    """The end of the output of what runs; of other outputs and of diffs only whether there is one."""
    return (
        entries.defer("body")
        .annotate(
            shown=Case(
                When(kind=Entry.Kind.TOOL_CALL, data__state="running", then=Right("body", TAIL)),
                When(kind__in=[Entry.Kind.TOOL_CALL, Entry.Kind.FILE_CHANGE], then=Right("body", 1)),
                default=F("body"),
                output_field=TextField(),
            )
        )
        .order_by("seq")
    )


def count_unread(room_id: int, turns: Sequence[Turn], cards: dict[int, Card], long_kinds: set[tuple[int, str]]) -> None:
    """Say on each card of a crowded turn how many finished steps were left out."""
    for turn in turns:
        if (turn.entry.seq, "tool_call") not in long_kinds:
            continue
        made = cards[turn.pk]
        total = Entry.objects.filter(
            room_id=room_id, parent_seq=turn.entry.seq, kind=Entry.Kind.TOOL_CALL, data__turn=turn.pk,
            data__state__in=["done", "failed", "refused"],
        ).count()  # fmt: skip
        made.unread_steps = max(0, total - sum(1 for step in made.steps.values() if step.state != "running"))
        made.whole = False
