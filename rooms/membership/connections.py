"""Bearer tokens for the account chat, or for an agent in a room: shown once, listed, revocable."""

from __future__ import annotations

from django.db.models import QuerySet
from django.utils import timezone

from messaging import nudge
from rooms import access, tokens
from rooms.errors import NotFound
from rooms.membership import words
from rooms.models import Agent, Connection, Member, User
from rooms.rules import rule


def may_speak_as(user: User) -> QuerySet[Member]:
    """The seats of one's own agents, in rooms where something can still be said."""
    seats = Member.objects.filter(agent__owner=user, left_at=None, room__archived_at=None, agent__retired_at=None)
    return seats.select_related("room", "agent").order_by("handle", "room__name")


def own_seat(owner: User, agent: int, room: int) -> Agent:
    """One's own agent, which sits in a room where one sits oneself; else NotFound."""
    own = access.owned_agent(owner, agent)
    access.member_for(owner, room)
    if not access.seated(room).filter(agent=own).exists():
        raise NotFound(f"{own.handle} does not sit in this room.")
    return own


@rule
def connect(owner: User, *, agent: int, room: int, name: str) -> tuple[Connection, str]:
    """A token with the identity of one's own agent in a room where it sits."""
    own = own_seat(owner, agent, room)
    token = tokens.new(tokens.CONNECTION)
    made = Connection.objects.create(
        kind=Connection.Kind.AGENT, user=owner, agent=own, room_id=room, name=_name(name),
        token_hash=tokens.digest(token),
    )  # fmt: skip
    return made, token


@rule
def connect_account(user: User, name: str) -> tuple[Connection, str]:
    """A token with the identity of the account's chat."""
    token = tokens.new(tokens.CONNECTION)
    made = Connection.objects.create(
        kind=Connection.Kind.ACCOUNT, user=user, name=_name(name), token_hash=tokens.digest(token)
    )
    return made, token


@rule
def revoke_connection(user: User, connection_id: int) -> Connection:
    """End one token at once."""
    found = Connection.objects.filter(pk=connection_id, user=user).first()
    if found is None:
        raise NotFound(access.ABSENT)
    Connection.objects.filter(pk=found.pk, revoked_at=None).update(revoked_at=timezone.now())
    found.refresh_from_db()
    nudge.user(user.pk)
    return found


def _name(name: str) -> str:
    return words.line(name, most=60, field="name", what="the name")
