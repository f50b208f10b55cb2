"""The one place where a page turns what a rule refused into words."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.deprecation import MiddlewareMixin

from agentroom_machine import wire
from rooms.errors import Conflict, Invalid, NotFound, Refused, RuleError

STATUS: dict[type[RuleError], int] = {NotFound: 404, Refused: 403, Conflict: 409, Invalid: 422}
TITLE = {404: "There is nothing here", 403: "Not allowed", 409: "Somebody was first", 422: "That did not fit"}


class RuleErrors(MiddlewareMixin):
    """Answers for every view whose rule said no, and that didn't show it beside a field itself."""

    def process_exception(self, request: HttpRequest, exception: Exception) -> HttpResponse | None:
        return answer(request, exception) if isinstance(exception, RuleError) else None


def answer(request: HttpRequest, error: RuleError) -> HttpResponse:
    """A page for a browser, an RFC 9457 problem for a script."""
    status = next((code for kind, code in STATUS.items() if isinstance(error, kind)), 422)
    title = TITLE[status]
    if wants_json(request):
        problem = wire.Problem(title=title, status=status, detail=error.detail, code=error.code)
        return HttpResponse(problem.model_dump_json(), content_type="application/problem+json", status=status)
    context = {"title": title, "detail": error.detail, "status": status}
    return render(request, "rooms/refused.html", context, status=status)


def wants_json(request: HttpRequest) -> bool:
    return (
        request.headers.get("X-Requested-With") == "fetch"
        or request.get_preferred_type(["text/html", "application/json"]) == "application/json"
    )
