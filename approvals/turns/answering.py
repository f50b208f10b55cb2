"""The owner answers."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from django.utils import timezone

from approvals import audit, consent
from approvals.models import Approval, Grant, Turn
from approvals.turns.hearing import hear
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
    digest: str | None = None,
    recently: bool = False,
) -> Approval:
    """Answer a question: ``once``, ``no``, and for a request to start also ``always`` or ``never``. First wins.

    ``always`` also grants: in this room, or with ``everywhere`` in every room that the two share; ``until`` ends it.
    ``never`` declines, and every later request of that person in this room with it. For a plain question ``note`` is
    the answer. ``digest`` is of the action that the person read. ``recently``: they signed in lately; none of
    the four kinds is approved without.
    """
    lock_rooms([_question(approval_id).turn.room_id])
    approval = _question(approval_id)
    if not consent.may_answer(user, approval):
        raise NotFound(ABSENT)
    turn, start = approval.turn, approval.subject == Approval.Subject.START
    _fits(approval, verdict=verdict, note=note, until=until)
    if approval.verdict:
        raise Conflict(consent.already(approval))
    if digest is not None and digest != approval.action_digest:
        raise Conflict("The question is another one by now. Read it again.")
    if verdict != "no" and approval.subject in consent.FOUR and not recently:
        raise Refused("Approving this wants a sign-in within the last 15 minutes.", code="sign_in")
    if verdict in ("always", "never"):
        _grant(user, turn, "always" if verdict == "always" else "deny", everywhere=everywhere, until=until)
    consent.decide(user, approval, verdict="no" if verdict == "never" else verdict, note=note)
    if start and verdict in ("no", "never"):
        end(turn, Turn.Status.REFUSED, by=user, note=note)
    elif start:
        queue(turn, "asked", by=user.username)
    if approval.subject == Approval.Subject.ASK:
        hear(approval, user)
    if verdict == "never":
        _refuse_the_others(user, turn)
    return approval


def _fits(approval: Approval, *, verdict: str, note: str, until: datetime | None) -> None:
    start = approval.subject == Approval.Subject.START
    if verdict not in ("once", "no") and not (start and verdict in ("always", "never")):
        raise Invalid("Answer once, always (for a request to start) or no.", field="verdict")
    if len(note) > 4000:
        raise Invalid("A note holds at most 4,000 characters.", field="note")
    if until is not None and until <= timezone.now():
        raise Invalid("That time has passed.", field="until")
    if approval.subject == Approval.Subject.QUESTION and verdict == "once" and not note.strip():
        raise Invalid("Write an answer, or choose one.", field="note")


def _refuse_the_others(user: User, turn: Turn) -> None:
    """What the same person has waiting for the same agent in this room."""
    others = Turn.objects.filter(
        room=turn.room_id, agent=turn.agent_id, principal=turn.principal_id, status__in=Turn.WAITING
    ).select_related("agent__owner", "agent__machine", "room", "entry", "principal")
    for other in others.order_by("pk"):
        end(other, Turn.Status.REFUSED, by=user)


def lapse() -> int:
    """Turn every question whose time is over into a no. Safe to run twice at once."""
    due = Approval.objects.filter(verdict="", expires_at__lte=timezone.now()).values_list("pk", "turn__room_id")
    return sum(_lapse(pk, room_id) for pk, room_id in list(due[:200]))


@rule
def _lapse(approval_id: int, room_id: int) -> int:
    lock_rooms([room_id])
    if not consent.end_undecided(approval_id, Approval.Verdict.LAPSED):
        return 0
    approval = _question(approval_id)
    if approval.subject == Approval.Subject.START:
        end(approval.turn, Turn.Status.REFUSED, note="Nobody answered in time.")
    if approval.subject == Approval.Subject.ASK:
        hear(approval, None)
    return 1


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


def _grant(user: User, turn: Turn, level: str, *, everywhere: bool, until: datetime | None) -> None:
    if turn.agent.owner_id != user.pk:
        raise Refused("A deputy answers one request at a time; only the owner allows or declines for longer.")
    if turn.principal is None:
        raise Invalid("Nobody stands behind this request; answer it once.", field="verdict")
    if everywhere and level == "deny":
        raise Invalid("Here you decline for this room; for every room, say so among the permissions.", field="scope")
    seat = Member.objects.get(room=turn.room_id, user=turn.principal)
    key: dict[str, Any] = {"person": turn.principal} if everywhere else {"member": seat}
    now = timezone.now()
    Grant.objects.update_or_create(
        agent=turn.agent, **key,
        defaults={"level": level, "expires_at": until, "updated_at": now, "last_used_at": now},
    )  # fmt: skip
    audit.write(
        user, "grant", who=user.username, room="" if everywhere else turn.room.name, decision=level, agent=turn.agent,
        about=f"until {until.isoformat()}" if until else "", in_name_of=turn.principal.username,
    )  # fmt: skip
