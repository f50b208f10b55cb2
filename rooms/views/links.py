"""Links that open the door once: a person's sign-in link, and the first owner's."""

from __future__ import annotations

from allauth.account.internal.flows.login import record_authentication
from allauth.account.utils import perform_login
from django.contrib.auth import logout
from django.contrib.auth.decorators import login_not_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.cache import never_cache

from rooms import membership
from rooms.errors import NotFound
from rooms.forms import FirstForm
from rooms.models import User
from rooms.views.actor import posted
from rooms.views.limits import limited


@login_not_required
@never_cache
@limited("link")
def sign_in_link(request: HttpRequest, token: str) -> HttpResponse:
    """GET only shows a button: what previews links must not use them up."""
    try:
        if request.method != "POST":
            return render(request, "rooms/sign_in_link.html", {"holder": membership.link_holder(token)})
        user = membership.use_sign_in_link(token)
    except NotFound as error:
        return render(request, "rooms/link_spent.html", {"detail": error.detail}, status=404)
    return _sign_in(request, user)


@login_not_required
@never_cache
@limited("link")
def first(request: HttpRequest, token: str) -> HttpResponse:
    """The page that makes the first owner and administrator."""
    try:
        membership.first_link_open(token)
        form = FirstForm(posted(request))
        if request.method == "POST" and form.is_valid():
            user = form.settle(lambda: membership.use_first_link(token, **form.cleaned_data))
            if user is not None:
                return _sign_in(request, user)
        return render(request, "rooms/first.html", {"form": form}, status=422 if form.errors else 200)
    except NotFound as error:
        return render(request, "rooms/link_spent.html", {"detail": error.detail}, status=404)


def _sign_in(request: HttpRequest, user: User) -> HttpResponse:
    if request.user.is_authenticated and request.user.pk != user.pk:
        logout(request)
    record_authentication(request, user, method="link")
    signed_in: HttpResponse = perform_login(request, user, email_verification="none", redirect_url="/")
    return signed_in
