"""The account chat as a page for its owner: which messages it shows, and how each looks."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import date

from django.db.models import QuerySet
from django.utils.html import format_html
from django.utils.safestring import SafeString

from messaging import chat, mail
from messaging.log import BLANK
from messaging.models import Entry
from messaging.render import live
from messaging.render.drawing import Part, draw
from messaging.render.hidden import reveal
from messaging.render.markdown import MOST, markdown
from messaging.render.timeline import words_of
from messaging.templatetags.look import when
from rooms.models import Connection, Room

FURTHEST = 300
"""Messages from a linked one to the newest with which a page still follows the chat live."""
FOUND = 100
"""Messages that a search shows at most."""
WORDS = 10
"""Words that one search looks for."""
SHOWN = (Entry.Kind.MESSAGE, Entry.Kind.CONTROL)
"""What stands in the chat: what was said, and that its owner switched it."""
QUOTED = 100
"""Characters of the message that is answered."""


@dataclass(frozen=True)
class View:
    """What a reader looks at: one topic, or all but those that they hid."""

    topic: str = ""
    hidden: frozenset[str] = frozenset()

    def of(self, rows: QuerySet[Entry]) -> QuerySet[Entry]:
        if self.topic:
            return rows.filter(kind=Entry.Kind.MESSAGE, topic=self.topic)
        return rows.exclude(kind=Entry.Kind.MESSAGE, topic__in=self.hidden) if self.hidden else rows


@dataclass(frozen=True)
class By:
    """Whom a message came from, as far as anybody can know."""

    owner: bool
    connection: str
    """Eight hex digits; empty for the owner in the browser."""
    name: str
    """What the owner called that connection."""


@dataclass(frozen=True)
class Said:
    """A message, with what it answers."""

    entry: Entry
    by: By
    answers: Entry | None
    answered: By | None

    @property
    def parent_removed(self) -> bool:
        return self.entry.parent_seq is not None and self.answers is None


@dataclass
class Stretch:
    said: list[Said]
    cursor: int
    """Everything up to this number is in it."""
    earlier: int | None = None
    """Ask for what comes before this number; None when nothing does."""
    still: bool = False
    """Whether newer messages are left out, so that nothing can be added live."""


def entries_of(room_id: int) -> QuerySet[Entry]:
    return Entry.objects.filter(room=room_id, kind__in=SHOWN).select_related("author")


def messages(room_id: int) -> QuerySet[Entry]:
    return Entry.objects.filter(room=room_id, kind=Entry.Kind.MESSAGE).select_related("author")


def newest(room_id: int, view: View, *, before: int | None = None, limit: int = 50) -> Stretch:
    """The newest messages, or those before a number; the cursor is read first, so that a live page misses none."""
    cursor = Room.objects.values_list("last_seq", flat=True).get(pk=room_id)
    rows = view.of(entries_of(room_id))
    if before is not None:
        rows = rows.filter(seq__lt=before)
    entries = list(rows.order_by("-seq")[: limit + 1])[::-1]
    earlier = entries[1].seq if len(entries) > limit else None
    return Stretch(said(room_id, entries[-limit:]), cursor, earlier)


def around(room_id: int, number: int, *, limit: int = 50) -> Stretch:
    """Everything since shortly before a message, for a link to it; only its neighbours when that is too much."""
    cursor = Room.objects.values_list("last_seq", flat=True).get(pk=room_id)
    rows = entries_of(room_id)
    first = min(rows.filter(seq__lte=number).order_by("-seq").values_list("seq", flat=True)[:10], default=0)
    entries = list(rows.filter(seq__gte=first).order_by("seq")[: FURTHEST + 1])
    still = len(entries) > FURTHEST
    earlier = first if rows.filter(seq__lt=first).exists() else None
    return Stretch(said(room_id, entries[:limit] if still else entries), cursor, earlier, still)


def found(room_id: int, words: str, topic: str) -> Stretch:
    """The newest messages that hold all these words, in order; hidden topics are searched too."""
    rows = messages(room_id).filter(topic=topic) if topic else messages(room_id)
    for word in words.split()[:WORDS]:
        rows = rows.filter(body__icontains=word)
    entries = list(rows.order_by("-seq")[: FOUND + 1])
    more = entries[FOUND].seq if len(entries) > FOUND else None
    return Stretch(said(room_id, entries[:FOUND][::-1]), 0, more, still=True)


def said(room_id: int, entries: Sequence[Entry]) -> list[Said]:
    parents = [entry.parent_seq for entry in entries if entry.parent_seq is not None]
    answered = {entry.seq: entry for entry in messages(room_id).filter(seq__in=parents)}
    known = names(room_id, [*entries, *answered.values()])
    return [
        Said(
            entry,
            by(entry, known),
            parent := answered.get(entry.parent_seq or 0),
            by(parent, known) if parent else None,
        )
        for entry in entries
    ]


def by(entry: Entry, known: dict[str, str]) -> By:
    short = entry.connection.removeprefix("connection:")
    owner = entry.connection == chat.BY_OWNER
    return By(owner, "" if owner else short, known.get(short, ""))


def names(room_id: int, entries: Iterable[Entry]) -> dict[str, str]:
    """What the chat's owner calls the connections that these messages came by, ended ones too."""
    wanted = {entry.connection.removeprefix("connection:") for entry in entries} - {chat.BY_OWNER, ""}
    if not wanted:
        return {}
    own = Connection.objects.filter(user__owned_rooms=room_id, kind=Connection.Kind.ACCOUNT)
    return {connection.short: connection.name for connection in own if connection.short in wanted}


# --- how it looks -----------------------------------------------------------------------------------------------------


def message(item: Said) -> SafeString:
    entry = item.entry
    return draw(
        "messaging/_chat_message.html",
        entry=entry,
        account=entry.author.handle if entry.author else "",
        by=item.by,
        session=reveal(entry.session),
        html=words_of(entry) if entry.data == BLANK else markdown(entry.body, breaks=True, shows_hidden=True),
        rest=reveal(entry.body[MOST:]) if len(entry.body) > MOST else "",
        blanked=entry.data == BLANK,
        answers=item.answers,
        answered=item.answered,
        quote=quote(item.answers) if item.answers else "",
        parent_removed=item.parent_removed,
    )


def quote(entry: Entry) -> str:
    return "blanked" if entry.data == BLANK else mail.preview(entry.body, QUOTED)


def drawn(items: Sequence[Said], *, read_seq: int | None = None) -> SafeString:
    """Messages with their days, and the line below what their owner has read."""
    out: list[str] = []
    day: date | None = None
    line_due = read_seq is not None and any(item.entry.seq <= read_seq for item in items)
    for item in items:
        entry = item.entry
        if entry.created_at.date() != day:
            day = entry.created_at.date()
            out.append(format_html('<li class="day"><h2>{}</h2></li>', when(entry.created_at, "day")))
        if line_due and read_seq is not None and entry.seq > read_seq and item.by.connection:
            line_due = False
            out.append('<li class="last-read" id="last-read"><span>Last read here</span></li>')
        out.append(message(item))
    return SafeString("".join(out))


def frame(room_id: int, before: int, cursor: int, entries: Sequence[Entry]) -> live.Frame:
    """What brings an open page of the chat from ``before`` to ``cursor``; the page leaves out topics that it hides."""
    roots = [entry for entry in entries if entry.kind in SHOWN]
    again = live.blanked_since(room_id, entries)
    parts = [
        Part("entries", f"e{item.entry.seq}", live.how(item.entry, again), message(item), item.entry.seq)
        for item in said(room_id, [*roots, *again])
    ]
    # What the page calls its people are the topics here: their counts have changed.
    return live.Frame(before, cursor, live.text_of(cursor, parts, [], people=bool(parts)))
