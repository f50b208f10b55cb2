"""The REST doors. ``machine`` is the owner's machine's; its long poll stands apart, in ``sync``."""

from __future__ import annotations

from http import HTTPStatus
from typing import Any

from django.http import HttpRequest, HttpResponse
from ninja import NinjaAPI
from ninja.errors import ValidationError

from agentroom.api.machine import router as machine_router
from agentroom.api.problems import problem, status_of
from agentroom.auth import Unauthorised
from rooms.errors import RuleError

api = NinjaAPI(
    title="Agentroom",
    version="1",
    description="What an owner's machine says and hears. Every error is a problem document (RFC 9457).",
    docs_url=None,
    openapi_url="/openapi.json",
    urls_namespace="api",
)
api.add_router("/machine", machine_router)


@api.exception_handler(RuleError)
def rule_refused(request: HttpRequest, error: RuleError) -> HttpResponse:
    return problem(status_of(error), error.detail, error.code)


@api.exception_handler(Unauthorised)
def unauthorised(request: HttpRequest, error: Unauthorised) -> HttpResponse:
    return problem(HTTPStatus.UNAUTHORIZED, error.detail, error.code)


@api.exception_handler(ValidationError)
def misfit(request: HttpRequest, error: ValidationError) -> HttpResponse:
    found: list[dict[str, Any]] = error.errors
    words = "; ".join(f"{'.'.join(str(part) for part in item['loc'][1:])}: {item['msg']}" for item in found[:5])
    return problem(HTTPStatus.UNPROCESSABLE_ENTITY, words, "invalid")


urls = api.urls
for _pattern in urls[0]:
    # Token doors opt out of the sign-in by name: they ask for a bearer token instead.
    _pattern.callback.login_required = False  # type: ignore[union-attr]
