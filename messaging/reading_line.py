"""How far somebody has read a room."""

from __future__ import annotations

from messaging import nudge
from rooms.models import Member, Room
from rooms.rules import rule


@rule
def move(member: Member, seq: int) -> None:
    """The member has read everything up to ``seq``; the line never moves back, nor past what there is."""
    last = Room.objects.values_list("last_seq", flat=True).get(pk=member.room_id)
    reached = min(seq, last)
    moved = Member.objects.filter(pk=member.pk, left_at=None, read_seq__lt=reached).update(read_seq=reached)
    if moved and member.user_id:
        nudge.user(member.user_id)
