"""The owner's answer to what an agent asked goes back to it as mail."""

from __future__ import annotations

from django.utils import timezone

from approvals import consent
from approvals.models import Approval, Grant, Mail, Turn
from approvals.turns.asking import admit, made
from approvals.turns.inbox import let_in
from approvals.turns.steps import end, queue
from messaging import log, nudge
from messaging.models import Entry, Recipient
from rooms.access import principal_for, seated
from rooms.models import Member, User


def hear(approval: Approval, by: User | None) -> None:
    """Put an answer into the inbox of the agent that asked. Under the room's lock, once the verdict is written.

    It comes in the name of whoever stood behind the question, so it gives no more rights than the agent had. Whoever
    answers lets the agent hear exactly these words, and nothing else.
    """
    asked = approval.turn
    seat = seated(asked.room_id).filter(agent=asked.agent_id).select_related("agent__owner").first()
    if seat is None:
        return
    words = {"once": "Yes.", "no": "No.", "lapsed": "Nobody answered in time."}[approval.verdict]
    author = seated(asked.room_id).filter(user=by).first() if by else None
    [entry] = log.append(
        asked.room_id,
        log.New(
            Entry.Kind.MESSAGE, author=author, body=f"{words} {approval.note}".strip(), subject=asked.entry.subject,
            parent_seq=asked.entry.seq, principal=asked.principal_id, source_turn=asked.entry.source_turn,
            hop=asked.entry.hop, connection="web" if by else "",
            data={
                "answers": approval.pk, "verdict": approval.verdict, "by": by.username if by else "",
                "mentions": [{"handle": seat.handle, "member": seat.pk, "agent": True}],
            },
        ),
    )  # fmt: skip
    by_hand = asked.entry.source_turn is None
    Recipient.objects.create(
        entry=entry, member=seat, seq=entry.seq, principal=asked.principal_id
    )  # fmt: skip
    nudge.inbox(seat.pk)
    if not by_hand:
        _wake(entry, seat, asked, by)


def _wake(entry: Entry, seat: Member, asked: Turn, by: User | None) -> None:
    principal = principal_for(asked.principal_id, entry.room_id)
    if asked.principal_id is not None and principal is None:
        turn = made(entry, seat, None, cause="mail")
        end(turn, Turn.Status.REFUSED, note="The person behind it may no longer ask here.")
        return
    waiting = Turn.objects.filter(
        room=entry.room_id, agent=seat.agent_id, principal=asked.principal_id, cause="mail", status="queued",
    ).exclude(approvals__subject="start")  # fmt: skip
    level = consent.level(asked.agent, principal)
    if level == Grant.Level.ALWAYS and (open_ := waiting.order_by("-pk").first()) is not None:
        Mail.objects.create(turn=open_, entry=entry)
        let_in(open_, [entry.pk])
        return
    turn = made(entry, seat, principal, cause="mail")
    if level != Grant.Level.ASK or by is None:
        admit(turn, seat, principal, action=entry.body)
        return
    Approval.objects.create(
        turn=turn, subject=Approval.Subject.START, title=f"{by.username} answers {seat.handle}", action=entry.body,
        short="an answer", action_digest=consent.action_digest(Approval.Subject.START, entry.body), verdict="once",
        decided_by=by, decided_at=timezone.now(),
    )  # fmt: skip
    queue(turn, "asked", by=by.username)
