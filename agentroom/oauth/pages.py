"""What a person sees: which program wants to sign in, where its answer goes, and whom it shall speak as."""

from __future__ import annotations

from http import HTTPStatus
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

from allauth.core.internal.httpkit import add_query_params
from allauth.idp.oidc import views
from allauth.idp.oidc.internal.oauthlib import device_codes
from allauth.idp.oidc.internal.oauthlib.utils import get_validator_context
from allauth.idp.oidc.models import Client
from django.conf import settings
from django.core.cache import cache
from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils.csp import CSP
from django.views.decorators.cache import never_cache

from agentroom.oauth.adapter import LOOPBACK
from agentroom.oauth.forms import CodeForm, ConsentForm, DeviceForm
from rooms import membership
from rooms.access import ABSENT
from rooms.errors import NotFound
from rooms.forms import identity
from rooms.models import User


class Authorize(views.AuthorizationView):  # type: ignore[misc]
    """The consent page. The choice is kept with the code that it grants, and with nothing else.

    allauth's own view opts out of the sign-in and of CSRF, for programs that post here. Ours is a page as any other.
    """

    form_class = ConsentForm

    def dispatch(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        answer: HttpResponse = super().dispatch(request, *args, **kwargs)
        if isinstance(answer, TemplateResponse):
            answer.headers["Cache-Control"] = "no-store"
            where = urlsplit(self._request_info["redirect_uri"])
            # The browser holds our form to where it may lead, and the answer leads to the program.
            origin = f"{where.scheme}://{where.netloc}" if where.scheme in ("http", "https") else f"{where.scheme}:"
            answer._csp_config = settings.SECURE_CSP | {"form-action": [CSP.SELF, origin]}  # type: ignore[attr-defined]
        elif answer.status_code == HTTPStatus.OK:
            answer.status_code = HTTPStatus.BAD_REQUEST  # an error that may be told to nobody but the person
        return _issued_by_us(answer)

    def get(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        if "none" in request.GET.get("prompt", "").split():
            with transaction.atomic():
                answer: HttpResponse = super().get(request, *args, **kwargs)
                transaction.set_rollback(True)
            if "code" in _told(answer):
                return self._back("consent_required", "A person has to choose whom it speaks as.")
            return answer
        answer = super().get(request, *args, **kwargs)
        if isinstance(answer, TemplateResponse) and not request.GET.get("code_challenge"):
            return self._back("invalid_request", "Send a code_challenge (S256).")
        return answer

    def get_form_kwargs(self) -> dict[str, Any]:
        kwargs: dict[str, Any] = super().get_form_kwargs()
        return kwargs | {"user": _person(self.request)}

    def form_invalid(self, form: ConsentForm) -> HttpResponse:
        answer: HttpResponse = super().form_invalid(form)
        answer.status_code = HTTPStatus.UNPROCESSABLE_ENTITY
        return answer

    def form_valid(self, form: ConsentForm) -> HttpResponse:
        answer: HttpResponse = super().form_valid(form)
        grant_id = get_validator_context().grant_id
        if grant_id is not None:
            client = Client.objects.get(pk=self._request_info["client_id"])
            agent, room = identity(form.cleaned_data["identity"])
            membership.consent(
                _person(self.request), grant_id=grant_id, client=client.pk, name=client.name, agent=agent, room=room
            )
        return answer

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        context: dict[str, Any] = super().get_context_data(**kwargs)
        where = urlsplit(self._request_info["redirect_uri"])
        return context | {
            "name": membership.name_of(context["client"].name),
            "to": where.netloc if where.scheme in ("http", "https") else f"{where.scheme}://{where.netloc}",
            "on_this_computer": where.hostname in LOOPBACK,
            "app": where.scheme if where.scheme not in ("http", "https") else "",
        }

    def _back(self, error: str, words: str) -> HttpResponse:
        """Send the browser back to the program with an error."""
        params = {"error": error, "error_description": words}
        if state := self._request_info.get("state"):
            params["state"] = state
        location = add_query_params(self._request_info["redirect_uri"], params)
        return HttpResponse(status=HTTPStatus.FOUND, headers={"Location": location})


def _told(answer: HttpResponse) -> dict[str, list[str]]:
    """What an answer that leads to a program tells it."""
    to = urlsplit(answer.get("Location", ""))
    return parse_qs(to.fragment or to.query) if to.scheme else {}


def _issued_by_us(answer: HttpResponse) -> HttpResponse:
    """RFC 9207: a program that talks to several servers learns whose answer it is."""
    if _told(answer).keys() & {"code", "error"}:
        answer["Location"] += "&" + urlencode({"iss": settings.PUBLIC_URL})
    return answer


def _person(request: HttpRequest) -> User:
    if not isinstance(request.user, User) or not request.user.is_active:
        raise NotFound(ABSENT)
    return request.user


authorize = Authorize.as_view()


@never_cache
def device(request: HttpRequest) -> HttpResponse:
    """A program without a browser shows a code: the person types it here, compares, and chooses."""
    user = _person(request)
    if "code" not in request.GET:
        return _ask_for_code(request, CodeForm())
    asked = CodeForm(request.GET)
    if not asked.is_valid():
        return _ask_for_code(request, asked)
    waiting = cache.get(device_codes.cache_device_code_key(asked.device_code))
    declined = request.POST.get("action") == "deny"
    form = DeviceForm(request.POST if request.method == "POST" and not declined else None, user=user)
    name = membership.name_of(asked.client.name)
    if request.method == "POST" and (declined or form.is_valid()):
        if not declined:
            agent, room = identity(form.cleaned_data["identity"])
            membership.consent(
                user, grant_id=waiting["grant_id"], client=asked.client.pk, name=name, agent=agent, room=room
            )
        device_codes.confirm_or_deny_device_code(user, asked.device_code, confirm=not declined)
        return redirect(f"{reverse('idp:oidc:device_done')}?{urlencode({'answer': 'no' if declined else 'yes'})}")
    context = {"form": form, "name": name, "user_code": waiting["device"]["user_code"]}
    return render(request, "idp/oidc/device.html", context, status=422 if form.errors else 200)


def _ask_for_code(request: HttpRequest, form: CodeForm) -> HttpResponse:
    return render(request, "idp/oidc/device_code.html", {"form": form}, status=422 if form.errors else 200)


def device_done(request: HttpRequest) -> HttpResponse:
    """What becomes of it now."""
    return render(request, "idp/oidc/device_done.html", {"declined": request.GET.get("answer") == "no"})
