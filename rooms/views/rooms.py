"""Making a room, and its settings: name, invites, closing it."""

from __future__ import annotations

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_POST

from approvals import control
from messaging import retention
from rooms import access, membership
from rooms.errors import Refused
from rooms.forms import InviteForm, RoomForm
from rooms.models import Room, User
from rooms.views.actor import back, person, posted


def room_new(request: HttpRequest) -> HttpResponse:
    form = RoomForm(posted(request))
    if request.method == "POST" and form.is_valid():
        room = form.settle(lambda: membership.create_room(person(request), **form.cleaned_data))
        if room is not None:
            return redirect("room", room.pk)
    return render(request, "rooms/new.html", {"form": form}, status=422 if form.errors else 200)


def room_settings(request: HttpRequest, room_id: int) -> HttpResponse:
    """Name and invites for whoever owns the room; Refused for its members, NotFound for others."""
    user = person(request)
    room = own_room(user, room_id)
    form = RoomForm(posted(request), initial={"name": room.name, "about": room.about})
    if request.method == "POST" and form.is_valid():
        renamed = form.settle(lambda: membership.rename(user, room_id, **form.cleaned_data))
        if renamed is not None:
            messages.success(request, "Saved.")
            return redirect("room_settings", room_id)
    return settings_page(request, room, form=form)


def room_invites(request: HttpRequest, room_id: int) -> HttpResponse:
    """Make an invite link. It is shown in the answer to this very request, and never again."""
    user = person(request)
    room = own_room(user, room_id)
    if request.method != "POST":
        return redirect("room_settings", room_id)
    form = InviteForm(request.POST)
    link = ""
    if form.is_valid():
        made = form.settle(lambda: membership.invite(user, room_id, **form.cleaned_data))
        if made is not None:
            link = request.build_absolute_uri(reverse("join", args=[made[1]]))
            form = InviteForm()
    return settings_page(request, room, invite_form=form, link=link)


@require_POST
def invite_revoke(request: HttpRequest, invite_id: int) -> HttpResponse:
    revoked = membership.revoke_invite(person(request), invite_id)
    messages.success(request, "Taken back. Nobody comes in by that link any more.")
    return redirect("room_settings", revoked.room_id)


@require_POST
def room_archive(request: HttpRequest, room_id: int) -> HttpResponse:
    archived = request.POST.get("archived") == "yes"
    control.archive(person(request), room_id, archived=archived)
    messages.success(request, "Archived: it can be read, and nothing more is written." if archived else "Open again.")
    return redirect("room_settings", room_id)


@require_POST
def room_leave(request: HttpRequest, room_id: int) -> HttpResponse:
    control.leave(person(request), room_id)
    messages.success(request, "You left.")
    return back(request, "home")


def settings_page(
    request: HttpRequest,
    room: Room,
    *,
    form: RoomForm | None = None,
    invite_form: InviteForm | None = None,
    link: str = "",
) -> HttpResponse:
    form = form or RoomForm(initial={"name": room.name, "about": room.about})
    invite_form = invite_form or InviteForm()
    context = {
        "room": room,
        "form": form,
        "invite_form": invite_form,
        "link": link,
        "server_days": retention.server_days(room),
        "heirs": control.heirs(room),
        "invites": room.invites.select_related("created_by").order_by("-created_at")[:50],
    }
    return render(request, "rooms/settings.html", context, status=422 if form.errors or invite_form.errors else 200)


def own_room(user: User, room_id: int) -> Room:
    room = access.owned_room(user, room_id)
    if room.kind != Room.Kind.ROOM:
        raise Refused("This room has no settings.")
    return room
