"""Handing a room over, deleting one, and deleting one's account: what is lost stands on the page before the button."""

from __future__ import annotations

from django.contrib import messages
from django.contrib.auth import logout
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST

from approvals import control
from messaging import sign_in
from rooms import access
from rooms.errors import Invalid
from rooms.forms import DeleteAccountForm, DeleteRoomForm
from rooms.views.actor import person, posted, sign_in_first


@require_POST
def room_transfer(request: HttpRequest, room_id: int) -> HttpResponse:
    user, chosen = person(request), request.POST.get("to", "")
    access.owned_room(user, room_id)
    if not chosen.isascii() or not chosen.isdigit() or len(chosen) > 18:
        raise Invalid("Choose to whom the room goes.", field="to")
    recently = sign_in.recently(request, user)
    if not recently:
        return sign_in_first(user, reverse("room_settings", args=[room_id]))
    room = control.transfer(user, room_id, int(chosen), recently=recently)
    messages.success(request, f"{room.name} is {room.owner.username}’s now.")
    return redirect("room", room_id)


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def room_delete(request: HttpRequest, room_id: int) -> HttpResponse:
    """First what is lost; then the room's name, typed by whoever has signed in lately."""
    user = person(request)
    room = access.owned_room(user, room_id)
    control.check_deletable(room)
    here, recently = reverse("room_delete", args=[room_id]), sign_in.recently(request, user)
    if request.method == "POST" and not recently:
        return sign_in_first(user, here)
    form = DeleteRoomForm(posted(request))
    if request.method == "POST" and form.is_valid():
        name = form.cleaned_data["name"]
        if form.settle(lambda: control.delete_room(user, room_id, name=name, recently=recently)) is not None:
            messages.success(request, f"{room.name} is deleted.")
            return redirect("home")
    context = {
        "room": room,
        "loss": control.lost_with(room),
        "form": form,
        "recently": recently,
        "sign_in": "" if recently else sign_in.again(user, here),
    }
    return render(request, "rooms/delete_room.html", context, status=422 if form.errors else 200)


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def account_delete(request: HttpRequest) -> HttpResponse:
    """Each room of one's own first finds another owner or is given up; then everything personal goes."""
    user = person(request)
    here, recently = reverse("account_delete"), sign_in.recently(request, user)
    if request.method == "POST" and not recently:
        return sign_in_first(user, here)
    leaving = control.leaving(user)
    form = DeleteAccountForm(posted(request), leaving=leaving)
    if request.method == "POST" and form.is_valid():
        form.settle(lambda: control.delete_account(user, recently=recently, **form.choices()))
        if not form.errors:
            logout(request)
            return render(request, "rooms/account_gone.html")
    context = {
        "leaving": leaving,
        "form": form,
        "recently": recently,
        "sign_in": "" if recently else sign_in.again(user, here),
    }
    return render(request, "rooms/delete_account.html", context, status=422 if form.errors else 200)
