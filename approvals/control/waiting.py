"""What a permission that is taken back does to the work under it: what waits ends, what runs is marked."""

from __future__ import annotations

from django.db.models import QuerySet
from django.utils import timezone

from approvals import turns
from approvals.models import Approval, Turn
from rooms.models import Agent, Member, User


def cancel_all(waiting: QuerySet[Turn], *, by: User | None, note: str) -> int:
    return sum(turns.end(turn, Turn.Status.CANCELLED, by=by, note=note) for turn in _whole(waiting))


def cancel_under(
    agent: Agent, member: Member | None, person: User | None, *, by: User | None, note: str, asked: bool = False
) -> int:
    """Cancel what this person has queued on this agent; with ``asked`` also what waits for an answer.

    What runs because of the grant goes on and is marked; what was approved by itself has not lost anything.
    """
    theirs = Turn.objects.filter(agent=agent, principal=member.user_id if member is not None else person)
    if member is not None:
        theirs = theirs.filter(room=member.room_id)
    approved = Approval.objects.filter(subject="start", verdict="once").values("turn")
    mark_outlived(theirs.exclude(pk__in=approved), note)
    return cancel_all(theirs.filter(status__in=Turn.WAITING if asked else ("queued", "offered")), by=by, note=note)


def mark_outlived(theirs: QuerySet[Turn], why: str) -> None:
    """Say of what runs that it has outlived its permission; it goes on until it ends or somebody stops it."""
    for turn in _whole(theirs.filter(status=Turn.Status.RUNNING, outlived_at=None)):
        if Turn.objects.filter(pk=turn.pk, outlived_at=None).update(outlived_at=timezone.now()):
            turns.notice(turn, f"{why} What runs goes on until it ends or is stopped.", outlived=True)


def _whole(rows: QuerySet[Turn]) -> QuerySet[Turn]:
    return rows.select_related("agent__owner", "agent__machine", "room", "entry", "principal").order_by("pk")
