"""What the asker and the owner can do about a turn."""

from __future__ import annotations

import uuid

from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.http import url_has_allowed_host_and_scheme
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from approvals import control, turns
from approvals.models import Turn
from messaging.models import Entry
from messaging.render import away, reading, sections
from messaging.render import controls as forms
from messaging.viewer import person
from rooms.access import ABSENT, member_for, seated
from rooms.errors import NotFound


def in_room(request: HttpRequest, room_id: int, seq: int) -> HttpResponse:
    """Where the form came from, or the room, where the result stands, or home for a deputy who doesn't sit in it."""
    if request.headers.get("X-Requested-With") == "fetch":
        return JsonResponse({"seq": seq})
    wanted = request.POST.get("next", "")
    if wanted and url_has_allowed_host_and_scheme(wanted, {request.get_host()}, require_https=request.is_secure()):
        return redirect(wanted)
    if not seated(room_id).filter(user=person(request)).exists():
        return redirect("home")
    return redirect(f"{reverse('room', args=[room_id])}?at={seq}#e{seq}")


def after(request: HttpRequest, turn: Turn) -> HttpResponse:
    return in_room(request, turn.room_id, turn.entry.seq)


def to_entry(request: HttpRequest, entry: Entry) -> HttpResponse:
    return in_room(request, entry.room_id, entry.seq)


def client_id(request: HttpRequest) -> str:
    return request.POST.get("client_id", "")[:100] or uuid.uuid4().hex


@require_GET
def controls(request: HttpRequest, turn_id: int) -> HttpResponse:
    """This reader's forms of a turn and its questions, each with the id of what it replaces."""
    turn = (
        Turn.objects.select_related("agent__owner__deputy", "machine", "principal", "entry__author")
        .filter(pk=turn_id)
        .first()
    )
    if turn is None:
        raise NotFound(ABSENT)
    member_for(person(request), turn.room_id)
    own = forms.for_turns(request, [turn.pk])
    context = {"turn": turn, "form": own.forms.get(turn.pk, ""), "questions": own.questions.values()}
    if turn.status == Turn.Status.RUNNING:
        # Whether its machine answers is no entry: an open page hears of it here.
        card = away.glance(turn, reading.facts_of(turn, reading.handles_in(turn.room_id, [turn])))
        context |= {"state": sections.state(card), "away": sections.away(card)}
    return render(request, "approvals/own.html", context)


@require_POST
def cancel(request: HttpRequest, turn_id: int) -> HttpResponse:
    return after(request, turns.cancel(person(request), turn_id))


@require_POST
def change(request: HttpRequest, turn_id: int) -> HttpResponse:
    body = request.POST.get("body", "")
    return to_entry(request, turns.change(person(request), turn_id, body=body, client_id=client_id(request)))


@require_POST
def retry(request: HttpRequest, turn_id: int) -> HttpResponse:
    return to_entry(request, turns.retry(person(request), turn_id, client_id=client_id(request)))


@require_POST
def stop(request: HttpRequest, turn_id: int) -> HttpResponse:
    return after(request, control.stop_turn(person(request), turn_id))


@require_POST
def close(request: HttpRequest, turn_id: int) -> HttpResponse:
    return after(request, control.close_turn(person(request), turn_id))


@require_http_methods(["GET", "POST"])
def undo(request: HttpRequest, turn_id: int) -> HttpResponse:
    """Says what would be put back; then asks the machine to do it."""
    if request.method == "POST":
        return after(request, control.undo_turn(person(request), turn_id))
    return render(request, "approvals/undo.html", {"undo": control.undoable(person(request), turn_id)})
