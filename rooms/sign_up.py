"""Who may make an account, and what its name may look like."""

from __future__ import annotations

from allauth.account.adapter import DefaultAccountAdapter
from django.conf import settings
from django.http import HttpRequest

from rooms.models import handle_is_plain

username_validators = [handle_is_plain]


class Adapter(DefaultAccountAdapter):  # type: ignore[misc]
    def is_open_for_signup(self, request: HttpRequest) -> bool:
        """The plain sign-up page; whoever has an invite link joins on the invite's own page."""
        return bool(settings.SIGN_UP == "open")
