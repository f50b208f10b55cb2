"""What programs themselves call: to introduce themselves, for tokens, and to give tokens back."""

from __future__ import annotations

import json
from http import HTTPStatus
from typing import Any

from allauth.core import ratelimit
from allauth.core.internal.httpkit import extract_basic_auth
from allauth.idp.oidc import views
from allauth.idp.oidc.adapter import get_adapter
from allauth.idp.oidc.forms import ClientRegistrationForm
from allauth.idp.oidc.internal.clientkit import lookup_client
from allauth.idp.oidc.internal.oauthlib.utils import get_validator_context
from allauth.idp.oidc.models import Client, Token
from django.contrib.auth.hashers import make_password
from django.core.exceptions import ValidationError
from django.http import HttpRequest, HttpResponse, JsonResponse

from agentroom import auth
from rooms import membership, tokens
from rooms.errors import RuleError
from rooms.rules import rule

LONGEST_INTRODUCTION = 20_000


def refused(error: str, words: str, status: HTTPStatus = HTTPStatus.BAD_REQUEST) -> JsonResponse:
    """An answer as RFC 6749 and 7591 shape it."""
    return JsonResponse(
        {"error": error, "error_description": words}, status=status, headers={"Cache-Control": "no-store"}
    )


def _too_many() -> JsonResponse:
    return refused("temporarily_unavailable", "Too many requests.", HTTPStatus.TOO_MANY_REQUESTS)


class Register(views.ClientRegistrationView):  # type: ignore[misc]
    """RFC 7591: anybody may introduce a program. That alone lets it in nowhere."""

    def post(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        if not self._ratelimit()[0]:
            return _too_many()
        if len(request.body) > LONGEST_INTRODUCTION:
            return refused("invalid_client_metadata", "Use at most 20,000 bytes.", HTTPStatus.REQUEST_ENTITY_TOO_LARGE)
        try:
            answer: HttpResponse = super().post(request, *args, **kwargs)
        except RecursionError:
            return refused("invalid_client_metadata", "Invalid JSON data.")
        return answer

    def _form_valid(self, form: ClientRegistrationForm, *, client_metadata: Any, **known: Any) -> HttpResponse:
        given = form.cleaned_data
        public = given["token_endpoint_auth_method"] == Client.AuthenticationMethod.NONE
        secret = "" if public else get_adapter().generate_client_secret()
        client = Client(
            name=given["client_name"],
            type=Client.Type.PUBLIC if public else Client.Type.CONFIDENTIAL,
            # Slow on purpose, so it comes before the transaction: others write meanwhile.
            secret=make_password(secret or None),
        )
        client.set_grant_types(given["grant_types"])
        client.set_response_types(given["response_types"])
        client.set_redirect_uris(given["redirect_uris"])
        refusal = introduced(self, client, client_metadata=client_metadata, **known)
        return refusal or JsonResponse(self._serialize_client(client, form, secret), status=HTTPStatus.CREATED)


@rule
def introduced(view: Register, client: Client, **known: Any) -> HttpResponse | None:
    """Keep the program, unless it is one that we don't take: then the refusal."""
    refusal: HttpResponse | None = view._perform_custom_validation(client=client, **known)
    if refusal is None:
        client.save()
    return refusal


class DeviceCode(views.DeviceCodeView):  # type: ignore[misc]
    """RFC 8628: a program without a browser asks for a code to show."""

    def post(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        # Each code is kept for a while, and a program's secret may be compared.
        if not ratelimit.consume(request, action="device_code"):
            return _too_many()
        try:
            answer: HttpResponse = super().post(request, *args, **kwargs)
        except ValidationError as error:
            return refused("invalid_target", error.messages[0])
        return answer


def _too_many_secrets(request: HttpRequest) -> bool:
    # Comparing a client's secret is slow on purpose; nobody shall keep us busy with it.
    by_secret = "client_secret" in request.POST or "Authorization" in request.headers
    return by_secret and not ratelimit.consume(request, action="token")


def _compare_secret(request: HttpRequest) -> None:
    """Compare the secret that came, if one did, before the transaction in which allauth asks for it."""
    name, secret = extract_basic_auth(request.headers)
    if not name:
        name, secret = request.POST.get("client_id"), request.POST.get("client_secret")
    client = lookup_client(name) if name and secret else None
    if client is not None:
        right = client.check_secret(secret)
        client.check_secret = lambda given: right and given == secret
        # Where allauth looks a client up first.
        get_validator_context().clients[name] = client


class Tokens(views.TokenView):  # type: ignore[misc]
    """A code, a device's code or a refresh token becomes an access token, as long as its connection stands."""

    def post(self, request: HttpRequest) -> HttpResponse:
        if _too_many_secrets(request):
            return _too_many()
        _compare_secret(request)
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
        if _too_many_secrets(request):
            return _too_many()
        # What it is told to be is a hint; the server is to look further, so it need not be told at all.
        fields = request.POST.copy()
        fields.pop("token_type_hint", None)
        request.POST = fields  # type: ignore[assignment]
        held = Token.objects.filter(hash=tokens.digest(fields.get("token", "")), type__in=("at", "rt")).first()
        answer: HttpResponse = super().post(request, *args, **kwargs)
        if held is not None and not Token.objects.filter(pk=held.pk).exists():
            membership.let_go(held.get_grant_id() or "")
        return answer


class UserInfo(views.UserInfoView):  # type: ignore[misc]
    """OpenID: whom the token speaks for, as long as its connection stands."""

    def _respond(self, request: HttpRequest) -> HttpResponse:
        answer: HttpResponse = super()._respond(request)
        held = get_validator_context().access_token
        if answer.status_code == HTTPStatus.OK and (held is None or auth.of_sign_in(held) is None):
            answer = refused("invalid_token", "This sign-in has ended. Sign in again.", HTTPStatus.UNAUTHORIZED)
            answer["WWW-Authenticate"] = 'Bearer error="invalid_token"'
        return answer


register = Register.as_view()
device_code = DeviceCode.as_view()
token = Tokens.as_view()
revoke = Revoke.as_view()
user_info = UserInfo.as_view()
