"""What the consent pages ask."""

from __future__ import annotations

from typing import Any

from allauth.idp.oidc.forms import AuthorizationForm, ConfirmCodeForm
from django import forms

from rooms import membership
from rooms.forms import identities
from rooms.models import User

UNDECIDED = ("", "Choose…")


def identity_field(user: User) -> forms.ChoiceField:
    choices = identities(membership.may_speak_as(user))
    return forms.ChoiceField(
        label="It speaks as",
        choices=choices if len(choices) == 1 else [UNDECIDED, *choices],
        error_messages={"required": "Choose whom it speaks as."},
    )


class ConsentForm(AuthorizationForm):  # type: ignore[misc]
    """A program wants to sign in: whom does it speak as?"""

    def __init__(self, *args: Any, user: User, **kwargs: Any) -> None:
        kwargs.setdefault("label_suffix", "")
        super().__init__(*args, user=user, **kwargs)
        self.fields["scopes"].widget = forms.MultipleHiddenInput()
        self.fields["identity"] = identity_field(user)


class DeviceForm(forms.Form):
    """A program without a browser wants to sign in: whom does it speak as?"""

    def __init__(self, *args: Any, user: User, **kwargs: Any) -> None:
        kwargs.setdefault("label_suffix", "")
        super().__init__(*args, **kwargs)
        self.fields["identity"] = identity_field(user)


class CodeForm(ConfirmCodeForm):  # type: ignore[misc]
    """The code that such a program shows."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        kwargs.setdefault("label_suffix", "")
        super().__init__(*args, **kwargs)
        self.fields["code"].widget.attrs = {"autocomplete": "one-time-code", "spellcheck": "false", "autofocus": True}
