"""How long a room keeps what was said: the shortest of the server's limit and its own."""

from __future__ import annotations

from datetime import datetime, timedelta

from django.conf import settings
from django.db.models import OuterRef, Q, Subquery

from messaging.models import Entry
from rooms.models import Room


def server_days(room: Room) -> int | None:
    """What this server sets for such a room; None: no limit."""
    return settings.CHAT_RETENTION_DAYS if room.kind == Room.Kind.ACCOUNT else settings.ROOM_RETENTION_DAYS


def days(room: Room) -> int | None:
    """After how many days its entries go; None: never."""
    return min((limit for limit in (server_days(room), room.retention_days) if limit), default=None)


def cutoff(room: Room, now: datetime) -> datetime | None:
    """What was written before goes; what was written just then stays."""
    limit = days(room)
    return None if limit is None else now - timedelta(days=limit)


def rooms_due(now: datetime) -> list[Room]:
    """The rooms whose oldest entry is older than they keep."""
    oldest = Entry.objects.filter(room=OuterRef("pk")).order_by("seq").values("created_at")[:1]
    limited = Room.objects.all()
    if settings.ROOM_RETENTION_DAYS is None:
        limited = limited.filter(Q(kind=Room.Kind.ACCOUNT) | Q(retention_days__isnull=False))
    found: list[Room] = []
    for room in limited.annotate(oldest_at=Subquery(oldest)).filter(oldest_at__isnull=False).order_by("pk"):
        before = cutoff(room, now)
        if before is not None and room.oldest_at < before:
            found.append(room)
    return found


def reach(room_id: int, before: datetime, *, most: int | None = None) -> int:
    """The last number before the first entry that was not written before; 0 when nothing goes.

    ``most``: so many numbers from the oldest on are looked at.
    """
    rows = Entry.objects.filter(room=room_id).order_by("seq")
    oldest = rows.values_list("seq", flat=True).first()
    if oldest is None:
        return 0
    if most is not None:
        rows = rows.filter(seq__lt=oldest + most)
    stays = rows.filter(created_at__gte=before).values_list("seq", flat=True).first()
    if stays is not None:
        return stays - 1 if stays > oldest else 0
    return rows.values_list("seq", flat=True).last() or 0
