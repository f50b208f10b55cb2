"""Putting back what a turn changed: asked for by the agent's owner, done by the machine that keeps the snapshot."""

from __future__ import annotations

from django.utils import timezone

from approvals import audit, turns
from approvals.models import Turn, Undo
from messaging import nudge
from rooms.access import ABSENT, lock_rooms, member_for
from rooms.errors import Conflict, NotFound, Refused
from rooms.models import User
from rooms.rules import rule


def undoable(owner: User, turn_id: int) -> Undo:
    """What can be put back, for the owner of the turn's agent; NotFound for everybody else, Refused when it can't."""
    turn = _own(owner, turn_id)
    undo = Undo.objects.filter(turn=turn).first()
    if undo is None:
        raise Refused("That request left nothing different, or its machine kept no snapshot.")
    if turn.status not in Turn.ENDED:
        raise Refused("It has not ended yet.")
    if undo.asked_at is not None:
        raise Conflict("It is being undone." if undo.done_at is None else "It was undone already.")
    if turn.machine is None or turn.machine.revoked_at or turn.journal_id != turn.machine.journal_id:
        raise Refused("Its machine no longer has the snapshot.")
    undo.turn = turn
    return undo


@rule
def undo_turn(owner: User, turn_id: int) -> Turn:
    """The owner wants back what a turn changed. The machine does it, and leaves what somebody changed since."""
    lock_rooms([_own(owner, turn_id).room_id])
    undo = undoable(owner, turn_id)
    if not Undo.objects.filter(pk=undo.pk, asked_at=None).update(asked_at=timezone.now(), asked_by=owner):
        raise Conflict("It is being undone.")
    turns.notice(undo.turn, f"{owner.username} asks for what this changed to be put back.", undo="asked")
    audit.write(
        owner, "undo", who=owner.username, room=undo.turn.room.name, agent=undo.turn.agent,
        about=f"message {undo.turn.entry.seq}", decision="asked",
    )  # fmt: skip
    if undo.turn.machine_id:
        nudge.machine(undo.turn.machine_id)
    return undo.turn


def _own(owner: User, turn_id: int) -> Turn:
    turn = (
        Turn.objects.select_related("agent__owner", "machine", "room", "entry", "principal")
        .filter(pk=turn_id, agent__owner=owner)
        .first()
    )
    if turn is None:
        raise NotFound(ABSENT)
    member_for(owner, turn.room_id)
    return turn
