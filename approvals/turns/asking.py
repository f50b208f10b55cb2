"""A person asks."""

from __future__ import annotations

from collections.abc import Sequence

from django.utils import timezone

from approvals import consent
from approvals.models import Approval, Grant, Turn
from approvals.turns.steps import end, queue, tell
from messaging import mail
from messaging.models import Entry
from rooms.access import lock_rooms, writer_for
from rooms.models import Member, User
from rooms.rules import rule

WEB = "web"


@rule
def ask(user: User, room_id: int, *, body: str, client_id: str, files: Sequence[mail.File] = ()) -> Entry:
    """Post a person's message. Each agent that it addresses gets a request, which runs only if its owner lets it."""
    lock_rooms([room_id])
    member = writer_for(user, room_id)
    to = mail.addressed(member.room, member, body)
    entry, new = mail.store(
        member, body=body, to=to, client_id=client_id, connection=WEB, principal=user.pk, files=files
    )
    if new:
        Member.objects.filter(pk=member.pk, read_seq__lt=entry.seq).update(read_seq=entry.seq)
        for seat in to:
            if seat.is_agent:
                begin(entry, seat, member)
    return entry


def begin(entry: Entry, seat: Member, principal: Member, *, retry_of: Turn | None = None) -> Turn:
    agent = seat.agent
    assert agent is not None
    turn = Turn.objects.create(
        room_id=entry.room_id, entry=entry, agent=agent, principal=principal.user, status=Turn.Status.ASKED,
        retry_of=retry_of,
    )  # fmt: skip
    match consent.level(agent, principal):
        case Grant.Level.ALWAYS:
            used(turn, principal)
            queue(turn, "asked")
        case Grant.Level.DENY:
            end(
                turn,
                Turn.Status.REFUSED,
                note=f"{agent.owner.username} does not take requests from {principal.handle} here.",
            )
        case _:
            tell(turn, "asked")
            consent.ask_owner(
                turn, Approval.Subject.START, title=f"{principal.handle} asks {seat.handle}", action=entry.body
            )
    return turn


def used(turn: Turn, principal: Member) -> None:
    consent.grants_for(turn.agent, principal).filter(level=Grant.Level.ALWAYS).update(last_used_at=timezone.now())
