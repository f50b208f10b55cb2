"""The people's column of a room, and what can be done in it."""

from __future__ import annotations

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_POST

from approvals import control
from rooms import access, membership
from rooms.errors import Invalid, NotFound
from rooms.models import Member, Room
from rooms.people import column
from rooms.views.actor import back, person


def room_people(request: HttpRequest, room_id: int) -> HttpResponse:
    """The column alone, as the room's page fetches it again."""
    member = access.member_for(person(request), room_id)
    if member.room.kind == Room.Kind.ACCOUNT:
        raise NotFound(access.ABSENT)
    seen = column(member)
    return render(request, "rooms/people.html", {"column": seen, "room": seen.room})


@require_POST
def agent_seat(request: HttpRequest, room_id: int) -> HttpResponse:
    user = person(request)
    access.member_for(user, room_id)
    seat = membership.add_agent(user, room_id, _number(request, "agent"), handle=request.POST.get("handle", ""))
    messages.success(request, f"{seat.handle} sits in this room now.")
    return back(request, "room", room_id)


@require_POST
def member_remove(request: HttpRequest, member_id: int) -> HttpResponse:
    user = person(request)
    seat = _seat(request, member_id)
    control.remove_member(user, member_id)
    messages.success(request, f"{seat.handle} was removed.")
    return back(request, "room", seat.room_id)


@require_POST
def member_role(request: HttpRequest, member_id: int) -> HttpResponse:
    user = person(request)
    seat = _seat(request, member_id)
    control.set_role(user, member_id, request.POST.get("role", ""))
    return back(request, "room", seat.room_id)


@require_POST
def memory_reset(request: HttpRequest, member_id: int) -> HttpResponse:
    user = person(request)
    seat = _seat(request, member_id)
    control.reset_memory(user, member_id)
    messages.success(request, f"{seat.handle} begins anew in {seat.room.name}.")
    return back(request, "room", seat.room_id)


def _seat(request: HttpRequest, member_id: int) -> Member:
    """A seat in a room where the reader sits too."""
    seat = Member.objects.select_related("room").filter(pk=member_id, left_at=None).first()
    if seat is None:
        raise NotFound(access.ABSENT)
    access.member_for(person(request), seat.room_id)
    return seat


def _number(request: HttpRequest, name: str) -> int:
    value = request.POST.get(name, "")
    if not value.isascii() or not value.isdigit() or len(value) > 18:
        raise Invalid("Choose one of the list.", field=name)
    return int(value)
