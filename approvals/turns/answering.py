"""The owner answers."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from django.utils import timezone

from approvals import audit, consent
from approvals.models import Approval, Grant, Turn
from approvals.turns.steps import end, queue
from rooms.access import ABSENT, lock_rooms
from rooms.errors import Conflict, Invalid, NotFound, Refused
from rooms.models import Member, User
from rooms.rules import rule


@rule
def answer(
    user: User,
    approval_id: int,
    *,
    verdict: str,
    note: str = "",
    everywhere: bool = False,
    until: datetime | None = None,
) -> Approval:
    """Answer a question: ``once``, ``always`` (a request to start only) or ``no``. The first decision wins.

    ``always`` also grants: in this room, or with ``everywhere`` in every room that the two share; ``until`` ends it.
    For a plain question ``note`` is the answer.
    """
    approval = _question(approval_id)
    lock_rooms([approval.turn.room_id])
    approval = _question(approval_id)
    if not consent.may_answer(user, approval):
        raise NotFound(ABSENT)
    turn, start = approval.turn, approval.subject == Approval.Subject.START
    if verdict not in ("once", "no") and not (start and verdict == "always"):
        raise Invalid("Answer once, always (for a request to start) or no.", field="verdict")
    if len(note) > 4000:
        raise Invalid("A note holds at most 4,000 characters.", field="note")
    if until is not None and until <= timezone.now():
        raise Invalid("That time has passed.", field="until")
    if approval.subject == Approval.Subject.QUESTION and verdict == "once" and not note.strip():
        raise Invalid("Write an answer, or choose one.", field="note")
    if approval.verdict:
        raise Conflict(consent.already(approval))
    consent.decide(user, approval, verdict=verdict, note=note)
    if start:
        if verdict == "no":
            end(turn, Turn.Status.REFUSED, by=user, note=note)
        else:
            if verdict == "always":
                _grant_always(user, turn, everywhere=everywhere, until=until)
            queue(turn, "asked", by=user.username)
    return approval


def _question(approval_id: int) -> Approval:
    approval = (
        Approval.objects.select_related(
            "turn__agent__owner", "turn__agent__machine", "turn__room", "turn__entry", "turn__principal", "decided_by"
        )
        .filter(pk=approval_id)
        .first()
    )
    if approval is None:
        raise NotFound(ABSENT)
    return approval


def _grant_always(user: User, turn: Turn, *, everywhere: bool, until: datetime | None) -> None:
    if turn.agent.owner_id != user.pk:
        raise Refused("A deputy answers one request at a time; only the owner allows always.")
    if turn.principal is None:
        raise Invalid("Nobody stands behind this request; approve it once.", field="verdict")
    seat = Member.objects.get(room=turn.room_id, user=turn.principal)
    key: dict[str, Any] = {"person": turn.principal} if everywhere else {"member": seat}
    Grant.objects.update_or_create(
        agent=turn.agent,
        **key,
        defaults={"level": "always", "expires_at": until, "updated_at": timezone.now(), "last_used_at": timezone.now()},
    )
    audit.write(
        user, "grant", who=user.username, room="" if everywhere else turn.room.name, decision="always",
        about=f"{turn.agent.handle}{' until ' + until.isoformat() if until else ''}",
        in_name_of=turn.principal.username,
    )  # fmt: skip
