"""An agent's page for its owner, its picture for its rooms, and the direct room with it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.contrib import messages
from django.core.files.uploadedfile import UploadedFile
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_GET, require_POST

from agentroom_machine import wire
from approvals import control, directory
from rooms import access, membership
from rooms.errors import NotFound
from rooms.forms import AgentForm, AvatarForm, PageForm
from rooms.membership.agents import MAX_AVATAR
from rooms.models import Agent, Room
from rooms.people import runtime_name
from rooms.views.actor import back, person, posted

PICTURE_TYPES = {"png": "image/png", "jpg": "image/jpeg", "gif": "image/gif", "webp": "image/webp"}


def agent(request: HttpRequest, agent_id: int) -> HttpResponse:
    """What its owner may change. Anybody who shares a room with it sees who it is, and no more."""
    user = person(request)
    found = membership.reachable_agent(user, agent_id)
    if found.owner_id != user.pk:
        return render(request, "rooms/agent_seen.html", {"agent": found, "runtime": runtime_name(found)})
    form = AgentForm(posted(request), initial=_initial(found))
    if request.method == "POST" and form.is_valid():
        edit = wire.AgentEdit(**form.cleaned_data)
        if form.settle(lambda: membership.edit_agent(user, found.handle, edit)) is not None:
            messages.success(request, "Saved.")
            return redirect("agent", agent_id)
    return _page(request, found, form=form)


@require_POST
def agent_avatar_set(request: HttpRequest, agent_id: int) -> HttpResponse:
    user = person(request)
    found = access.owned_agent(user, agent_id)
    if request.POST.get("remove"):
        membership.set_avatar(user, agent_id, None)
        return redirect("agent", agent_id)
    form = AvatarForm(request.POST, request.FILES)
    if form.is_valid():
        picture: UploadedFile[bytes] = form.cleaned_data["avatar"]
        # One byte more than allowed is enough to know that it is too large.
        if form.settle(lambda: membership.set_avatar(user, agent_id, picture.read(MAX_AVATAR + 1))) is not None:
            messages.success(request, "Saved.")
            return redirect("agent", agent_id)
    return _page(request, found, avatar_form=form)


@require_GET
def agent_avatar(request: HttpRequest, agent_id: int) -> HttpResponse:
    """The picture, for whoever shares a room with the agent. Its type was read from its bytes; nothing in it runs."""
    found = membership.reachable_agent(person(request), agent_id)
    kind = (found.avatar.name or "").rpartition(".")[2]
    if kind not in PICTURE_TYPES:
        raise NotFound(access.ABSENT)
    with found.avatar.open("rb") as picture:
        answer = HttpResponse(picture.read(), content_type=PICTURE_TYPES[kind])
    answer["Content-Security-Policy"] = "sandbox; default-src 'none'"
    answer["X-Content-Type-Options"] = "nosniff"
    answer["Cache-Control"] = "private, max-age=300"
    return answer


@require_POST
def agent_pause(request: HttpRequest, agent_id: int) -> HttpResponse:
    paused = request.POST.get("paused") == "yes"
    changed = control.pause_agent(person(request), agent_id, paused=paused)
    messages.success(request, f"{changed.handle} {'starts nothing until you resume it' if paused else 'goes on'}.")
    return back(request, "home")


@require_POST
def agent_retire(request: HttpRequest, agent_id: int) -> HttpResponse:
    user = person(request)
    found = access.owned_agent(user, agent_id)
    control.retire_agent(user, agent_id)
    messages.success(request, f"{found.handle} left all its rooms. What it said stays.")
    return redirect("home")


def direct(request: HttpRequest, agent_id: int) -> HttpResponse:
    """The way into the direct room: at once when it is there, else a button that says who decides."""
    user = person(request)
    found = membership.reachable_agent(user, agent_id)
    if request.method == "POST":
        return redirect("room", membership.direct_room(user, agent_id).pk)
    there = Room.objects.filter(owner=user, direct_agent=found, kind=Room.Kind.DIRECT, archived_at=None).first()
    if there is not None:
        return redirect("room", there.pk)
    return render(request, "rooms/direct.html", {"agent": found, "mine": found.owner_id == user.pk})


@require_POST
def direct_let_in(request: HttpRequest, room_id: int) -> HttpResponse:
    """The owner's yes to a direct room: their agent takes its seat."""
    user = person(request)
    room = access.member_for(user, room_id).room
    if room.kind != Room.Kind.DIRECT or room.direct_agent_id is None:
        raise NotFound(access.ABSENT)
    membership.add_agent(user, room_id, room.direct_agent_id)
    return back(request, "home")


@require_POST
def direct_decline(request: HttpRequest, room_id: int) -> HttpResponse:
    control.decline_direct(person(request), room_id)
    messages.success(request, "Declined.")
    return back(request, "home")


def _initial(found: Agent) -> Mapping[str, Any]:
    return {name: getattr(found, name) for name in AgentForm.base_fields}


def _page(
    request: HttpRequest, found: Agent, *, form: PageForm | None = None, avatar_form: PageForm | None = None
) -> HttpResponse:
    form = form or AgentForm(initial=_initial(found))
    avatar_form = avatar_form or AvatarForm()
    context = {
        "agent": found,
        "form": form,
        "avatar_form": avatar_form,
        "runtime": found.runtime,
        "status": directory.agent_status(found.owner, found),
        "seats": directory.seats_of(found),
    }
    return render(request, "rooms/agent.html", context, status=422 if form.errors or avatar_form.errors else 200)
