"""An agent asks its owner something and goes on; the answer comes as mail. It grants nothing."""

from __future__ import annotations

from typing import Literal

from django.utils import timezone

from agentroom_machine.daemon.redact import Redactor
from agentroom_machine.wire import MAX_TEXT
from approvals import audit, consent, turns
from approvals.models import Approval, Turn
from messaging import mail
from rooms.access import seated
from rooms.errors import Invalid
from rooms.models import Member
from rooms.rules import rule

KINDS = {
    "push": "pushing",
    "delete": "deleting",
    "spend": "spending money",
    "credentials": "credentials",
    "other": "something",
}
MAX_OPEN = 20
"""Questions of one agent in one room that may wait at once."""

_redact = Redactor()


@rule
def ask_owner(
    seat: Member,
    turn: Turn | None,
    *,
    action: str,
    kind: Literal["push", "delete", "spend", "credentials", "other"],
    client_id: str,
    connection: str,
) -> int:
    """Put a question to the agent's owner and return its id at once. The answer lands in the agent's inbox.

    The owner sees it whole, the room a short form without secrets. A yes lets nothing pass that would be asked anyway.
    """
    if kind not in KINDS:
        raise Invalid("Say push, delete, spend, credentials or other.", field="kind")
    if not action.strip():
        raise Invalid("Say what you want to do.", field="action")
    if len(action) > MAX_TEXT:
        raise Invalid(f"A question holds at most {MAX_TEXT:,} characters.", field="action")
    author, turn = turns.speaking(seat, turn)
    assert author.agent is not None
    owner = seated(author.room_id).filter(user=author.agent.owner_id).first()
    short = mail.preview(_redact(action))
    entry, new = mail.store(
        author, body=short, to=[owner] if owner else [], client_id=client_id, connection=connection,
        subject=f"A question about {KINDS[kind]}", principal=turn.principal_id if turn else None,
        source_turn=turn.pk if turn else None, hop=turn.entry.hop + 1 if turn else 0,
        data={"asks": kind, "digest": consent.action_digest(Approval.Subject.ASK, action)},
    )  # fmt: skip
    if not new:
        return Approval.objects.get(turn__entry=entry, subject=Approval.Subject.ASK).pk
    open_ = Approval.objects.filter(
        turn__room=author.room_id, turn__agent=author.agent_id, subject=Approval.Subject.ASK, verdict=""
    )
    if open_.count() >= MAX_OPEN:
        raise Invalid(f"{MAX_OPEN} of your questions wait already. Wait for the answers.", field="action")
    now = timezone.now()
    asked = Turn.objects.create(
        room_id=author.room_id, entry=entry, agent=author.agent, principal=turn.principal if turn else None,
        cause="ask", status=Turn.Status.DONE, finished_at=now,
    )  # fmt: skip
    approval = consent.ask_owner(
        asked, Approval.Subject.ASK, title=f"{author.handle} asks about {KINDS[kind]}", action=action, short=short
    )
    audit.write(
        author.agent.owner_id, "ask owner", who=author.handle, room=author.room.name, agent=author.agent,
        about=f"message {entry.seq}", in_name_of=turn.principal.username if turn and turn.principal else "",
        decision=kind,
    )  # fmt: skip
    return approval.pk
