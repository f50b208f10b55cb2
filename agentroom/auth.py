"""Whose bearer token it is."""

from __future__ import annotations

from datetime import timedelta

from django.utils import timezone

from rooms import tokens
from rooms.models import Connection, Machine


class Unauthorised(Exception):
    """No token, or one that is unknown or revoked; ``code`` says which."""

    def __init__(self, code: str = "unauthorised") -> None:
        super().__init__(code)
        self.code = code
        self.detail = {
            "revoked": "This machine was revoked. Pair it again with `agentroom login`.",
            "unauthorised": "Send the machine's token: Authorization: Bearer arm_…",
        }[code]


def bearer(header: str) -> str:
    """The token of an Authorization header; empty when there is none."""
    scheme, _, token = header.partition(" ")
    return token.strip() if scheme.lower() == "bearer" else ""


def machine(header: str, *, revoked_within: timedelta = timedelta(0)) -> Machine:
    """The machine whose token the header carries.

    ``revoked_within`` lets in one that was revoked no longer ago, so that it can tell the end of what it was running.
    """
    token = bearer(header)
    found = Machine.objects.select_related("owner").filter(token_hash=tokens.digest(token)).first() if token else None
    if found is None or not found.owner.is_active:
        raise Unauthorised
    if found.revoked_at is not None and timezone.now() - found.revoked_at >= revoked_within:
        raise Unauthorised("revoked")
    return found


def connection(header: str) -> Connection:
    """The account's or agent's connection whose token the header carries; notes that it was used."""
    token = bearer(header)
    found = (
        Connection.objects.select_related("user", "agent", "room")
        .filter(token_hash=tokens.digest(token), revoked_at=None, user__is_active=True)
        .first()
        if token
        else None
    )
    if found is None:
        raise Unauthorised
    now = timezone.now()
    if found.last_used_at is None or now - found.last_used_at > timedelta(minutes=1):
        Connection.objects.filter(pk=found.pk).update(last_used_at=now)
    return found
