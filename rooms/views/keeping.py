"""How long a room keeps its entries. Before any go sooner, a page says how many."""

from __future__ import annotations

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone

from approvals import control
from approvals.forms import KeepForm
from messaging import retention
from rooms.models import Room
from rooms.views.actor import person, posted
from rooms.views.rooms import own_room


def room_keep(request: HttpRequest, room_id: int) -> HttpResponse:
    user = person(request)
    room = own_room(user, room_id)
    form = KeepForm(posted(request), initial={"days": room.retention_days})
    confirmed = request.POST.get("confirmed") == "yes"
    if request.method == "POST" and form.is_valid():
        days = form.cleaned_data["days"]
        if control.shortens(room, days) and not confirmed:
            return _ask(request, room, days)
        if form.settle(lambda: control.keep(user, room_id, days=days, confirmed=confirmed)) is not None:
            messages.success(request, "Saved.")
            return redirect("room_settings", room_id)
    context = {"room": room, "form": form, "server_days": retention.server_days(room)}
    return render(request, "rooms/keep.html", context, status=422 if form.errors else 200)


def _ask(request: HttpRequest, room: Room, days: int | None) -> HttpResponse:
    kept = retention.days(Room(kind=room.kind, retention_days=days)) or 0
    context = {"room": room, "days": days, "kept": kept, "due": control.due(room, kept, timezone.now())}
    return render(request, "rooms/keep_confirm.html", context)
