"""One question alone, and its answer."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta

from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_GET, require_POST

from approvals import consent, turns
from approvals.models import Approval
from approvals.views.turns import after
from messaging.render import controls
from messaging.viewer import person
from rooms.access import ABSENT, seated
from rooms.errors import Invalid, NotFound
from rooms.models import User

OWN_WORDS = {"once": "You approved it.", "always": "You allowed it always.", "no": "You declined it."}
LASTS = {"day": timedelta(days=1), "week": timedelta(days=7)}


def answerable(request: HttpRequest, approval_id: int) -> Approval:
    user = person(request)
    approval = (
        Approval.objects.select_related(
            "turn__agent__owner__deputy", "turn__agent__machine", "turn__machine", "turn__room", "turn__entry__author",
            "turn__principal", "decided_by",
        ).filter(pk=approval_id).first()
    )  # fmt: skip
    if approval is None or not consent.may_answer(user, approval):
        raise NotFound(ABSENT)
    return approval


@require_GET
def question(request: HttpRequest, approval_id: int) -> HttpResponse:
    """As a notification opens it: the question, and the next one if more wait."""
    user = person(request)
    approval = answerable(request, approval_id)
    waiting = [other.pk for other in consent.waiting_for(user)]
    context = {
        "approval": approval,
        "room": approval.turn.room,
        "seated": seated(approval.turn.room_id).filter(user=user).exists(),
        "card": "" if approval.verdict else card(request, approval),
        "words": outcome(user, approval) if approval.verdict else "",
        "number": waiting.index(approval.pk) + 1 if approval.pk in waiting else 0,
        "count": len(waiting),
        "next": following(waiting, approval),
    }
    return render(request, "approvals/question_page.html", context)


def following(waiting: Sequence[int], approval: Approval) -> int | None:
    """Which question comes after this one, beginning again at the oldest."""
    others = [pk for pk in waiting if pk != approval.pk]
    return next((pk for pk in others if pk > approval.pk), others[0] if others else None)


def outcome(user: User, approval: Approval) -> str:
    """How it was decided, to whoever looks at it now."""
    if approval.decided_by_id == user.pk:
        answered = approval.subject == Approval.Subject.QUESTION and approval.verdict == "once"
        return "You answered it." if answered else OWN_WORDS[approval.verdict]
    return consent.already(approval)


def card(request: HttpRequest, approval: Approval) -> str:
    if approval.subject == Approval.Subject.START:
        return controls.start_alone(request, approval)
    return controls.question(request, approval, approval.turn, level=2, alone=True)


@require_POST
def answer(request: HttpRequest, approval_id: int) -> HttpResponse:
    approval = answerable(request, approval_id)
    verdict, note = request.POST.get("verdict", ""), request.POST.get("note", "")
    if (option := request.POST.get("option")) is not None:
        verdict, note = "once", chosen(approval, option)
    scope = request.POST.get("scope", "room")
    until: datetime | None = timezone.now() + LASTS[scope] if verdict == "always" and scope in LASTS else None
    decided = turns.answer(
        person(request),
        approval_id,
        verdict=verdict,
        note=note,
        everywhere=verdict == "always" and scope == "everywhere",
        until=until,
    )
    return onward(request, decided) if "alone" in request.POST else after(request, decided.turn)


def onward(request: HttpRequest, decided: Approval) -> HttpResponse:
    """From a question's own page to the next one that waits; without one, to where the decision stands."""
    following_one = following([other.pk for other in consent.waiting_for(person(request))], decided)
    url = "" if following_one is None else reverse("question", args=[following_one])
    if request.headers.get("X-Requested-With") == "fetch":
        return JsonResponse({"seq": decided.turn.entry.seq, "next": url})
    return redirect(url) if url else after(request, decided.turn)


def chosen(approval: Approval, option: str) -> str:
    if not option.isascii() or not option.isdigit() or int(option) >= len(approval.options):
        raise Invalid("Choose one of the answers.", field="option")
    return str(approval.options[int(option)])
