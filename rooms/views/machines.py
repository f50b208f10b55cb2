"""Pairing a machine, and revoking it."""

from __future__ import annotations

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST

from approvals import control
from rooms import membership
from rooms.errors import NotFound
from rooms.forms import CodeForm
from rooms.views.actor import back, cancelled_too, person
from rooms.views.limits import limited


@never_cache
@limited("pair")
def pair(request: HttpRequest) -> HttpResponse:
    """First the code, then which machine shows it, then the person's word."""
    user = person(request)
    code = request.POST.get("code", request.GET.get("code", ""))
    if not code:
        return render(request, "rooms/pair_code.html", {"form": CodeForm()})
    try:
        waiting = membership.waiting_pairing(code)
        if request.method == "POST" and request.POST.get("answer") == "yes":
            machine = membership.confirm_pairing(user, code)
            return render(request, "rooms/pair_done.html", {"machine": machine})
        if request.method == "POST" and request.POST.get("answer") == "no":
            membership.decline_pairing(user, code)
            messages.success(request, f"{waiting.name} was sent away.")
            return redirect("home")
    except NotFound as error:
        form = CodeForm({"code": code})
        form.add_error("code", error.detail)
        return render(request, "rooms/pair_code.html", {"form": form}, status=404)
    return render(request, "rooms/pair.html", {"pairing": waiting})


@require_POST
def machine_revoke(request: HttpRequest, machine_id: int) -> HttpResponse:
    cancelled = control.revoke_machine(person(request), machine_id)
    messages.success(request, "Revoked: the machine can't call any more." + cancelled_too(cancelled))
    return back(request, "home")
