"""Who is behind a socket: the person of a browser's session, and their seat in a room."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from importlib import import_module
from types import SimpleNamespace
from typing import cast

from django.conf import settings
from django.contrib.auth import get_user
from django.http import HttpRequest

from rooms.access import ABSENT, member_for
from rooms.errors import NotFound
from rooms.models import User


@dataclass(frozen=True)
class Seat:
    """A reader's right, as it was when it was last looked at."""

    session_key: str
    expires_at: datetime | None
    version: int
    """The room's membership version then."""


def person_of(session_key: str) -> User | None:
    """Whose session that is; None when it has ended."""
    if not session_key:
        return None
    session = import_module(settings.SESSION_ENGINE).SessionStore(session_key)
    user = get_user(cast(HttpRequest, SimpleNamespace(session=session)))
    return user if user.is_authenticated and user.is_active else None


def seat_of(session_key: str, room_id: int) -> Seat | None:
    """The session's right to read the room now, or None."""
    try:
        member = member_for(person_of(session_key), room_id)
    except NotFound:
        return None
    return Seat(session_key, member.expires_at, member.room.membership_version)


def person(request: HttpRequest) -> User:
    """Whose browser sends this request; NotFound when it is nobody's."""
    if not isinstance(request.user, User) or not request.user.is_active:
        raise NotFound(ABSENT)
    return request.user
