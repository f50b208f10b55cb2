"""The one place where a token door turns what a rule refused into a problem document."""

from __future__ import annotations

from http import HTTPStatus

from django.http import HttpResponse

from agentroom_machine import wire
from rooms.errors import Conflict, Invalid, NotFound, Refused, RuleError

_STATUS: dict[type[RuleError], HTTPStatus] = {
    NotFound: HTTPStatus.NOT_FOUND,
    Refused: HTTPStatus.FORBIDDEN,
    Conflict: HTTPStatus.CONFLICT,
    Invalid: HTTPStatus.UNPROCESSABLE_ENTITY,
}


def status_of(error: RuleError) -> HTTPStatus:
    return next((status for kind, status in _STATUS.items() if isinstance(error, kind)), HTTPStatus.BAD_REQUEST)


def body(status: HTTPStatus, detail: str, code: str) -> bytes:
    """A problem document as JSON."""
    return wire.Problem(title=status.phrase, status=status, detail=detail, code=code).model_dump_json().encode()


def problem(status: HTTPStatus, detail: str, code: str) -> HttpResponse:
    return HttpResponse(body(status, detail, code), status=status, content_type="application/problem+json")
