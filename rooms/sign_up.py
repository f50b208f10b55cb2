"""Who may make an account, and what its name may look like."""

from __future__ import annotations

from allauth.account.adapter import DefaultAccountAdapter
from allauth.socialaccount.adapter import DefaultSocialAccountAdapter
from django.conf import settings
from django.contrib.auth.base_user import AbstractBaseUser
from django.forms import BaseForm
from django.http import HttpRequest

from rooms import membership
from rooms.models import User, handle_is_plain

username_validators = [handle_is_plain]


class Adapter(DefaultAccountAdapter):  # type: ignore[misc]
    def is_open_for_signup(self, request: HttpRequest) -> bool:
        """The plain sign-up page; whoever has an invite link joins on the invite's own page."""
        return bool(settings.SIGN_UP == "open")

    def clean_username(self, username: str, shallow: bool = False) -> str:
        # Phones begin with a capital letter; handles have none.
        cleaned: str = super().clean_username(username.strip().lower(), shallow=shallow)
        return cleaned

    def save_user(
        self, request: HttpRequest, user: AbstractBaseUser, form: BaseForm, commit: bool = True
    ) -> AbstractBaseUser:
        saved: AbstractBaseUser = super().save_user(request, user, form, commit=commit)
        if commit and isinstance(saved, User):
            membership.account_chat(saved)
        return saved


class SocialAdapter(DefaultSocialAccountAdapter):  # type: ignore[misc]
    """Signing in with a provider: whoever joined by an invite connects it on the account page first."""

    def is_open_for_signup(self, request: HttpRequest, sociallogin: object) -> bool:
        return bool(settings.SIGN_UP == "open")

    def save_user(self, request: HttpRequest, sociallogin: object, form: BaseForm | None = None) -> AbstractBaseUser:
        saved: AbstractBaseUser = super().save_user(request, sociallogin, form)
        if isinstance(saved, User):
            membership.account_chat(saved)
        return saved
