"""Whose bearer token it is."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from datetime import timedelta

from allauth.idp.oidc.models import Token
from django.conf import settings
from django.db.models import Exists, F, Q, QuerySet
from django.utils import timezone

from approvals.models import Turn
from rooms import access, membership, tokens
from rooms.errors import NotFound
from rooms.models import Connection, Machine, Member, Room

SCOPE = "agentroom"
USE_IS_NOTED = timedelta(minutes=1)
"""How far a connection's last use may be off."""


class Unauthorised(Exception):
    """No token, or one that is unknown or revoked; ``code`` says which."""

    def __init__(self, code: str = "unauthorised") -> None:
        super().__init__(code)
        self.code = code
        self.detail = {
            "revoked": "This machine was revoked. Pair it again with `agentroom login`.",
            "unauthorised": "Send the machine's token: Authorization: Bearer arm_…",
            "connection": "Sign in again, or send the token of a connection: Authorization: Bearer arc_…",
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


@dataclass(frozen=True, slots=True)
class Caller:
    """Who calls through a connection. What it may do is read anew at every question."""

    connection: Connection

    @property
    def kind(self) -> str:
        """``account`` (its user's account chat) or ``agent`` (one agent in one room)."""
        return self.connection.kind

    def seat(self) -> Member:
        """The seat that it speaks from: its agent's in its room, or its user's in the account chat."""
        stands = Exists(_standing().filter(pk=self.connection.pk))
        seat = _seats(self.connection).filter(stands).select_related("room", "user", "agent").first()
        if seat is None:
            raise NotFound(access.ABSENT)
        return seat

    def chat(self) -> tuple[int, str]:
        """Room and account of the chat that it reads, by one cheap question: what waits asks it again and again."""
        rooms = _standing().filter(
            pk=self.connection.pk, kind=Connection.Kind.ACCOUNT, user__owned_rooms__kind=Room.Kind.ACCOUNT
        )
        for found in rooms.values_list("user__owned_rooms", "user__username")[:1]:
            return found
        raise NotFound(access.ABSENT)

    def turn(self) -> Turn | None:
        """The running turn that it speaks from. Only a connection that the machine made has one."""
        by = self.connection
        if by.machine_id is None or by.agent_id is None or by.room_id is None:
            return None
        return Turn.objects.filter(
            room_id=by.room_id, agent_id=by.agent_id, machine_id=by.machine_id, status=Turn.Status.RUNNING
        ).first()


def caller(header: str) -> Caller:
    """Whose token the header carries; notes that it was used. Unauthorised when nobody stands behind it.

    A bearer token that somebody made, or the access token of a program that signed in.
    """
    token = bearer(header)
    found = _by_token(tokens.digest(token)) if token else None
    if found is None or not (_seats(found).exists() or _gets_a_chat(found)):
        raise Unauthorised("connection")
    now = timezone.now()
    if found.last_used_at is None or now - found.last_used_at > USE_IS_NOTED:
        Connection.objects.filter(pk=found.pk).update(last_used_at=now)
    return Caller(found)


def _by_token(digest: str) -> Connection | None:
    # The hash of a sign-in's first token names its connection, and opens nothing.
    made_here = _standing().filter(token_hash=digest, grant_id="").first()
    if made_here is not None:
        return made_here
    signed_in = Token.objects.valid().filter(type=Token.Type.ACCESS_TOKEN, hash=digest).first()
    if signed_in is None or SCOPE not in signed_in.get_scopes() or not for_us(signed_in.get_resources()):
        return None
    return of_sign_in(signed_in)


def of_sign_in(token: Token) -> Connection | None:
    """The connection that this token came with, as long as nobody ended it."""
    grant_id = token.get_grant_id()
    return _standing().filter(grant_id=grant_id, user=token.user_id).first() if grant_id else None


def for_us(resources: list[str]) -> bool:
    """Whether a token for these resources is one for this server. Programs of 2025 name none."""
    return {resource.rstrip("/") for resource in resources} <= {settings.MCP_RESOURCE}


def standing(connections: Collection[int]) -> set[int]:
    """Which of these connections nobody has ended."""
    return set(_standing().filter(pk__in=connections).values_list("pk", flat=True))


def _standing() -> QuerySet[Connection]:
    """The connections that nobody ended: not themselves, nor through their user, agent or machine."""
    return (
        Connection.objects.select_related("user", "agent", "room")
        .filter(revoked_at=None, user__is_active=True, machine__revoked_at=None, agent__retired_at=None)
        .filter(Q(agent=None) | Q(agent__owner=F("user")))
    )


def _seats(connection: Connection) -> QuerySet[Member]:
    """The one seat that it speaks from, or none."""
    if connection.agent_id is not None and connection.room_id is not None:
        return access.seated_agents(connection.room_id).filter(agent_id=connection.agent_id)
    return Member.objects.filter(
        user=connection.user_id, room__owner=connection.user_id, room__kind=Room.Kind.ACCOUNT, left_at=None
    )


def _gets_a_chat(connection: Connection) -> bool:
    """Make the chat of an account that has none yet, for its connection."""
    if connection.kind != Connection.Kind.ACCOUNT:
        return False
    membership.account_chat(connection.user)
    return True
