"""A room's page, and what is posted on it."""

from __future__ import annotations

import mimetypes
import re
import uuid
from typing import Any

from django.core.files.uploadedfile import UploadedFile
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_GET, require_POST, require_safe

from approvals import turns
from messaging import files, mail, reading_line
from messaging.log import BLANK
from messaging.models import Entry
from messaging.render import controls, filtered, reading, timeline
from messaging.viewer import person
from rooms.access import ABSENT, member_for, writer_for
from rooms.errors import Invalid, NotFound
from rooms.models import Member, Room
from rooms.people import column
from rooms.rail import direct_name

CONTENT_TYPE = re.compile(r"[a-z0-9.+-]{1,50}/[a-z0-9.+-]{1,49}")


@require_safe
def room(request: HttpRequest, room_id: int) -> HttpResponse:
    member = member_for(person(request), room_id)
    at, only = number(request.GET.get("at")), filtered.asked(request.GET)
    if member.room.kind == Room.Kind.ACCOUNT:
        return redirect(reverse("chat") + (f"?at={at}" if at is not None else ""))
    if at is not None:
        return page(request, member, reading.around(room_id, at))
    if only:
        return page(request, member, filtered.newest(room_id, only), only=only)
    return page(request, member, reading.newest(room_id))


@require_GET
def earlier(request: HttpRequest, room_id: int) -> HttpResponse:
    """What came before a number: a piece for a script, a page of its own without one."""
    member = in_a_room(member_for(person(request), room_id))
    before, only = number(request.GET.get("before")), filtered.asked(request.GET)
    shown = filtered.newest(room_id, only, before=before) if only else reading.newest(room_id, before=before)
    if request.headers.get("X-Requested-With") == "fetch":
        return JsonResponse({"html": stretch(request, member, shown), "earlier": shown.earlier})
    shown.still = True
    return page(request, member, shown, only=only or None)


@require_POST
def post(request: HttpRequest, room_id: int) -> HttpResponse:
    user = person(request)
    member = in_a_room(writer_for(user, room_id))
    body = request.POST.get("body", "")
    try:
        entry = turns.ask(
            user,
            room_id,
            body=body,
            client_id=request.POST.get("client_id", "")[:100] or uuid.uuid4().hex,
            files=[stored(room_id, upload) for upload in request.FILES.getlist("files")[: mail.MAX_FILES + 1]],
        )
    except Invalid as invalid:
        if request.headers.get("X-Requested-With") == "fetch":
            raise
        shown = reading.newest(room_id)
        return page(request, member, shown, body=body, problem=invalid.detail, status=422)
    if request.headers.get("X-Requested-With") == "fetch":
        return JsonResponse({"seq": entry.seq}, status=201)
    return redirect(f"{request.path.removesuffix('messages/')}#e{entry.seq}")


@require_POST
def read(request: HttpRequest, room_id: int) -> HttpResponse:
    """The reader has seen everything up to this number."""
    member = member_for(person(request), room_id)
    seq = number(request.POST.get("seq"))
    if seq is not None:
        reading_line.move(member, seq)
    return HttpResponse(status=204)


def in_a_room(member: Member) -> Member:
    """A seat in the account's chat has a page of its own."""
    if member.room.kind == Room.Kind.ACCOUNT:
        raise NotFound(ABSENT)
    return member


def page(
    request: HttpRequest,
    member: Member,
    shown: reading.Timeline,
    *,
    only: filtered.Filter | None = None,
    status: int = 200,
    **more: Any,
) -> HttpResponse:
    room = member.room
    seen = column(member)
    context = {
        "room": room,
        "me": member,
        "name": direct_name(room, person(request)) if room.kind == Room.Kind.DIRECT else room.name,
        "column": seen,
        "timeline": stretch(request, member, shown),
        "cursor": shown.cursor,
        "earlier": shown.earlier,
        "still": shown.still,
        "only": only,
        "topics": sorted({item.entry.topic for item in shown.items} - {"general"}),
        "tickets": sorted({item.entry.ticket for item in shown.items} - {""}),
        "may_write": member.may_ask and room.archived_at is None,
        "client_id": uuid.uuid4().hex,
        **more,
    }
    return render(request, "messaging/room.html", context, status=status)


def stretch(request: HttpRequest, member: Member, shown: reading.Timeline) -> str:
    own = controls.for_turns(request, timeline.ids(shown.items))
    own.blanks = frozenset(item.entry.seq for item in shown.items if may_blank(member, item))
    return timeline.stretch(shown.items, own=own, read_seq=member.read_seq, me=member.pk)


def may_blank(member: Member, item: reading.Item) -> bool:
    """Whether this reader may take something out of a message or of what happened under it."""
    if item.entry.kind != Entry.Kind.MESSAGE or (item.entry.data == BLANK and not item.cards):
        return False
    owns = any(card.facts.owner == member.handle for card in item.cards)
    return member.room.owner_id == member.user_id or item.entry.author_id == member.pk or owns


def stored(room_id: int, upload: UploadedFile[bytes]) -> mail.File:
    source = f"room-{room_id}"
    name = upload.name or "file"
    sha256, size = files.store(source, upload.chunks())
    guessed = upload.content_type or mimetypes.guess_type(name)[0] or ""
    content_type = guessed if CONTENT_TYPE.fullmatch(guessed) else "application/octet-stream"
    return mail.File(source, sha256, name, content_type, size)


def number(value: str | None) -> int | None:
    return int(value) if value and value.isascii() and value.isdigit() and len(value) < 19 else None
