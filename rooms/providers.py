"""The providers that this server lets people sign in with, for the pages."""

from __future__ import annotations

from dataclasses import dataclass

from allauth.socialaccount.adapter import get_adapter
from django.conf import settings
from django.http import HttpRequest
from django.utils.http import urlencode


@dataclass(frozen=True, slots=True)
class Provider:
    name: str
    sign_in: str
    connect: str
    """Where the way to it begins, for who is outside and for who is in."""


def providers(request: HttpRequest) -> list[Provider]:
    """None unless the operator named some."""
    if not settings.SOCIAL:
        return []
    found = get_adapter(request).list_providers(request)
    return [
        Provider(
            one.name,
            one.get_login_url(request),
            f"{one.get_login_url(request)}?{urlencode({'process': 'connect'})}",
        )
        for one in found
    ]
