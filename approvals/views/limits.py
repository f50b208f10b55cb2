"""How long an agent's questions wait, and how much each person may have from it: for its owner."""

from __future__ import annotations

from dataclasses import dataclass

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_POST

from approvals import control, forms, limits
from approvals.models import AnswerTimes, Limit
from messaging.viewer import person
from rooms.access import owned_agent
from rooms.models import Agent, Member, User


@dataclass(frozen=True, slots=True)
class Row:
    limit: Limit
    used: limits.Used


def agent_limits(request: HttpRequest, agent_id: int) -> HttpResponse:
    user = person(request)
    agent = owned_agent(user, agent_id)
    form = forms.LimitForm(request.POST if request.method == "POST" else None, people=people(agent))
    if request.method == "POST" and form.is_valid():
        most = {name: value for name, value in form.cleaned_data.items() if name != "person"}
        form.settle(lambda: control.set_limit(user, agent_id, int(form.cleaned_data["person"]), **most))
        if not form.errors:
            messages.success(request, "Saved.")
            return redirect("agent_limits", agent_id)
    return page(request, agent, limit_form=form)


@require_POST
def agent_times(request: HttpRequest, agent_id: int) -> HttpResponse:
    user = person(request)
    agent = owned_agent(user, agent_id)
    form = forms.TimesForm(request.POST)
    if form.is_valid() and form.settle(lambda: control.set_times(user, agent_id, **form.cleaned_data)) is not None:
        messages.success(request, "Saved. What waits already keeps its time.")
        return redirect("agent_limits", agent_id)
    return page(request, agent, times_form=form)


@require_POST
def limit_lift(request: HttpRequest, agent_id: int, person_id: int) -> HttpResponse:
    control.set_limit(person(request), agent_id, person_id)
    messages.success(request, "Lifted. What waited for it goes on.")
    return redirect("agent_limits", agent_id)


def page(
    request: HttpRequest,
    agent: Agent,
    *,
    limit_form: forms.LimitForm | None = None,
    times_form: forms.TimesForm | None = None,
) -> HttpResponse:
    times = AnswerTimes.objects.filter(agent=agent).first() or AnswerTimes()
    rows = Limit.objects.filter(agent=agent).select_related("person").order_by("person__username")
    context = {
        "agent": agent,
        "times_form": times_form or forms.TimesForm(initial=forms.of(times)),
        "form": limit_form or forms.LimitForm(people=people(agent)),
        "anybody": bool(people(agent)),
        "limits": [Row(limit, limits.used(agent.pk, limit.person_id)) for limit in rows],
    }
    wrong = bool(limit_form and limit_form.errors) or bool(times_form and times_form.errors)
    return render(request, "approvals/limits.html", context, status=422 if wrong else 200)


def people(agent: Agent) -> list[tuple[str, str]]:
    """Everybody else who sits where the agent sits."""
    rooms = Member.objects.filter(agent=agent, left_at=None).values("room")
    found = User.objects.filter(seats__room__in=rooms, seats__left_at=None).exclude(pk=agent.owner_id)
    return [(str(pk), name) for pk, name in found.distinct().order_by("username").values_list("pk", "username")]
