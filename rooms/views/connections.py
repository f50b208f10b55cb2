"""What connects as somebody: programs that signed in, tokens made here, machines. Listed, made, revoked."""

from __future__ import annotations

from django.contrib import messages
from django.http import HttpRequest, HttpResponse, QueryDict
from django.shortcuts import render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST

from rooms import membership
from rooms.forms import ConnectionForm, identities, identity
from rooms.models import Connection, User
from rooms.views.actor import back, person, posted


@never_cache
def connections(request: HttpRequest) -> HttpResponse:
    """The list, and the form that makes one. The token stands in the answer to that form, and never again."""
    user = person(request)
    form = _form(user, posted(request))
    token = ""
    if request.method == "POST" and form.is_valid():
        made = form.settle(lambda: _connect(user, form.cleaned_data["identity"], form.cleaned_data["name"]))
        if made is not None:
            token = made[1]
            form = _form(user)
    listed = Connection.objects.filter(user=user, revoked_at=None).select_related("agent", "room", "machine")
    context = {"form": form, "token": token, "connections": listed.order_by("-created_at")}
    return render(request, "rooms/connections.html", context, status=422 if form.errors else 200)


@require_POST
def connection_revoke(request: HttpRequest, connection_id: int) -> HttpResponse:
    ended = membership.revoke_connection(person(request), connection_id)
    messages.success(request, f"{ended.name} can't connect any more.")
    return back(request, "connections")


def _form(user: User, data: QueryDict | None = None) -> ConnectionForm:
    return ConnectionForm(data, identities=identities(membership.may_speak_as(user)))


def _connect(user: User, chosen: str, name: str) -> tuple[Connection, str]:
    agent, room = identity(chosen)
    if agent is None or room is None:
        return membership.connect_account(user, name)
    return membership.connect(user, agent=agent, room=room, name=name)
