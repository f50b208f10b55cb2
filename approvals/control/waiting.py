"""Ending what waits, for whoever takes a permission back."""

from __future__ import annotations

from django.db.models import QuerySet

from approvals import turns
from approvals.models import Turn
from rooms.models import Agent, Member, User


def cancel_all(waiting: QuerySet[Turn], *, by: User | None, note: str) -> int:
    rows = waiting.select_related("agent__owner", "agent__machine", "room", "entry", "principal").order_by("pk")
    return sum(turns.end(turn, Turn.Status.CANCELLED, by=by, note=note) for turn in rows)


def cancel_under(agent: Agent, member: Member | None, person: User | None, *, by: User, note: str) -> int:
    waiting = Turn.objects.filter(agent=agent, status__in=["queued", "offered"])
    if member is not None:
        return cancel_all(waiting.filter(room=member.room_id, principal=member.user_id), by=by, note=note)
    return cancel_all(waiting.filter(principal=person), by=by, note=note)
