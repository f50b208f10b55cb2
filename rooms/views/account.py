"""The page about oneself: where password, e-mail, passkeys, connections and deputy are found."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import timezone

from rooms.models import Room
from rooms.views.actor import person


def account(request: HttpRequest) -> HttpResponse:
    user = person(request)
    deputy = user.deputy if user.deputy_until is not None and user.deputy_until > timezone.now() else None
    chats = Room.objects.filter(owner=user, kind=Room.Kind.ACCOUNT)
    context = {"deputy": deputy, "agent_chat": not chats.filter(agent_chat=False).exists()}
    return render(request, "rooms/account.html", context)
