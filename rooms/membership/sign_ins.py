"""Programs that sign in through the browser: a person chooses whom each sign-in speaks as."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import timedelta

from allauth.idp.oidc.models import Client, Token
from django.db.models import Exists, OuterRef, Q, QuerySet, Subquery
from django.utils import timezone

from messaging import nudge
from rooms.errors import Conflict, Invalid, NotFound
from rooms.membership import words
from rooms.membership.connections import own_seat
from rooms.models import Connection, Consent, User
from rooms.rules import rule

CONSENT_LASTS = timedelta(hours=1)
"""Longer than any code that a program can still turn into a token."""
UNUSED_LASTS = timedelta(days=1)
TIME_TO_BE_USED = timedelta(minutes=10)
FORGOTTEN_AFTER = timedelta(days=90)
"""A program that somebody used keeps its registration so long after its last sign-in ended."""
MOST_KEPT = 1000
"""So many of these are kept; of more, those whose last sign-in ended longest ago go first."""
ENDED = "This sign-in has ended. Sign in again."


@rule
def consent(user: User, *, grant_id: str, client: str, name: str, agent: int | None, room: int | None) -> Consent:
    """Let a program sign in, as one's own agent in a room or as the account's chat."""
    if agent is not None and room is not None:
        own_seat(user, agent, room)
    elif agent is not None or room is not None:
        raise Invalid("Choose an agent together with its room.", field="identity")
    if Consent.objects.filter(grant_id=grant_id).exists() or Connection.objects.filter(grant_id=grant_id).exists():
        raise Conflict("This was answered before. Start the sign-in again.")
    return Consent.objects.create(
        grant_id=grant_id, client=client, name=name_of(name), user=user, agent_id=agent, room_id=room
    )


def name_of(name: str) -> str:
    """What a program calls itself, made safe to show."""
    return words.line(name[:300], most=300, field="name", what="the name", needed=False)[:60].strip() or "a program"


@rule
def admit(user: User, *, grant_id: str, token_hash: str) -> Connection:
    """The connection of a sign-in: its first token makes it, every later one must find it standing."""
    found = Connection.objects.filter(grant_id=grant_id, user=user).first() if grant_id else None
    if found is not None:
        if found.revoked_at is not None:
            raise NotFound(ENDED)
        return found
    chosen = Consent.objects.filter(grant_id=grant_id, user=user, created_at__gt=timezone.now() - CONSENT_LASTS).first()
    if chosen is None:
        raise NotFound("Nobody has chosen whom this sign-in speaks as. Sign in again.")
    if chosen.agent_id is not None and chosen.room_id is not None:
        own_seat(user, chosen.agent_id, chosen.room_id)
    made = Connection.objects.create(
        kind=Connection.Kind.AGENT if chosen.agent_id is not None else Connection.Kind.ACCOUNT,
        user=user, agent_id=chosen.agent_id, room_id=chosen.room_id, name=chosen.name, client=chosen.client,
        grant_id=grant_id, token_hash=token_hash,
    )  # fmt: skip
    chosen.delete()
    nudge.user(user.pk)
    return made


@rule
def let_go(grant_id: str) -> None:
    """A program gave its tokens back: when none is left, its connection has ended."""
    if grant_id and not Token.objects.filter(data__grant_id=grant_id, type__in=USABLE).exists():
        Connection.objects.filter(grant_id=grant_id, revoked_at=None).update(revoked_at=timezone.now())


@rule
def end_tokens(grant_ids: Iterable[str]) -> None:
    """Remove every token of these sign-ins, whose connections go."""
    for grant_id in set(grant_ids) - {""}:
        Token.objects.filter(data__grant_id=grant_id).delete()


USABLE = ("at", "rt")
"""Access and refresh tokens; a code is none that a program could come back with."""


@rule
def forget() -> None:
    """Clear away what can't be used any more: expired and ended tokens, unanswered consents, unused programs."""
    now = timezone.now()
    Token.objects.expired().delete()
    # The connections first: one that is made meanwhile is not missed among the tokens.
    signed_in = dict(Connection.objects.exclude(grant_id="").values_list("grant_id", "revoked_at"))
    held: dict[str, list[int]] = {}
    for token in Token.objects.filter(type__in=USABLE):
        held.setdefault(token.get_grant_id() or "", []).append(token.pk)
    for grant_id, revoked_at in signed_in.items():
        if revoked_at is not None:
            Token.objects.filter(pk__in=held.get(grant_id, [])).delete()
        elif grant_id not in held:
            Connection.objects.filter(grant_id=grant_id, revoked_at=None).update(revoked_at=now)
    Consent.objects.filter(created_at__lte=now - CONSENT_LASTS).delete()
    _unused(UNUSED_LASTS).delete()
    Client.objects.filter(pk__in=list(_ended()[MOST_KEPT:])).delete()


@rule
def room_for_a_program(most: int) -> bool:
    """Whether another program may introduce itself: beyond ``most`` unused ones, those go that had time to be used."""
    if _unused(timedelta(0)).count() < most:
        return True
    oldest = _unused(TIME_TO_BE_USED).order_by("created_at").values_list("pk", flat=True)[:100]
    return bool(Client.objects.filter(pk__in=list(oldest)).delete()[0])


def _unused(since: timedelta) -> QuerySet[Client]:
    """The programs that nobody let in, so long after they introduced themselves."""
    now = timezone.now()
    lately = Connection.objects.exclude(client="").filter(Q(revoked_at=None) | Q(revoked_at__gt=now - FORGOTTEN_AFTER))
    unused: QuerySet[Client] = Client.objects.filter(data__dcr=True, created_at__lte=now - since, token=None)
    return unused.exclude(pk__in=lately.values("client"))


def _ended() -> QuerySet[Client, str]:
    """The programs whose every sign-in has ended, the last one first."""
    own = Connection.objects.filter(client=OuterRef("pk"))
    ended = Client.objects.filter(Exists(own), ~Exists(own.filter(revoked_at=None)), data__dcr=True, token=None)
    last = own.order_by("-revoked_at").values("revoked_at")[:1]
    found: QuerySet[Client, str] = ended.order_by(Subquery(last).desc(), "pk").values_list("pk", flat=True)
    return found
