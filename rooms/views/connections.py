"""Bearer tokens for agents that somebody runs by hand: made, listed, revoked."""

from __future__ import annotations

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST

from rooms import membership
from rooms.forms import ConnectionForm
from rooms.models import Connection, Member, User
from rooms.views.actor import person, posted

ACCOUNT = "account"


@never_cache
def connections(request: HttpRequest) -> HttpResponse:
    """The list, and the form that makes one. The token stands in the answer to that form, and never again."""
    user = person(request)
    form = ConnectionForm(posted(request), identities=_identities(user))
    token = ""
    if request.method == "POST" and form.is_valid():
        made = form.settle(lambda: _connect(user, form.cleaned_data["identity"], form.cleaned_data["name"]))
        if made is not None:
            token = made[1]
            form = ConnectionForm(identities=_identities(user))
    listed = Connection.objects.filter(user=user, revoked_at=None).select_related("agent", "room", "machine")
    context = {"form": form, "token": token, "connections": listed.order_by("-created_at")}
    return render(request, "rooms/connections.html", context, status=422 if form.errors else 200)


@require_POST
def connection_revoke(request: HttpRequest, connection_id: int) -> HttpResponse:
    ended = membership.revoke_connection(person(request), connection_id)
    messages.success(request, f"{ended.name} can't connect any more.")
    return redirect("connections")


def _identities(user: User) -> list[tuple[str, str]]:
    seats = Member.objects.filter(agent__owner=user, left_at=None, room__archived_at=None, agent__retired_at=None)
    named = [
        (f"{seat.agent_id}:{seat.room_id}", f"{seat.handle} in {seat.room.name}")
        for seat in seats.select_related("room", "agent").order_by("handle", "room__name")
    ]
    return [(ACCOUNT, "my account, in its private chat"), *named]


def _connect(user: User, identity: str, name: str) -> tuple[Connection, str]:
    if identity == ACCOUNT:
        return membership.connect_account(user, name)
    agent_id, room_id = identity.split(":")
    return membership.connect(user, agent=int(agent_id), room=int(room_id), name=name)
