"""Mail between agents as the room sees it: whom it went to, in whose name, and what became of it there."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from urllib.parse import urlencode

from django.urls import reverse
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

from approvals import mailbox
from approvals.mailbox import Delivery, Fact
from messaging.log import BLANK
from messaging.models import Entry
from messaging.render.drawing import Part, draw
from messaging.render.hidden import reveal
from messaging.templatetags.look import person, when

NAMED = 3
"""Recipients that the line above a message names."""
EACH = 4
"""Recipients that have a line of their own below it; more of them are folded under one line of counts."""
SHORT = 120
"""Characters of a note on a recipient's line."""
ICONS = {
    "stored": "download", "waiting": "clock", "delivered": "mail", "read": "eye", "accepted": "check", "declined": "x",
    "done": "check", "answered": "reply",
}  # fmt: skip
WORDS = {"delivered": "notice delivered"}
TONES = {"done": "done", "declined": "danger"}
STATUS = {
    "working": "is at work", "blocked": "is blocked", "usage_limited": "has reached a limit of its usage",
    "available": "is available",
}  # fmt: skip


@dataclass
class Post:
    """What a message is as mail."""

    deliveries: list[Delivery] = field(default_factory=list)
    behind: str = ""
    """In whose name an agent wrote it; empty for nobody's."""


@dataclass(frozen=True)
class Line:
    """One fact, or the newest of one recipient's."""

    icon: str
    tone: str
    words: SafeString
    at: SafeString
    anchor: int
    """The receipt's number, which a link may name; 0 for none."""
    answer: str
    """Where the answer stands."""


def is_mail(entry: Entry) -> bool:
    """Whether it shows its recipients from the beginning: what an agent wrote, and what answers an agent's question."""
    written = entry.author is not None and entry.author.is_agent
    return entry.kind == Entry.Kind.MESSAGE and (written or "answers" in entry.data)


def posts(room_id: int, entries: Sequence[Entry]) -> dict[int, Post]:
    """The mail among a room's entries, by number, in a bounded number of queries.

    What a person wrote is mail once an agent says by hand what it makes of it.
    """
    said = [entry for entry in entries if entry.kind == Entry.Kind.MESSAGE]
    others = [entry.seq for entry in said if not is_mail(entry)]
    with_receipts = set(
        Entry.objects.filter(room=room_id, parent_seq__in=others, kind__in=Entry.RECEIPTS)
        .values_list("parent_seq", flat=True)
        .distinct()
    )
    found = [entry for entry in said if is_mail(entry) or entry.seq in with_receipts]
    if not found:
        return {}
    names = mailbox.names_of(entry for entry in found if entry.author is not None and entry.author.is_agent)
    became = mailbox.states_of(found)
    made: dict[int, Post] = {}
    for entry in found:
        deliveries = became[entry.seq]
        if not is_mail(entry):
            # Its turn's card says how it stands with the others.
            deliveries = [one for one in deliveries if any(fact.number not in (0, entry.seq) for fact in one.facts)]
        behind = names.get((room_id, entry.principal), "") if entry.principal is not None else ""
        made[entry.seq] = Post(deliveries, behind)
    return made


def touched(entries: Iterable[Entry]) -> set[int]:
    """The messages below which these entries change what became of them."""
    kinds = (Entry.Kind.MESSAGE, Entry.Kind.BLANKED, *Entry.RECEIPTS)
    return {entry.parent_seq for entry in entries if entry.parent_seq is not None and entry.kind in kinds}


def parts(room_id: int, seqs: Iterable[int]) -> list[Part]:
    """What became of these messages, for a page that shows them."""
    rows = Entry.objects.filter(room=room_id, seq__in=list(seqs), kind=Entry.Kind.MESSAGE).select_related("author")
    entries = list(rows.defer("body").order_by("seq"))
    made = posts(room_id, entries)
    return [
        Part(f"e{entry.seq}", f"e{entry.seq}-mail", "replace", below(entry, made[entry.seq]), entry.seq)
        for entry in entries
        if entry.seq in made
    ]


# --- above and below a message


def link(room_id: int, **asked: str) -> str:
    """The room's page with what has to do with this alone."""
    return f"{reverse('room', args=[room_id])}?{urlencode(asked)}"


def handle(room_id: int, delivery: Delivery) -> SafeString:
    if not delivery.is_agent:
        return person(delivery.handle)
    return format_html('<a class="agent" href="{}">{}</a>', link(room_id, agent=delivery.handle), delivery.handle)


def name(delivery: Delivery) -> SafeString:
    """A handle that leads nowhere, for what opens when it is pressed."""
    if not delivery.is_agent:
        return format_html('<strong class="handle">{}</strong>', person(delivery.handle))
    return format_html('<strong class="handle agent">{}</strong>', delivery.handle)


def to(entry: Entry, post: Post) -> SafeString:
    """The handles that it went to: all of a few, the first of many."""
    if not is_mail(entry):
        return SafeString("")
    shown = post.deliveries if len(post.deliveries) <= NAMED + 1 else post.deliveries[:NAMED]
    names = format_html_join(", ", "{}", ((handle(entry.room_id, one),) for one in shown))
    more = len(post.deliveries) - len(shown)
    return format_html("{} and {} more", names, more) if more else names


def about(entry: Entry) -> SafeString:
    """Subject, topic and ticket; the last two lead to what else has them."""
    if entry.data == BLANK:
        return SafeString("")
    chips = []
    if entry.topic != "general":
        chips.append(("hash", "topic", link(entry.room_id, topic=entry.topic), reveal(entry.topic)))
    if entry.ticket:
        chips.append(("ticket", "ticket", link(entry.room_id, ticket=entry.ticket), reveal(entry.ticket)))
    if not chips and not entry.subject:
        return SafeString("")
    return draw("messaging/_about.html", subject=reveal(entry.subject), chips=chips)


def below(entry: Entry, post: Post | None) -> SafeString:
    """A line for each recipient with the newest fact, which opens to all of them."""
    # Under a question to the owner stands the question itself.
    deliveries = post.deliveries if post and "asks" not in entry.data else []
    return draw(
        "messaging/_mail.html",
        entry=entry,
        waits=any(one.facts[-1].state == "waiting" and not one.facts[-1].over for one in deliveries),
        counts=counts(deliveries) if len(deliveries) > EACH else "",
        rows=[
            (
                one.handle,
                name(one),
                line(entry, newest(one.facts), most=SHORT),
                [line(entry, fact) for fact in one.facts],
            )
            for one in deliveries
        ],
    )


def newest(facts: Sequence[Fact]) -> Fact:
    """What a recipient's line says: the last fact, but no *read* after it said what it makes of the message."""
    said = [fact for fact in facts if fact.state in ("accepted", "declined", "done", "answered")]
    return said[-1] if said else facts[-1]


def counts(deliveries: Sequence[Delivery]) -> str:
    found = Counter(word(newest(one.facts)) for one in deliveries)
    return f"{len(deliveries)} recipients: " + ", ".join(f"{count} {what}" for what, count in found.most_common())


def word(fact: Fact) -> str:
    return "not delivered" if fact.over else WORDS.get(fact.state, fact.state)


def line(entry: Entry, fact: Fact, *, most: int = 0) -> Line:
    """``most``: characters of its note; 0 for all of them, with what hides in it."""
    words, note = reveal(word(fact)), mailbox.preview(fact.note, most) if most else fact.note
    if fact.state == "waiting":
        words = format_html("{}: {}", words, reveal(fact.note))
    elif fact.note:
        words = format_html('{}: <span class="note-of" dir="auto">“{}”</span>', words, reveal(note))
    at = when(fact.at, "both")
    if fact.state == "waiting":
        at = format_html("since {}", at)
    icon = "x" if fact.over else ICONS[fact.state]
    answer = f"{link(entry.room_id, at=str(fact.number))}#e{fact.number}" if fact.state == "answered" else ""
    anchor = fact.number if fact.state in Entry.RECEIPTS else 0
    return Line(icon, TONES.get(fact.state, ""), words, at, anchor, answer)


# --- what an agent says of itself


def status(entry: Entry) -> SafeString:
    """One calm line: how the agent stands, until when, why, and with which ticket."""
    data = entry.data
    if data == BLANK or data.get("status") not in STATUS:
        return reveal(entry.body)
    name = str(data.get("handle") or "")
    who = format_html('<a class="agent" href="{}">{}</a>', link(entry.room_id, agent=name), name)
    until = format_html(" until {}", when(datetime.fromisoformat(data["until"]), "both")) if data.get("until") else ""
    why = format_html(': <span dir="auto">{}</span>', reveal(str(data["note"]))) if data.get("note") else ""
    ticket = SafeString("")
    if entry.ticket:
        url = link(entry.room_id, ticket=entry.ticket)
        ticket = format_html(', ticket <a href="{}" dir="auto">{}</a>', url, reveal(entry.ticket))
    return format_html("{} {}{}{}{}", who, STATUS[data["status"]], until, why, ticket)
