"""The page about oneself: where password, e-mail, passkeys, connections and deputy are found."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import timezone

from rooms.views.actor import person


def account(request: HttpRequest) -> HttpResponse:
    user = person(request)
    deputy = user.deputy if user.deputy_until is not None and user.deputy_until > timezone.now() else None
    return render(request, "rooms/account.html", {"deputy": deputy})
