"""One question alone, and its answer."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, time, timedelta

from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.utils.dateparse import parse_date
from django.views.decorators.http import require_GET, require_POST

from approvals import consent, turns
from approvals.models import Approval, Turn
from approvals.views.turns import after
from messaging import sign_in
from messaging.render import controls
from messaging.viewer import person
from rooms.access import ABSENT, seated
from rooms.errors import Invalid, NotFound, Refused
from rooms.models import User

OWN_WORDS = {"once": "You approved it.", "always": "You allowed it always.", "no": "You declined it."}
LASTS = {"hour": timedelta(hours=1), "day": timedelta(days=1), "week": timedelta(days=7)}


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
        words = "You answered it." if answered else OWN_WORDS[approval.verdict]
        lost = approval.verdict != "no" and approval.turn.status == Turn.Status.INTERRUPTED
        return f"{words} The work was interrupted; what it did last is not known." if lost else words
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
    user, scope = person(request), request.POST.get("scope", "room")
    recently = sign_in.recently(request, user)
    if verdict == "once" and approval.subject in consent.FOUR and not approval.verdict and not recently:
        return sign_in_first(request, user, approval)
    decided = turns.answer(
        user,
        approval_id,
        verdict=verdict,
        note=note,
        everywhere=verdict == "always" and scope == "everywhere",
        until=lasts(request, scope) if verdict == "always" else None,
        # Whoever approves has read what it is; a form without its digest has not shown it.
        digest=request.POST.get("digest", None if verdict == "no" else ""),
        recently=recently,
    )
    return onward(request, decided) if "alone" in request.POST else after(request, decided.turn)


def lasts(request: HttpRequest, scope: str) -> datetime | None:
    """When an *always* ends: after the time that was chosen, or at the end of a day."""
    if scope == "date":
        day = parse_date(request.POST.get("until", ""))
        if day is None:
            raise Invalid("Say until which day.", field="until")
        return datetime.combine(day, time.max, tzinfo=UTC)
    return timezone.now() + LASTS[scope] if scope in LASTS else None


def sign_in_first(request: HttpRequest, user: User, approval: Approval) -> HttpResponse:
    """Send whoever approves one of the four kinds to sign in once more and back to the question. Nothing is decided."""
    url = sign_in.again(user, reverse("question", args=[approval.pk]))
    if not url:
        raise Refused(
            "Approving this wants a sign-in within the last 15 minutes. Set a password or add a passkey in your "
            "account, or sign in by a new link."
        )
    if request.headers.get("X-Requested-With") == "fetch":
        return JsonResponse({"detail": "Show once more that it is you.", "sign_in": url}, status=403)
    return redirect(url)


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
