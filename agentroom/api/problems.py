"""The one place where a token door turns what a rule refused into a problem document."""

from __future__ import annotations

from collections.abc import Sequence
from http import HTTPStatus
from typing import Annotated

from django.http import HttpRequest, HttpResponse
from ninja import NinjaAPI
from ninja.errors import HttpError, ValidationError
from pydantic import BaseModel, Field

from agentroom import auth
from agentroom_machine import wire
from rooms.errors import Conflict, Invalid, NotFound, Refused, RuleError

CONTENT_TYPE = "application/problem+json"
_STATUS: dict[type[RuleError], HTTPStatus] = {
    NotFound: HTTPStatus.NOT_FOUND,
    Refused: HTTPStatus.FORBIDDEN,
    Conflict: HTTPStatus.CONFLICT,
    Invalid: HTTPStatus.UNPROCESSABLE_ENTITY,
}
_KEY = "Idempotency-Key"
"""What the rules call ``client_id``."""


class Unfit(Exception):
    """A request that no operation takes: its size, its type or its number says no before anybody reads it."""

    def __init__(self, status: HTTPStatus, detail: str, code: str, *, retry_after: int = 0) -> None:
        super().__init__(detail)
        self.status, self.detail, self.code, self.retry_after = status, detail, code, retry_after


class Misfit(BaseModel):
    field: Annotated[str, Field(description="The parameter or the part of the body, such as `to` or `to.0`.")]
    detail: Annotated[str, Field(description="What is wrong with it.")]


class Problem(wire.Problem):
    """A problem document (RFC 9457)."""

    type: Annotated[str, Field(description="Always `about:blank`: `status` and `code` say what it is.")] = "about:blank"
    title: Annotated[str, Field(description="The status in words.")]
    status: Annotated[int, Field(description="The HTTP status.")]
    detail: Annotated[str, Field(description="What to do, in words.")] = ""
    code: Annotated[
        str,
        Field(
            description="For programs: unauthorised, not_found, refused, no_agent, no_account, switched_off, conflict, "
            "invalid (a rule says no), malformed (it is not what this document describes), too_large, "
            "unsupported_type, too_many_calls."
        ),
    ] = ""
    errors: Annotated[list[Misfit], Field(description="What did not fit, where that can be named.")] = []


def told(request: HttpRequest, error: RuleError | auth.Unauthorised) -> HttpResponse:
    """What the API answers for this error, for who answers in its place."""
    return _refused(request, error) if isinstance(error, RuleError) else _unauthorised(request, error)


def status_of(error: RuleError) -> HTTPStatus:
    return next((status for kind, status in _STATUS.items() if isinstance(error, kind)), HTTPStatus.BAD_REQUEST)


def body(status: HTTPStatus, detail: str, code: str, errors: Sequence[Misfit] = ()) -> bytes:
    """A problem document as JSON."""
    made = Problem(title=status.phrase, status=status, detail=detail, code=code, errors=list(errors))
    return made.model_dump_json(exclude=None if errors else {"errors"}).encode()


def problem(status: HTTPStatus, detail: str, code: str, errors: Sequence[Misfit] = ()) -> HttpResponse:
    return HttpResponse(body(status, detail, code, errors), status=status, content_type=CONTENT_TYPE)


def answers(api: NinjaAPI) -> None:
    """Let this API answer every error with a problem document."""
    api.exception_handler(RuleError)(_refused)
    api.exception_handler(auth.Unauthorised)(_unauthorised)
    api.exception_handler(ValidationError)(_misfit)
    api.exception_handler(HttpError)(_unreadable)
    api.exception_handler(Unfit)(_unfit)


def _refused(request: HttpRequest, error: RuleError) -> HttpResponse:
    detail, field = error.detail, error.field
    if field == "client_id":
        field = _KEY
        if isinstance(error, Conflict):
            detail = f"This {_KEY} came before, with other content. Take another key for another message."
    return problem(status_of(error), detail, error.code, [Misfit(field=field, detail=detail)] if field else ())


def _unauthorised(request: HttpRequest, error: auth.Unauthorised) -> HttpResponse:
    answer = problem(HTTPStatus.UNAUTHORIZED, error.detail, "revoked" if error.code == "revoked" else "unauthorised")
    known = ', error="invalid_token"' if auth.bearer(request.headers.get("Authorization", "")) else ""
    answer["WWW-Authenticate"] = f'Bearer realm="Agentroom"{known}'
    return answer


def _misfit(request: HttpRequest, error: ValidationError) -> HttpResponse:
    found = [Misfit(field=_place(item["loc"]), detail=item["msg"]) for item in error.errors[:5]]
    words = "; ".join(f"{item.field}: {item.detail}" for item in found)
    return problem(HTTPStatus.UNPROCESSABLE_ENTITY, words, "malformed", found)


def _place(where: Sequence[object]) -> str:
    """Where in a request something does not fit, without the names that the door itself gives to its parts."""
    return ".".join(str(part) for part in where[2 if where[:2] == ("body", "body") else 1 :]) or str(where[0])


def _unreadable(request: HttpRequest, error: HttpError) -> HttpResponse:
    detail = (
        "That is not JSON, or holds too large a number."
        if error.status_code == HTTPStatus.BAD_REQUEST
        else error.message
    )
    return problem(HTTPStatus(error.status_code), detail, "malformed")


def _unfit(request: HttpRequest, error: Unfit) -> HttpResponse:
    answer = problem(error.status, error.detail, error.code)
    if error.retry_after:
        answer["Retry-After"] = str(error.retry_after)
    return answer
