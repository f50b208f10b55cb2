"""Taking a leaked secret out of a message, or out of what happened under it."""

from __future__ import annotations

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods

from approvals import control
from messaging.models import Entry
from messaging.render.hidden import reveal
from messaging.viewer import person
from rooms.access import ABSENT, member_for
from rooms.errors import NotFound

SHOWN = 200
"""Characters of each that the page quotes, to tell them apart."""


@require_http_methods(["GET", "HEAD", "POST"])
def blank(request: HttpRequest, room_id: int, seq: int) -> HttpResponse:
    """GET lists what this person may blank of a message and its turns; POST blanks one of them."""
    user = person(request)
    member = member_for(user, room_id)
    if request.method == "POST":
        told = control.blank(user, room_id, seq)
        messages.success(request, "Blanked. Its number and its hash stay.")
        at = told.parent_seq or seq
        return redirect(f"/rooms/{room_id}/?at={at}#e{at}")
    found = control.blankable(user, room_id, seq)
    if not Entry.objects.filter(room=room_id, seq=seq, kind=Entry.Kind.MESSAGE).exists() or not found:
        raise NotFound(ABSENT)
    items = [(entry, control.CALLED[entry.kind], reveal(quote(entry))) for entry in found]
    return render(request, "messaging/blank.html", {"room": member.room, "seq": seq, "items": items})


def quote(entry: Entry) -> str:
    data = entry.data
    text = str(data.get("title") or data.get("path") or data.get("name") or "")
    words = " · ".join(part for part in (text, entry.body) if part)
    return words if len(words) <= SHOWN else f"{words[:SHOWN]}…"
