"""Entries that stand by themselves, as HTML: the same on the page and on the socket."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import date
from typing import Any

from django.urls import reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString

from messaging.log import BLANK
from messaging.models import Attachment, Entry
from messaging.render import mail
from messaging.render.controls import Own
from messaging.render.drawing import draw
from messaging.render.markdown import markdown, mentions
from messaging.render.reading import Item, refers_to
from messaging.render.sections import INLINE, group
from messaging.templatetags.look import when


def entry(item: Item, *, own: Own | None = None) -> SafeString:
    """``own`` is what one reader alone sees; without it, the same for everybody."""
    row = item.entry
    own = own or Own()
    return draw(
        "messaging/entry.html",
        entry=row,
        author=row.author.handle if row.author else "Agentroom",
        is_agent=row.author.is_agent if row.author else False,
        html=words_of(row) if row.kind == Entry.Kind.MESSAGE else "",
        may_blank=row.seq in own.blanks,
        blanked=row.data == BLANK,
        again=row.data.get("again"),
        changes=row.data.get("changes"),
        answers=row.parent_seq,
        removed=refers_to(row) <= item.removed_through,
        to=mail.to(row, item.post) if item.post else "",
        behind=item.post.behind if item.post else "",
        about=mail.about(row) if row.kind == Entry.Kind.MESSAGE else "",
        became=mail.below(row, item.post) if row.kind == Entry.Kind.MESSAGE else "",
        status=mail.status(row) if row.kind == Entry.Kind.STATUS else "",
        files=[attached(row.room_id, file) for file in item.files],
        groups=[group(card, controls=own.forms.get(card.turn, ""), questions=own.questions) for card in item.cards],
    )


def words_of(row: Entry) -> SafeString:
    if row.data == BLANK:
        return format_html('<p class="soft">Blanked. Its hash stays: <code>{}</code></p>', row.body_hash[:16])
    return markdown(row.body, mentions=mentions(row.data), breaks=True)


def attached(room_id: int, file: Attachment) -> dict[str, Any]:
    url = reverse("file", args=[room_id, file.pk, file.name])
    return {"name": file.name, "size": file.size, "url": url, "is_picture": file.content_type in INLINE}


def stretch(items: Sequence[Item], *, own: Own, read_seq: int | None = None, me: int | None = None) -> SafeString:
    """Entries with their days, and the line below what ``me`` has read; the browser makes the days its own."""
    out: list[str] = []
    day: date | None = None
    line_due = read_seq is not None and any(item.entry.seq <= read_seq for item in items)
    for item in items:
        row = item.entry
        if row.created_at.date() != day:
            day = row.created_at.date()
            out.append(format_html('<li class="day"><h2>{}</h2></li>', when(row.created_at, "day")))
        if line_due and read_seq is not None and row.seq > read_seq and row.author_id != me:
            line_due = False
            out.append('<li class="last-read" id="last-read"><span>Last read here</span></li>')
        out.append(entry(item, own=own))
    return SafeString("".join(out))


def ids(items: Iterable[Item]) -> list[int]:
    """The turns that stand under these entries."""
    return [card.turn for item in items for card in item.cards]
