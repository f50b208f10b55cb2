"""Accounts, and the links that sign people in once."""

from __future__ import annotations

from datetime import timedelta

from django.contrib.auth.password_validation import validate_password
from django.core.exceptions import ValidationError
from django.core.validators import validate_email
from django.db.models import QuerySet
from django.utils import timezone

from messaging import nudge
from rooms import tokens
from rooms.access import rights_changed
from rooms.errors import Conflict, Invalid, NotFound, Refused
from rooms.membership import words
from rooms.membership.rooms import account_chat, seats_of
from rooms.models import SignInLink, User
from rooms.rules import rule

LINK_LASTS = timedelta(hours=24)
FIRST_LINK_LASTS = timedelta(days=7)
SPENT = "This link was used, or is too old. Ask for a new one."


def everybody() -> QuerySet[User]:
    """Everybody who has an account here, shut out or not."""
    return User.objects.filter(gone_at=None)


@rule
def make_person(handle: str, *, email: str = "", password: str = "", admin: bool = False) -> User:
    """Make an account with its chat. Without a password, only a sign-in link or a code opens it."""
    name = words.handle(handle)
    if User.objects.filter(username__iexact=name).exists():
        raise Conflict(f"That name is taken. Try {_free_name(name)}.", field="handle")
    user = User(username=name, email=_address(email), is_staff=admin, is_superuser=admin)
    if password:
        _check_password(password, user)
        user.set_password(password)
    else:
        user.set_unusable_password()
    user.save()
    account_chat(user)
    return user


@rule
def sign_in_link(user: User) -> str:
    """A token that signs this person in once, within a day."""
    if user.gone_at is not None:
        raise Refused("This account was deleted.")
    token = tokens.new(tokens.SIGN_IN)
    SignInLink.objects.create(user=user, token_hash=tokens.digest(token), expires_at=timezone.now() + LINK_LASTS)
    return token


@rule
def first_link() -> str:
    """A token that makes the first owner and administrator. It takes the place of any earlier one."""
    if everybody().exists():
        raise Conflict("This server already has people. An administrator makes sign-in links with `manage.py person`.")
    SignInLink.objects.filter(user=None, used_at=None).delete()
    token = tokens.new(tokens.SIGN_IN)
    SignInLink.objects.create(token_hash=tokens.digest(token), expires_at=timezone.now() + FIRST_LINK_LASTS)
    return token


def link_holder(token: str) -> User:
    """Whom the link would sign in. It changes nothing: a mail program that looks at a link must not use it up."""
    link = _open_link(token, first=False)
    assert link.user is not None
    return link.user


def first_link_open(token: str) -> None:
    """NotFound unless the link could still make the first person."""
    _open_link(token, first=True)
    if everybody().exists():
        raise NotFound(SPENT)


@rule
def use_sign_in_link(token: str) -> User:
    """Spend the link, and say whom it signs in."""
    link = _open_link(token, first=False)
    _spend(link)
    assert link.user is not None
    if not link.user.is_active:
        raise NotFound(SPENT)
    return link.user


@rule
def use_first_link(token: str, handle: str, password: str, email: str = "") -> User:
    """Spend the link and make the first person, who administers the server."""
    link = _open_link(token, first=True)
    if not password:
        raise Invalid("Choose a password of 12 characters or more.", field="password")
    _spend(link)
    if everybody().exists():
        raise NotFound(SPENT)
    return make_person(handle, email=email, password=password, admin=True)


@rule
def set_active(user: User, *, active: bool) -> User:
    """Shut a person out of the server, or let them in again. What is theirs stays.

    What waits in their name ends by ``control.shut_out``, which calls this.
    """
    if user.gone_at is not None:
        raise Refused("This account was deleted.")
    User.objects.filter(pk=user.pk).update(is_active=active)
    if not active:
        SignInLink.objects.filter(user=user, used_at=None).delete()
    for room_id in seats_of(user).values_list("room_id", flat=True):
        rights_changed(room_id)
        nudge.room(room_id)
    user.refresh_from_db()
    return user


def _open_link(token: str, *, first: bool) -> SignInLink:
    link = (
        SignInLink.objects.select_related("user")
        .filter(token_hash=tokens.digest(token), used_at=None, expires_at__gt=timezone.now(), user__isnull=first)
        .first()
    )
    if link is None:
        raise NotFound(SPENT)
    return link


def _spend(link: SignInLink) -> None:
    # Two clicks at once: the second finds no row.
    if not SignInLink.objects.filter(pk=link.pk, used_at=None).update(used_at=timezone.now()):
        raise NotFound(SPENT)


def _free_name(name: str) -> str:
    used = set(User.objects.filter(username__startswith=name[:28]).values_list("username", flat=True))
    return next(variant for variant in words.variants(name) if variant not in used)


def _address(email: str) -> str:
    address = email.strip()
    if not address:
        return ""
    try:
        validate_email(address)
    except ValidationError as error:
        raise Invalid("This is no e-mail address.", field="email") from error
    if User.objects.filter(email__iexact=address).exists():
        raise Conflict("Somebody here has this address already.", field="email")
    return address


def _check_password(password: str, user: User) -> None:
    try:
        validate_password(password, user)
    except ValidationError as error:
        raise Invalid(" ".join(error.messages), field="password") from error
