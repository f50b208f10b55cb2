"""Who may do what with one's agents, and who answers while one is away."""

from __future__ import annotations

from datetime import timedelta

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST

from approvals import control
from approvals.models import Grant
from messaging import sign_in
from rooms.errors import Invalid, NotFound
from rooms.forms import DeputyForm, GrantForm, ends_at
from rooms.models import Agent, Member, User
from rooms.views.actor import back, cancelled_too, person, posted, sign_in_first
from rooms.views.home import own_grants


def grants(request: HttpRequest) -> HttpResponse:
    user = person(request)
    form = GrantForm(posted(request), agents=_agents(user), people=_people(user))
    if request.method == "POST" and form.is_valid() and form.settle(lambda: _grant(user, form)) is not None:
        messages.success(request, "Saved.")
        return redirect("grants")
    context = {"form": form, "grants": own_grants(user), "anybody": bool(_people(user)) and bool(_agents(user))}
    return render(request, "rooms/grants.html", context, status=422 if form.errors else 200)


@require_POST
def grant_revoke(request: HttpRequest, grant_id: int) -> HttpResponse:
    cancelled = control.revoke_grant(person(request), grant_id)
    messages.success(request, "Revoked: they ask first again." + cancelled_too(cancelled))
    return back(request, "grants")


@never_cache
def deputy(request: HttpRequest) -> HttpResponse:
    user = person(request)
    now = timezone.now()
    if request.method == "POST" and request.POST.get("end"):
        control.end_deputy(user)
        messages.success(request, "You answer alone again.")
        return redirect("deputy")
    recently = sign_in.recently(request, user)
    if request.method == "POST" and not recently:
        return sign_in_first(user, reverse("deputy"))
    form = DeputyForm(posted(request))
    if request.method == "POST" and form.is_valid():
        handle, until = form.cleaned_data["handle"], now + timedelta(days=form.cleaned_data["days"])
        form.settle(lambda: control.name_deputy(user, handle=handle, until=until, recently=recently))
        if not form.errors:
            messages.success(request, f"{handle} may answer for you.")
            return redirect("deputy")
    user.refresh_from_db()
    current = user.deputy if user.deputy_until is not None and user.deputy_until > now else None
    context = {
        "form": form,
        "deputy": current,
        "until": user.deputy_until,
        "recently": recently,
        "sign_in": "" if recently else sign_in.again(user, reverse("deputy")),
    }
    return render(request, "rooms/deputy.html", context, status=422 if form.errors else 200)


def _agents(user: User) -> list[tuple[str, str]]:
    agents = Agent.objects.filter(owner=user, retired_at=None).order_by("handle")
    return [(str(agent.pk), agent.handle) for agent in agents]


def _people(user: User) -> list[tuple[str, str]]:
    """Everybody who sits where one of this person's agents sits: in that room, or in all that they share."""
    rooms = Member.objects.filter(agent__owner=user, left_at=None).values("room_id")
    seats = list(
        Member.objects.filter(room__in=rooms, user__isnull=False, left_at=None)
        .exclude(user=user)
        .select_related("room", "user")
        .order_by("handle", "room__name")
    )
    here = [(f"seat:{seat.pk}", f"{seat.handle} in {seat.room.name}") for seat in seats]
    known = {seat.user_id: seat.user.username for seat in seats if seat.user is not None}
    return [*here, *((f"person:{pk}", f"{name} in every room that you share") for pk, name in known.items())]


def _grant(user: User, form: GrantForm) -> Grant:
    chosen = form.cleaned_data
    kind, _, pk = chosen["whom"].partition(":")
    whom = {"member_id" if kind == "seat" else "person_id": int(pk)}
    try:
        return control.set_grant(
            user,
            agent_id=int(chosen["agent"]),
            level=chosen["level"],
            expires_at=ends_at(chosen["lasts"], chosen["until"]),
            **whom,
        )
    except NotFound as error:
        raise Invalid("This agent does not sit in a room with them.", field="whom") from error
