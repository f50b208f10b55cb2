"""What every step of a turn does: change its status once, tell the room, wake who waits for it."""

from __future__ import annotations

from django.utils import timezone

from approvals import audit, consent
from approvals.models import Turn
from approvals.turns.inbox import handed_over, keep_out, let_in
from messaging import log, nudge
from messaging.models import Entry
from rooms.errors import Conflict
from rooms.models import Member, User


def queue(turn: Turn, come_from: str, *, by: str = "") -> None:
    won = Turn.objects.filter(pk=turn.pk, status=come_from).update(status=Turn.Status.QUEUED, queued_at=timezone.now())
    if not won:
        raise Conflict("The request has ended meanwhile.")
    turn.status = Turn.Status.QUEUED
    let_in(turn)
    tell(turn, "queued", by=by)
    if turn.agent.machine_id:
        nudge.machine(turn.agent.machine_id)


def end(turn: Turn, status: str, *, by: User | None = None, note: str = "") -> bool:
    """Refuse or cancel a turn that has not started; its questions close. Under the room's lock."""
    won = Turn.objects.filter(pk=turn.pk, status__in=Turn.WAITING).update(
        status=status, finished_at=timezone.now(), note=log.clean(note)[:2000], ended_by=by
    )
    if not won:
        return False
    turn.status, turn.note, turn.ended_by = Turn.Status(status), note, by
    consent.close(turn)
    keep_out(turn)
    handed_over(turn)
    tell(turn, status, by=by.username if by else "", note=note)
    audit_step(turn, "end", who=by.username if by else "", decision=status)
    told(turn)
    return True


def tell(
    turn: Turn, state: str, *, by: str = "", note: str = "", client_id: str = "", connection: str = "", **about: object
) -> None:
    """Append a turn's new state to its room."""
    seat = Member.objects.filter(room=turn.room_id, agent=turn.agent_id).first()
    log.append(
        turn.room_id,
        log.New(
            Entry.Kind.TURN, author=seat, parent_seq=turn.entry.seq, principal=turn.principal_id, source_turn=turn.pk,
            data={"turn": turn.pk, "agent": seat.pk if seat else None, "state": state, "by": by, "note": note, **about},
            client_id=client_id, connection=connection,
        ),
    )  # fmt: skip


def notice(turn: Turn, words: str, **about: object) -> None:
    """Append a line of the server's own about a turn."""
    log.append(
        turn.room_id,
        log.New(
            Entry.Kind.NOTICE, body=words, parent_seq=turn.entry.seq, principal=turn.principal_id,
            source_turn=turn.pk, data={"turn": turn.pk, **about},
        ),
    )  # fmt: skip


def told(turn: Turn) -> None:
    if turn.principal_id:
        nudge.user(turn.principal_id)
    nudge.user(turn.agent.owner_id)
    machine_id = turn.machine_id or turn.agent.machine_id
    if machine_id:
        nudge.machine(machine_id)


def audit_step(turn: Turn, what: str, *, who: str, decision: str) -> None:
    audit.write(
        turn.agent.owner_id, what, who=who, room=turn.room.name, agent=turn.agent, about=f"message {turn.entry.seq}",
        in_name_of=turn.principal.username if turn.principal else "", decision=decision,
    )  # fmt: skip
