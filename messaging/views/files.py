"""Attached and produced files, for whoever may read their room, with headers that let them do no harm."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse, HttpResponseNotModified
from django.utils.http import content_disposition_header, parse_etags
from django.views.decorators.http import require_safe

from messaging import files
from messaging.models import Attachment
from messaging.render.sections import INLINE, RASTER
from messaging.viewer import person
from rooms.access import ABSENT, member_for
from rooms.errors import NotFound


@require_safe
def file(request: HttpRequest, room_id: int, attachment_id: int, name: str) -> HttpResponse:
    member_for(person(request), room_id)
    return answer(request, Attachment.objects.filter(entry__room=room_id, pk=attachment_id).first())


@require_safe
def produced(request: HttpRequest, room_id: int, seq: int, name: str) -> HttpResponse:
    """What a turn produced, by the number of its entry."""
    member_for(person(request), room_id)
    attachments = Attachment.objects.filter(entry__room=room_id, entry__seq=seq, entry__kind="artifact")
    return answer(request, attachments.first())


def answer(request: HttpRequest, attachment: Attachment | None) -> HttpResponse:
    if attachment is None:
        raise NotFound(ABSENT)
    etag = f'"{attachment.sha256}"'
    if etag in parse_etags(request.headers.get("If-None-Match", "")):
        return safe(HttpResponseNotModified(), attachment, etag)
    try:
        content = files.path(attachment.source, attachment.sha256).read_bytes()
    except FileNotFoundError:
        raise NotFound("The file is no longer here.") from None
    return safe(HttpResponse(content), attachment, etag)


def safe(response: HttpResponse, attachment: Attachment, etag: str) -> HttpResponse:
    kind = attachment.content_type if attachment.content_type in INLINE else "application/octet-stream"
    disposition = content_disposition_header(attachment.content_type not in RASTER, attachment.name)
    response.headers["Content-Type"] = kind
    response.headers["Content-Disposition"] = disposition or "attachment"
    response.headers["Content-Security-Policy"] = "sandbox; default-src 'none'; style-src 'unsafe-inline'"
    response.headers["X-Content-Type-Options"] = "nosniff"
    response.headers["Cache-Control"] = "private, no-cache"
    response.headers["ETag"] = etag
    return response
