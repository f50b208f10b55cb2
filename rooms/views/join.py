"""The page behind an invite link."""

from __future__ import annotations

from allauth.account.internal.flows.login import record_authentication
from allauth.account.utils import perform_login
from django.contrib.auth.decorators import login_not_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.cache import never_cache

from rooms import membership
from rooms.errors import NotFound
from rooms.forms import JoinForm, SeatForm
from rooms.models import User
from rooms.views.actor import posted
from rooms.views.errors import wants_json
from rooms.views.limits import limited


@login_not_required
@never_cache
@limited("join")
def join(request: HttpRequest, token: str) -> HttpResponse:
    """One form for a stranger, one button for whoever is signed in; a dead link says why, and not for which room."""
    user = request.user if isinstance(request.user, User) else None
    if user is not None and (seat := membership.seat_by_invite(user, token)) is not None:
        return redirect("room", seat.room_id)
    try:
        return _stranger(request, token) if user is None else _known(request, user, token)
    except NotFound as error:
        if wants_json(request):
            raise
        return render(request, "rooms/join_refused.html", {"detail": error.detail}, status=404)


def _stranger(request: HttpRequest, token: str) -> HttpResponse:
    form = JoinForm(posted(request))
    if request.method == "POST" and form.is_valid():
        joined = form.settle(lambda: membership.join_as_new_person(token, **form.cleaned_data))
        if joined is not None:
            user, seat = joined
            to = reverse("room", args=[seat.room_id])
            record_authentication(request, user, method="password")
            signed_in: HttpResponse = perform_login(request, user, email_verification="none", redirect_url=to)
            return signed_in
    return _page(request, token, form)


def _known(request: HttpRequest, user: User, token: str) -> HttpResponse:
    form = SeatForm(posted(request), initial={"handle": user.username})
    if request.method == "POST" and form.is_valid():
        seat = form.settle(lambda: membership.accept_invite(user, token, **form.cleaned_data))
        if seat is not None:
            return redirect("room", seat.room_id)
    return _page(request, token, form)


def _page(request: HttpRequest, token: str, form: JoinForm | SeatForm) -> HttpResponse:
    context = {"invite": membership.invite_for(token), "form": form, "here": request.path}
    return render(request, "rooms/join.html", context, status=422 if form.errors else 200)
