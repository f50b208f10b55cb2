"""How much is enough: what one person may have from one agent, and how long agents may talk among themselves."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from decimal import Decimal

from django.db.models import F, Q, QuerySet, Sum
from django.db.models.functions import Coalesce
from django.utils import timezone

from approvals.models import Exchange, Limit, Spent, Turn
from messaging.models import Entry

DAY, MONTH = timedelta(days=1), timedelta(days=30)
MOST_HOPS = 8
"""Agents that may pass something on, one to the next, until a person speaks."""
MOST_MESSAGES = 20
WITHIN = timedelta(minutes=10)
"""So many messages of agents in a room, in so long, until a person speaks."""
LONGEST_CHAIN = 40
"""Links that are followed back; a chain this long has long been paused."""


# --- a person and an agent


@dataclass(frozen=True, slots=True)
class Used:
    requests: int
    minutes: int
    tokens: int
    cost: Decimal


def used(agent_id: int, person_id: int, *, besides: Turn | None = None) -> Used:
    """What this person had from this agent: requests and minutes of the last 24 hours, the rest of the last 30 days.

    A request counts when it was allowed to run, even while it waits; ``besides`` leaves out that one and later ones.
    """
    now = timezone.now()
    turns = Turn.objects.filter(agent=agent_id, principal=person_id)
    others = turns if besides is None else turns.exclude(pk=besides.pk)
    gone = Spent.objects.filter(agent=agent_id, person=person_id)
    asked = others.filter(queued_at__gt=now - DAY).exclude(status__in=["asked", "refused", "cancelled"])
    if besides is not None:
        asked = asked.filter(pk__lt=besides.pk)
    requests = asked.count() + gone.filter(queued_at__gt=now - DAY).count()
    minutes = int((_ran(others) + _ran(gone)).total_seconds() // 60)
    (tokens, cost), (more_tokens, more_cost) = _month(others), _month(gone)
    return Used(requests, minutes, tokens + more_tokens, cost + more_cost)


def _month(turns: QuerySet[Turn] | QuerySet[Spent]) -> tuple[int, Decimal]:
    sums = turns.filter(finished_at__gt=timezone.now() - MONTH).aggregate(
        tokens=Coalesce(Sum("tokens"), 0), cost=Coalesce(Sum("cost_usd"), Decimal(0))
    )
    return int(sums["tokens"]), Decimal(sums["cost"])


def _ran(turns: QuerySet[Turn] | QuerySet[Spent]) -> timedelta:
    """How long these ran in the last 24 hours, a running one up to now."""
    since = timezone.now() - DAY
    ran = turns.filter(started_at__isnull=False).filter(Q(finished_at=None) | Q(finished_at__gt=since))
    total = timedelta(0)
    for started_at, finished_at in ran.values_list("started_at", "finished_at"):
        assert started_at is not None
        until = finished_at or timezone.now()
        total += max(until - max(started_at, since), timedelta(0))
    return total


def keep_count(turns: QuerySet[Turn]) -> None:
    """These turns are about to be removed: keep what limits count of them, and forget what they no longer count."""
    old = timezone.now() - MONTH
    counted = list(turns.filter(principal__isnull=False, finished_at__gt=old).exclude(principal=F("agent__owner")))
    if counted:
        Spent.objects.filter(finished_at__lte=old).delete()
    Spent.objects.bulk_create(
        Spent(
            agent_id=turn.agent_id, person_id=turn.principal_id or 0, started_at=turn.started_at,
            queued_at=None if turn.status in (Turn.Status.REFUSED, Turn.Status.CANCELLED) else turn.queued_at,
            finished_at=turn.finished_at, tokens=turn.tokens, cost_usd=turn.cost_usd,
        )
        for turn in counted
        if turn.finished_at is not None
    )  # fmt: skip


def reached(turn: Turn) -> str:
    """Which limit this request would go over, in words for the room; empty for none."""
    if turn.principal_id is None or turn.principal is None or turn.principal_id == turn.agent.owner_id:
        return ""
    limit = Limit.objects.filter(agent=turn.agent_id, person=turn.principal_id).first()
    if limit is None:
        return ""
    had = used(turn.agent_id, turn.principal_id, besides=turn)
    who, whom = turn.principal.username, turn.agent.handle
    for most, so_far, unit, while_ in (
        (limit.requests_a_day, had.requests, "requests", "a day"),
        (limit.minutes_a_day, had.minutes, "minutes", "a day"),
        (limit.tokens_a_month, had.tokens, "tokens", "a month"),
        (limit.cost_a_month, had.cost, "US dollars", "a month"),
    ):
        if most is not None and so_far >= most:
            return f"{who} has used the limit for {whom}: {most:,} {unit} {while_}."
    return ""


# --- agents among themselves


def chain(entry: Entry) -> list[Entry]:
    """The messages that led to this one, a person's first where there was one; this one last."""
    links = [entry]
    while links[0].source_turn is not None and len(links) < LONGEST_CHAIN:
        before = Turn.objects.filter(pk=links[0].source_turn).select_related("entry__author").first()
        if before is None:
            break
        links.insert(0, before.entry)
    return links


def said(entry: Entry) -> str:
    """Empty while agents may go on; else why their mail now waits. ``entry`` is an agent's newest message."""
    exchange, _ = Exchange.objects.get_or_create(room_id=entry.room_id)
    if exchange.paused_at is not None:
        return ""
    hops = sum(
        link.author is not None and link.author.is_agent and link.seq > exchange.since_seq for link in chain(entry)
    )
    messages = Entry.objects.filter(
        room=entry.room_id, kind=Entry.Kind.MESSAGE, author__is_agent=True, seq__gt=exchange.since_seq,
        created_at__gt=timezone.now() - WITHIN,
    ).count()  # fmt: skip
    if hops <= MOST_HOPS and messages <= MOST_MESSAGES:
        return ""
    Exchange.objects.filter(pk=exchange.pk).update(paused_at=timezone.now())
    why = f"{MOST_HOPS} hops" if hops > MOST_HOPS else f"{MOST_MESSAGES} messages in 10 minutes"
    return f"The agents have talked among themselves for {why}. Their mail waits until a person writes here."


def paused(room_id: int) -> bool:
    """Whether the mail of a room's agents waits for a person."""
    return Exchange.objects.filter(room=room_id, paused_at__isnull=False).exists()


def person_spoke(entry: Entry) -> bool:
    """A person's message lets the agents go on. True when they had paused."""
    was = Exchange.objects.filter(room=entry.room_id, paused_at__isnull=False).exists()
    Exchange.objects.filter(room=entry.room_id).update(since_seq=entry.seq, paused_at=None)
    return was
