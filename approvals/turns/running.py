"""The machine's side: offered, started, ended; consent is read again at each step."""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from datetime import datetime
from decimal import Decimal, InvalidOperation
from typing import Any

from django.db.models import QuerySet
from django.utils import timezone

from approvals import consent, limits, reported
from approvals.models import Approval, Grant, Turn
from approvals.turns.asking import put_to_owner
from approvals.turns.inbox import delivered, handed_over, keep_out, moot
from approvals.turns.steps import audit_step, end, tell, told
from messaging import log
from messaging.models import Entry
from rooms.access import lock_rooms, principal_for, seated
from rooms.errors import Conflict
from rooms.models import Machine, Member
from rooms.rules import rule

READ = "Its mail was read already."


def allowed(turn: Turn) -> str:
    """Empty when the turn may start now; else why not, in words for the room. Read under the room's lock."""
    seat = Member.objects.filter(room=turn.room_id, agent=turn.agent_id, left_at=None).first()
    if seat is None or turn.agent.retired_at is not None:
        return "The agent has left the room."
    if turn.room.archived_at is not None:
        return "The room was archived."
    principal = principal_for(turn.principal_id, turn.room_id)
    if principal is None and (turn.principal_id is not None or turn.cause != "mail"):
        return "Whoever asked may no longer ask here."
    level = consent.level(turn.agent, principal)
    if level == Grant.Level.DENY:
        who = principal.handle if principal else "them"
        return f"{turn.agent.owner.username} no longer takes requests from {who}."
    if level != Grant.Level.ALWAYS and not approved(turn):
        return "The permission ended before it could start."
    return ""


def approved(turn: Turn) -> bool:
    """Whether somebody who may said yes to this very request."""
    return Approval.objects.filter(turn=turn, subject=Approval.Subject.START, verdict__in=["once", "always"]).exists()


def queue_of(agent_ids: Sequence[int]) -> QuerySet[Turn]:
    """What waits to run on these agents, in order."""
    return (
        Turn.objects.filter(agent__in=agent_ids, status=Turn.Status.QUEUED)
        .select_related("agent__owner", "agent__machine", "room", "entry__author", "principal")
        .order_by("pk")
    )


def offer(turn: Turn, machine: Machine) -> bool:
    """Offer a queued turn to its machine. Under the room's lock.

    Ends it when consent no longer stands, and puts it to the owner when a limit was reached meanwhile.
    """
    if why := allowed(turn):
        end(turn, Turn.Status.CANCELLED, note=why)
        return False
    if moot(turn):
        end(turn, Turn.Status.CANCELLED, note=READ)
        return False
    if held(turn):
        return False
    if not approved(turn) and (over := limits.reached(turn)):
        _ask_after_all(turn, over)
        return False
    claim = secrets.token_hex(12)
    won = Turn.objects.filter(pk=turn.pk, status=Turn.Status.QUEUED).update(
        status=Turn.Status.OFFERED, machine=machine, claim_id=claim, journal_id=machine.journal_id
    )
    if won:
        turn.status, turn.machine, turn.claim_id, turn.journal_id = (
            Turn.Status.OFFERED,
            machine,
            claim,
            machine.journal_id,
        )
    return bool(won)


def end_moot(seat: Member) -> None:
    """End what waits to tell an agent of mail that it has read by now. Under the room's lock."""
    waiting = Turn.objects.filter(
        room=seat.room_id, agent=seat.agent_id, cause="mail", status__in=[Turn.Status.ASKED, Turn.Status.QUEUED]
    )
    for turn in waiting.select_related("agent__owner", "agent__machine", "room", "entry", "principal").order_by("pk"):
        if moot(turn):
            end(turn, Turn.Status.CANCELLED, note=READ)


def held(turn: Turn) -> bool:
    """Whether this is mail that waits: agents have paused among themselves, or this one said that it can't."""
    if turn.cause != "mail":
        return False
    return limits.paused(turn.room_id) or reported.holds_mail(turn.room_id, turn.agent_id) is not None


def _ask_after_all(turn: Turn, over: str) -> None:
    """A request that was let in waits for the owner again: a limit was reached before its turn came."""
    seat = seated(turn.room_id).filter(agent=turn.agent_id).first()
    if seat is not None and Turn.objects.filter(pk=turn.pk, status=Turn.Status.QUEUED).update(status="asked"):
        turn.status = Turn.Status.ASKED
        keep_out(turn)
        tell(turn, "asked")
        put_to_owner(turn, seat, action="\n\n".join(entry.body for entry in messages(turn)), over=over)


def messages(turn: Turn) -> list[Entry]:
    """What a turn answers: the message that asked, and for a mail turn what came after it.

    Where a receipt began it, that alone: the message that it is about is the agent's own.
    """
    more = [mail.entry for mail in turn.mail.select_related("entry__author").order_by("entry__seq")]
    own = turn.cause == "mail" and turn.entry.author is not None and turn.entry.author.agent_id == turn.agent_id
    return more if own and more else [turn.entry, *more]


def take_back(turn: Turn) -> bool:
    """An offer that nobody will start goes back into the queue, at its old place."""
    won = Turn.objects.filter(pk=turn.pk, status=Turn.Status.OFFERED).update(
        status=Turn.Status.QUEUED, machine=None, claim_id="", journal_id=""
    )
    return bool(won)


@rule
def start(machine: Machine, turn_id: int, *, claim_id: str, journal_id: str) -> datetime | str:
    """Let an offered turn run if consent still stands: since when, or why not (which is then stored).

    The same claim again gets the same answer, unless consent has ended meanwhile: whoever asks again has not begun.
    """
    turn = whole(turn_id)
    if turn is None or turn.machine_id != machine.pk or turn.claim_id != claim_id or turn.journal_id != journal_id:
        raise Conflict("That turn is not offered to this machine.")
    lock_rooms([turn.room_id])
    turn = whole(turn_id)
    if turn is None or turn.claim_id != claim_id:
        raise Conflict("That turn is not offered to this machine.")
    if turn.status == Turn.Status.RUNNING and turn.started_at is not None:
        return _once_more(turn) or turn.started_at
    if turn.status != Turn.Status.OFFERED:
        raise Conflict("That turn may not run any more.")
    if turn.agent.paused_at is not None:
        take_back(turn)
        return "The agent is paused."
    if why := allowed(turn):
        end(turn, Turn.Status.CANCELLED, note=why)
        return why
    if Turn.objects.filter(agent=turn.agent_id, status=Turn.Status.RUNNING).exists():
        take_back(turn)
        return "The agent is at work on another turn."
    if held(turn):
        take_back(turn)
        paused = limits.paused(turn.room_id)
        return "Its mail waits until a person writes." if paused else "Its agent takes no mail now."
    if moot(turn):
        end(turn, Turn.Status.CANCELLED, note=READ)
        return READ
    now = timezone.now()
    if not Turn.objects.filter(pk=turn.pk, status=Turn.Status.OFFERED, claim_id=claim_id).update(
        status=Turn.Status.RUNNING, started_at=now
    ):
        raise Conflict("That turn may not run any more.")
    turn.status, turn.started_at = Turn.Status.RUNNING, now
    tell(turn, "running", confined=machine.confined.get(str(turn.agent_id)) == "")
    if (seat := Member.objects.filter(room=turn.room_id, agent=turn.agent_id).first()) is not None:
        reported.started(seat)
        delivered(turn, seat)
    handed_over(turn)
    audit_step(turn, "start", who=turn.agent.handle, decision="running")
    return now


def _once_more(turn: Turn) -> str:
    """End a turn that runs here and has done nothing on its machine, if it may not start any more; else empty."""
    if turn.stop_asked_at is not None:
        why = "It was stopped before it began."
        finish(turn, Turn.Status.STOPPED, reason=why)
        return why
    why = allowed(turn) or ("The permission ended before it began." if turn.outlived_at is not None else "")
    if why:
        finish(turn, Turn.Status.INTERRUPTED, reason=why)
    return why


def whole(turn_id: int) -> Turn | None:
    return (
        Turn.objects.select_related("agent__owner", "agent__machine", "room", "entry", "principal")
        .filter(pk=turn_id)
        .first()
    )


def _tokens(usage: dict[str, Any]) -> int:
    return sum(max(0, min(int(usage.get(name) or 0), 10**15)) for name in ("input_tokens", "output_tokens"))


def _cost(usage: dict[str, Any]) -> Decimal:
    """What the runtime says it cost, in US dollars; 0 when that is no number."""
    try:
        cost = Decimal(str(usage.get("cost_usd") or 0))
    except InvalidOperation:
        return Decimal(0)
    return min(max(cost, Decimal(0)), Decimal(10_000_000)) if cost.is_finite() else Decimal(0)


@rule
def finish(
    turn: Turn,
    state: str,
    *,
    reason: str = "",
    usage: dict[str, Any] | None = None,
    client_id: str = "",
    connection: str = "",
) -> bool:
    """Store how a running turn ended, and close its questions. False when it had ended before."""
    won = Turn.objects.filter(pk=turn.pk, status=Turn.Status.RUNNING).update(
        status=state, finished_at=timezone.now(), note=log.clean(reason)[:2000], usage=usage or {},
        tokens=_tokens(usage or {}), cost_usd=_cost(usage or {}),
    )  # fmt: skip
    if not won:
        return False
    turn.refresh_from_db()
    consent.close(turn)
    tell(turn, state, note=reason, client_id=client_id, connection=connection)
    audit_step(turn, "end", who=turn.agent.handle, decision=state)
    told(turn)
    return True
