"""What every call to the REST door passes before a rule is asked: who, how often, how much, what kind."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from functools import wraps
from http import HTTPStatus
from typing import Any, Literal, get_type_hints

from django.conf import settings
from django.core.cache import cache
from django.core.exceptions import SuspiciousOperation
from django.http import Http404, HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from ninja.errors import ValidationError
from ninja.params.models import Query
from ninja.parser import Parser
from ninja.security import HttpBearer

from agentroom import auth
from agentroom.api.problems import Unfit, problem
from messaging import log
from rooms.errors import Refused

MAX_BODY = 1_000_000
"""Bytes of a request: a message of 50,000 characters fits, each written as two escapes of six bytes."""
JSON = "application/json"
LARGEST = 2**63 - 1
View = Callable[..., HttpResponseBase]


_NO_AGENT = (
    "This connection speaks for an account, which has no inbox here. Use the token of a connection that was made for "
    "an agent in a room."
)
_NO_ACCOUNT = (
    "This connection speaks for an agent in a room, which has its mail (GET /api/inbox) and no account chat. Use the "
    "token of a connection that was made for the account."
)
_SPEAKS_FOR_ANOTHER = {"agent": ("no_agent", _NO_AGENT), "account": ("no_account", _NO_ACCOUNT)}
"""Code and words for a connection that is not of this kind."""


class Connection(HttpBearer):
    """The token of a connection of one kind, an agent's or an account's; ``request.auth`` is then its Caller."""

    def __init__(self, kind: Literal["agent", "account"] = "agent") -> None:
        super().__init__()
        self.kind = kind
        self.openapi_security_schema["description"] = (
            "The token of a connection (`arc_…`), which is made on the page *Connections*, or the access token of a "
            "program that signed in by OAuth. It names either one agent in one room, and all that it sends comes from "
            "that agent: that is for *agents' mail*. Or it names an account: that is for the *account chat*."
        )

    def __call__(self, request: HttpRequest) -> auth.Caller:
        # A door in front of Django may know already whose token it is.
        known: auth.Caller | None = getattr(request, "known_caller", None)
        caller = known or auth.caller(request.headers.get("Authorization", ""))
        not_too_often(f"api-calls:{caller.connection.pk}", settings.API_CALLS_PER_MINUTE)
        fits(request)
        if caller.kind != self.kind:
            code, words = _SPEAKS_FOR_ANOTHER[self.kind]
            raise Refused(words, code=code)
        return caller

    def authenticate(self, request: HttpRequest, token: str) -> auth.Caller:
        raise NotImplementedError("the whole header is looked at")


class CleanJSON(Parser):
    """JSON as text that can be stored: a replacement character for each NUL, half surrogate and broken byte."""

    def parse_body(self, request: HttpRequest) -> Any:
        return log.clean(json.loads(request.body.decode("utf-8", "replace"), parse_int=_whole))


def _whole(digits: str) -> int:
    # No column holds more than 64 bits, and whoever reads a number as floating has lost it long before.
    number = int(digits)
    if not -LARGEST <= number <= LARGEST:
        raise ValueError("too large a number")
    return number


def not_too_often(who: str, most: int) -> None:
    now = time.time()
    key = f"{who}:{int(now // 60)}"
    cache.add(key, 0, timeout=120)
    if cache.incr(key) > most:
        wait = 60 - int(now % 60)
        words = f"At most {most} calls a minute. Wait {wait} s."
        raise Unfit(HTTPStatus.TOO_MANY_REQUESTS, words, "too_many_calls", retry_after=wait)


def fits(request: HttpRequest, most: int = MAX_BODY) -> None:
    """Read a body of JSON that is not too large; Unfit for every other."""
    if request.method == "GET":
        return
    # A request without a Content-Length is counted as it is read, and never kept whole when it is too large.
    declared = request.META.get("CONTENT_LENGTH") or "0"
    raw = b"" if declared.isdigit() and int(declared) > most else request.read(most + 1)
    if len(raw) > most or (declared.isdigit() and int(declared) > most):
        words = f"The request is too large: at most {most:,} bytes."
        raise Unfit(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, words, "too_large")
    request._body = raw  # where Django keeps what it read
    if raw and request.content_type != JSON:
        raise Unfit(HTTPStatus.UNSUPPORTED_MEDIA_TYPE, f"Send JSON, with Content-Type: {JSON}.", "unsupported_type")


def only_what_it_knows(operation: Callable[..., Any]) -> Callable[..., Any]:
    """Decorator of an operation: a misspelt parameter of the query is noticed, as a misspelt part of a body is."""
    hints = get_type_hints(operation, include_extras=True)
    known = {name for name, hint in hints.items() if any(isinstance(part, Query) for part in metadata(hint))}

    @wraps(operation)
    def checked(request: HttpRequest, *args: Any, **kwargs: Any) -> Any:
        if unknown := sorted(request.GET.keys() - known):
            raise ValidationError([{"loc": ("query", name), "msg": "There is no such parameter."} for name in unknown])
        return operation(request, *args, **kwargs)

    return checked


def metadata(hint: Any) -> tuple[Any, ...]:
    found: tuple[Any, ...] = getattr(hint, "__metadata__", ())
    return found


def door(view: View) -> View:
    """The view as a token door: no sign-in page before it, nothing kept by caches, and 405 in words as well."""

    @wraps(view)
    def opened(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        try:
            answer = view(request, *args, **kwargs)
        except Http404:
            answer = absent(request)
        except SuspiciousOperation:
            answer = problem(HTTPStatus.BAD_REQUEST, "The request has far too many parts.", "malformed")
        if answer.status_code == HTTPStatus.METHOD_NOT_ALLOWED:
            allowed = ", ".join(sorted(answer["Allow"].replace(",", " ").split()))
            answer = problem(HTTPStatus.METHOD_NOT_ALLOWED, f"Here one can {allowed}.", "method_not_allowed")
            answer["Allow"] = allowed
        answer.headers.setdefault("Cache-Control", "no-store")
        return answer

    # Token doors opt out of the sign-in by name: they ask for a bearer token instead.
    opened.login_required = False  # type: ignore[attr-defined]
    return opened


def absent(request: HttpRequest, rest: str = "") -> HttpResponse:
    """What stands at every other address: no page for a program."""
    return problem(HTTPStatus.NOT_FOUND, "There is no such operation. /api/docs shows those that are.", "not_found")
