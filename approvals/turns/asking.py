"""A request begins: consent and limits say whether it may run, or whom it waits for."""

from __future__ import annotations

from collections.abc import Sequence

from django.utils import timezone

from approvals import consent, limits
from approvals.models import Approval, Grant, Turn
from approvals.turns.steps import audit_step, end, notice, queue, tell
from messaging import mail, nudge
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
        spoke(entry)
        Member.objects.filter(pk=member.pk, read_seq__lt=entry.seq).update(read_seq=entry.seq)
        for seat in to:
            if seat.is_agent:
                begin(entry, seat, member)
    return entry


def spoke(entry: Entry) -> None:
    """A person wrote: agents that had paused among themselves go on."""
    if limits.person_spoke(entry):
        waiting = Turn.objects.filter(room=entry.room_id, cause="mail", status=Turn.Status.QUEUED)
        for machine_id in waiting.values_list("agent__machine", flat=True).distinct():
            if machine_id:
                nudge.machine(machine_id)


def begin(entry: Entry, seat: Member, principal: Member, *, retry_of: Turn | None = None) -> Turn:
    """A person's request to one agent."""
    turn = made(entry, seat, principal, retry_of=retry_of)
    admit(turn, seat, principal, action=entry.body)
    return turn


def made(
    entry: Entry, seat: Member, principal: Member | None, *, cause: str = "message", retry_of: Turn | None = None
) -> Turn:
    assert seat.agent is not None
    return Turn.objects.create(
        room_id=entry.room_id, entry=entry, agent=seat.agent, principal=principal.user if principal else None,
        cause=cause, status=Turn.Status.ASKED, retry_of=retry_of,
    )  # fmt: skip


def admit(turn: Turn, seat: Member, principal: Member | None, *, action: str, way: str = "") -> None:
    """Queue a request that may run, refuse one that may not, and put every other to the owner.

    ``action`` is what the owner is asked about; ``way`` names whom it came through, where that is more than one.
    """
    match consent.level(turn.agent, principal):
        case Grant.Level.DENY:
            who = principal.handle if principal else ""
            end(turn, Turn.Status.REFUSED, note=f"{turn.agent.owner.username} does not take requests from {who} here.")
            return
        case Grant.Level.ALWAYS if principal is not None and not (over := limits.reached(turn)):
            audit_step(turn, "ask", who=asker(turn), decision="granted")
            used(turn, principal)
            queue(turn, "asked")
            return
        case _:
            over = limits.reached(turn)
    audit_step(turn, "ask", who=asker(turn), decision="waits")
    tell(turn, "asked")
    put_to_owner(turn, seat, action=action, way=way, over=over)


def put_to_owner(turn: Turn, seat: Member, *, action: str, way: str = "", over: str = "") -> None:
    """Ask the owner whether a request may start, saying by which way it came and over which limit it goes."""
    if over:
        notice(turn, f"{over} {turn.agent.owner.username} can approve it or lift the limit.", limit=True)
    consent.ask_owner(
        turn, Approval.Subject.START, title=f"{asker(turn)} asks {seat.handle}", action=action,
        short=" · ".join(words for words in (way, over) if words),
    )  # fmt: skip


def asker(turn: Turn) -> str:
    """Whose words they are: for a receipt that of its writer, not of the agent that reads it."""
    author = turn.entry.author
    if turn.cause == "mail" and author is not None and author.agent_id == turn.agent_id:
        first = turn.mail.select_related("entry__author").order_by("entry__seq").first()
        author = first.entry.author if first is not None else author
    return author.handle if author else ""


def used(turn: Turn, principal: Member) -> None:
    consent.grants_for(turn.agent, principal).filter(level=Grant.Level.ALWAYS).update(last_used_at=timezone.now())
