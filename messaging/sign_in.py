"""Whether who presses a button has shown lately that they are who they say: what the four kinds want."""

from __future__ import annotations

import time
from typing import Any

from allauth.account.adapter import get_adapter
from allauth.account.authentication import get_authentication_records
from allauth.mfa.models import Authenticator
from django.http import HttpRequest
from django.urls import reverse
from django.utils.http import urlencode

from rooms.models import User

LATELY = 15 * 60
"""Seconds that a sign-in counts for."""
METHODS = frozenset({"password", "code", "mfa", "link"})


def has_passkey(user: User) -> bool:
    return bool(Authenticator.objects.filter(user=user, type=Authenticator.Type.WEBAUTHN).exists())


def recently(request: HttpRequest, user: User) -> bool:
    """Whether this session saw a sign-in of this person in the last 15 minutes; of their passkey, if they have one."""
    passkey = has_passkey(user)
    return any(
        0 <= time.time() - record.get("at", 0) < LATELY and _counts(record, passkey)
        for record in get_authentication_records(request, user)
    )


def _counts(record: dict[str, Any], passkey: bool) -> bool:
    if passkey:
        return record.get("method") == "mfa" and record.get("type") == Authenticator.Type.WEBAUTHN
    return record.get("method") in METHODS


def again(user: User, back: str) -> str:
    """Where this person signs in once more, to come back to ``back``; empty when they have nothing to do it with."""
    methods = get_adapter().get_reauthentication_methods(user)
    if has_passkey(user):
        methods = [{"url": reverse("mfa_reauthenticate_webauthn")}]
    return f"{methods[0]['url']}?{urlencode({'next': back})}" if methods else ""
