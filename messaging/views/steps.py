"""What a turn's card leaves out until somebody asks: earlier steps, an output, a whole text."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_GET

from messaging.models import Entry
from messaging.render import reading, sections
from messaging.render.drawing import title
from messaging.render.questions import decision
from messaging.render.terminal import terminal
from messaging.viewer import person
from rooms.access import ABSENT, member_for
from rooms.errors import NotFound

STEPS = 200


@require_GET
def steps(request: HttpRequest, room_id: int, turn_id: int) -> HttpResponse:
    """Up to 200 finished steps before a number, oldest first."""
    member = member_for(person(request), room_id)
    card = reading.card(room_id, turn_id, whole=True)
    if card is None:
        raise NotFound(ABSENT)
    limit = number(request)
    finished = [step for step in card.finished if limit is None or step.seq < limit]
    shown = finished[-STEPS:]
    context = {
        "room": member.room,
        "card": card,
        "steps": [sections.step(card, step) for step in shown],
        "before": shown[0].seq if len(finished) > len(shown) else None,
        "what": "steps",
    }
    return render(request, template(request, "messaging/steps.html", "messaging/_steps.html"), context)


@require_GET
def decisions(request: HttpRequest, room_id: int, turn_id: int) -> HttpResponse:
    """Up to 200 decided questions before a number, oldest first."""
    member = member_for(person(request), room_id)
    card = reading.card(room_id, turn_id)
    if card is None:
        raise NotFound(ABSENT)
    limit = number(request)
    decided = [asked for asked in card.decided if limit is None or asked.last_seq < limit]
    shown = decided[-STEPS:]
    context = {
        "room": member.room,
        "card": card,
        "steps": [decision(card, asked) for asked in shown],
        "before": shown[0].last_seq if len(decided) > len(shown) else None,
        "what": "decisions",
    }
    return render(request, template(request, "messaging/steps.html", "messaging/_steps.html"), context)


@require_GET
def step(request: HttpRequest, room_id: int, turn_id: int, seq: int) -> HttpResponse:
    """The output of one step, by the number of its first entry, or a file's shared diff by its own."""
    member = member_for(person(request), room_id)
    row = Entry.objects.filter(room=room_id, seq=seq, kind__in=["tool_call", "file_change"], data__turn=turn_id).first()
    if row is None:
        raise NotFound(ABSENT)
    if row.kind == Entry.Kind.TOOL_CALL:
        row = (
            Entry.objects.filter(
                room=room_id, parent_seq=row.parent_seq, kind=row.kind, seq__gte=seq,
                data__turn=turn_id, data__call=row.data["call"],
            ).order_by("seq").last()
            or row
        )  # fmt: skip
    context = {
        "room": member.room,
        "turn": turn_id,
        "entry": row,
        "title": title(str(row.data.get("title") or row.data.get("path") or "")),
        "output": terminal(row.body),
        "cut": int(row.data.get("output_cut") or 0),
    }
    return render(request, template(request, "messaging/step.html", "messaging/_step.html"), context)


@require_GET
def text(request: HttpRequest, room_id: int, turn_id: int, seq: int) -> HttpResponse:
    """One passage of a turn, whole, as plain text."""
    member_for(person(request), room_id)
    first = Entry.objects.filter(room=room_id, seq=seq, kind=Entry.Kind.TEXT, data__turn=turn_id).first()
    if first is None:
        raise NotFound(ABSENT)
    pieces = Entry.objects.filter(
        room=room_id, parent_seq=first.parent_seq, kind=Entry.Kind.TEXT, data__turn=turn_id,
        data__part=first.data.get("part", ""),
    ).order_by("seq").values_list("body", flat=True)  # fmt: skip
    return HttpResponse("".join(pieces), content_type="text/plain; charset=utf-8")


def number(request: HttpRequest) -> int | None:
    before = request.GET.get("before", "")
    return int(before) if before.isascii() and before.isdigit() and len(before) < 19 else None


def template(request: HttpRequest, page: str, piece: str) -> str:
    return piece if request.headers.get("X-Requested-With") == "fetch" else page
