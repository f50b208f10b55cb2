"""A permission for every room that a person and an agent share ends where they share none."""

from __future__ import annotations

from django.db.models import Exists, OuterRef, Q, QuerySet
from django.utils import timezone

from approvals.models import Grant
from rooms.models import Member


def end_unshared(grants: QuerySet[Grant]) -> None:
    """End each *always* among these whose two sit in no room together: sharing one again doesn't revive it.

    A *never* stays. Read when either of them leaves, and once more before they join: two who left two rooms at the same
    moment each saw the other still there.
    """
    together = Member.objects.filter(
        Q(expires_at=None) | Q(expires_at__gt=timezone.now()), user=OuterRef("person"), left_at=None,
        room__members__agent=OuterRef("agent"), room__members__left_at=None,
    )  # fmt: skip
    grants.filter(~Exists(together), person__isnull=False, level=Grant.Level.ALWAYS).delete()
