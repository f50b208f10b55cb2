"""A room's log to take away, for whoever may read the room."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Iterator
from itertools import islice

from asgiref.sync import sync_to_async
from django.db import close_old_connections
from django.http import HttpRequest, StreamingHttpResponse
from django.utils import timezone
from django.views.decorators.http import require_safe

from messaging import export
from messaging.viewer import person
from rooms.access import member_for
from rooms.errors import NotFound

KINDS: dict[str, tuple[str, export.Written]] = {
    "md": ("text/markdown", export.as_markdown),
    "jsonl": ("application/jsonl", export.as_line),
}

ENDED = "Cut off here: you may no longer read this room."


@require_safe
def room(request: HttpRequest, room_id: int, form: str) -> StreamingHttpResponse:
    """From the oldest entry to what is the newest now. Each page of it is read by the right as it is then."""
    user = person(request)
    found = member_for(user, room_id).room
    kind, write = KINDS[form]
    pages = export.pages(user, room_id, write, through=found.last_seq)
    head = export.heading(found, user) if form == "md" else ""
    end = json.dumps({"ended": ENDED}) + "\n" if form == "jsonl" else f"**{ENDED}**\n"
    answer = StreamingHttpResponse(streamed(head, pages, end), content_type=f"{kind}; charset=utf-8")
    name = f"agentroom-room-{found.pk}-{timezone.now():%Y-%m-%d}.{form}"
    answer.headers["Content-Disposition"] = f'attachment; filename="{name}"'
    answer.headers["Cache-Control"] = "private, no-store"
    answer.headers["X-Content-Type-Options"] = "nosniff"
    return answer


async def streamed(head: str, pages: Iterator[str], end: str) -> AsyncIterator[bytes]:
    """A page is read when the one before it has been sent. Where the reader's right ends meanwhile, it says so last."""
    if head:
        yield head.encode()
    try:
        while page := await sync_to_async(_next)(pages):
            yield page[0].encode()
    except NotFound:
        yield end.encode()


def _next(pages: Iterator[str]) -> list[str]:
    """The next page, if there is one. No database connection waits for a slow reader."""
    found = list(islice(pages, 1))
    close_old_connections()
    return found
