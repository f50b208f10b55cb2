"""What programs themselves call: to introduce themselves, for tokens, and to give tokens back."""

from __future__ import annotations

import json
from http import HTTPStatus
from typing import Any

from allauth.core import ratelimit
from allauth.idp.oidc import views
from allauth.idp.oidc.models import Token
from django.core.exceptions import ValidationError
from django.http import HttpRequest, HttpResponse, JsonResponse

from rooms import membership, tokens
from rooms.errors import RuleError
from rooms.rules import rule

LONGEST_INTRODUCTION = 20_000


def refused(error: str, words: str, status: HTTPStatus = HTTPStatus.BAD_REQUEST) -> JsonResponse:
    """An answer as RFC 6749 and 7591 shape it."""
    return JsonResponse(
        {"error": error, "error_description": words}, status=status, headers={"Cache-Control": "no-store"}
    )


class Register(views.ClientRegistrationView):  # type: ignore[misc]
    """RFC 7591: anybody may introduce a program. That alone lets it in nowhere."""

    def post(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        if len(request.body) > LONGEST_INTRODUCTION:
            return refused("invalid_client_metadata", "Use at most 20,000 bytes.", HTTPStatus.REQUEST_ENTITY_TOO_LARGE)
        try:
            return registered(self, request)
        except RecursionError:
            return refused("invalid_client_metadata", "Invalid JSON data.")


@rule
def registered(view: Register, request: HttpRequest) -> HttpResponse:
    answer: HttpResponse = views.ClientRegistrationView.post(view, request)
    return answer


class DeviceCode(views.DeviceCodeView):  # type: ignore[misc]
    """RFC 8628: a program without a browser asks for a code to show."""

    def post(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        try:
            answer: HttpResponse = super().post(request, *args, **kwargs)
        except ValidationError as error:
            return refused("invalid_target", error.messages[0])
        return answer


class Tokens(views.TokenView):  # type: ignore[misc]
    """A code, a device's code or a refresh token becomes an access token, as long as its connection stands."""

    def post(self, request: HttpRequest) -> HttpResponse:
        # Comparing a client's secret is slow on purpose; nobody shall keep us busy with it.
        by_secret = "client_secret" in request.POST or "Authorization" in request.headers
        if by_secret and not ratelimit.consume(request, action="token"):
            return refused("temporarily_unavailable", "Too many requests.", HTTPStatus.TOO_MANY_REQUESTS)
        try:
            return exchanged(self, request)
        except ValidationError as error:
            return refused("invalid_target", error.messages[0])


@rule
def exchanged(view: Tokens, request: HttpRequest) -> HttpResponse:
    given = request.POST.get("refresh_token", "")
    if given:
        # Two that come with the same refresh token at once: the second one finds it used.
        Token.objects.select_for_update().filter(type=Token.Type.REFRESH_TOKEN, hash=tokens.digest(given)).first()
    answer: HttpResponse = views.TokenView.post(view, request)
    if answer.status_code != HTTPStatus.OK:
        return answer
    made = Token.objects.select_related("user").get(
        type=Token.Type.ACCESS_TOKEN, hash=tokens.digest(json.loads(answer.content)["access_token"])
    )
    grant_id = made.get_grant_id() or ""
    try:
        membership.admit(made.user, grant_id=grant_id, token_hash=made.hash)
    except RuleError as error:
        made.delete()
        Token.objects.filter(user=made.user_id, data__grant_id=grant_id, type__in=("at", "rt")).delete()
        return refused("invalid_grant", error.detail)
    return answer


class Revoke(views.RevokeView):  # type: ignore[misc]
    """RFC 7009: a program signs itself out. Its connection ends with its last token."""

    def post(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        # What it is told to be is a hint; the server is to look further, so it need not be told at all.
        fields = request.POST.copy()
        fields.pop("token_type_hint", None)
        request.POST = fields  # type: ignore[assignment]
        held = Token.objects.filter(hash=tokens.digest(fields.get("token", "")), type__in=("at", "rt")).first()
        answer: HttpResponse = super().post(request, *args, **kwargs)
        if held is not None and not Token.objects.filter(pk=held.pk).exists():
            membership.let_go(held.get_grant_id() or "")
        return answer


register = Register.as_view()
device_code = DeviceCode.as_view()
token = Tokens.as_view()
revoke = Revoke.as_view()
user_info = views.UserInfoView.as_view()
