"""Who is asking, and where they go afterwards."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse, QueryDict
from django.shortcuts import redirect
from django.utils.http import url_has_allowed_host_and_scheme

from approvals import control
from messaging import sign_in
from rooms.access import ABSENT
from rooms.errors import NotFound, Refused
from rooms.models import User


def person(request: HttpRequest) -> User:
    """The signed-in person."""
    if not isinstance(request.user, User) or not request.user.is_active:
        raise NotFound(ABSENT)
    return request.user


def posted(request: HttpRequest) -> QueryDict | None:
    """What a form holds: nothing until it is sent, and an empty one once it was sent empty."""
    return request.POST if request.method == "POST" else None


def back(request: HttpRequest, to: str, *args: object) -> HttpResponse:
    """Where the form came from, if it says so and that is here; else ``to``."""
    wanted = request.POST.get("next", "")
    if wanted and url_has_allowed_host_and_scheme(wanted, {request.get_host()}, require_https=request.is_secure()):
        return redirect(wanted)
    return redirect(to, *args)


def sign_in_first(user: User, back: str) -> HttpResponse:
    """Send whoever does what wants a recent sign-in to sign in once more and back to the page. Nothing is decided."""
    url = sign_in.again(user, back)
    if not url:
        raise Refused(control.SIGN_IN, code="sign_in")
    return redirect(url)


def cancelled_too(turns: int) -> str:
    """What a revocation took with it, in words."""
    if not turns:
        return ""
    return " One waiting request was cancelled." if turns == 1 else f" {turns} waiting requests were cancelled."
