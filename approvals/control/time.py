"""What ends by itself."""

from __future__ import annotations

from django.utils import timezone

from approvals.control.grants import expire_grant
from approvals.control.seats import expire_guest
from approvals.models import Grant
from rooms.models import Member


def expire() -> int:
    """End the seats of guests whose time is over, and grants that have run out. Safe to run twice at once."""
    now = timezone.now()
    guests = list(Member.objects.filter(left_at=None, expires_at__lte=now).values_list("pk", "room_id")[:200])
    grants = list(Grant.objects.filter(expires_at__lte=now).values_list("pk", flat=True)[:200])
    return sum(expire_guest(pk, room_id) for pk, room_id in guests) + sum(expire_grant(pk) for pk in grants)
