"""An agent passes something on: with the rights of the person behind it, or in nobody's name."""

from __future__ import annotations

from collections.abc import Sequence

from agentroom_machine.wire import MAX_TEXT
from approvals import consent, limits
from approvals.models import Approval, Grant, Mail, Turn
from approvals.turns.asking import admit, made
from approvals.turns.steps import end, notice
from messaging import log, mail
from messaging.models import Entry
from rooms.access import ABSENT, lock_rooms, seated
from rooms.errors import Invalid, NotFound, Refused
from rooms.models import Member
from rooms.rules import rule


@rule
def send(
    seat: Member,
    turn: Turn | None,
    *,
    to: Sequence[str],
    body: str,
    client_id: str,
    connection: str,
    subject: str = "",
    files: Sequence[mail.File] = (),
) -> Entry:
    """Store an agent's message for the members with these handles. What it mentions addresses nobody.

    ``turn`` is the running turn that the agent's token is bound to: its principal stands behind the message. Without
    one nobody does. Each agent among the recipients gets a request with that person's rights, never its sender's.
    """
    lock_rooms([seat.room_id])
    author = seated(seat.room_id).filter(pk=seat.pk, agent__isnull=False).select_related("room", "agent").first()
    if author is None or author.agent is None or author.agent.retired_at is not None:
        raise NotFound(ABSENT)
    if author.room.archived_at is not None:
        raise Refused("This room is archived. Nothing more can be written here.")
    if turn is not None:
        turn = Turn.objects.select_related("entry", "principal").get(pk=turn.pk)
        if turn.status != Turn.Status.RUNNING or turn.agent_id != author.agent_id or turn.room_id != author.room_id:
            raise Refused("The turn that you speak from has ended.")
    recipients = _named(author, to)
    entry, new = mail.store(
        author, body=body, to=recipients, client_id=client_id, connection=connection, files=files, subject=subject,
        principal=turn.principal_id if turn else None, source_turn=turn.pk if turn else None,
        hop=turn.entry.hop + 1 if turn else 0,
    )  # fmt: skip
    if new:
        if pause := limits.said(entry):
            log.append(entry.room_id, log.New(Entry.Kind.CONTROL, body=pause, data={"what": "exchange paused"}))
        for recipient in recipients:
            if recipient.is_agent:
                _request(entry, recipient, turn)
    return entry


def _named(author: Member, to: Sequence[str]) -> list[Member]:
    """The members with these handles; Invalid names those that nobody here has."""
    by_handle = {member.handle.casefold(): member for member in seated(author.room_id).select_related("agent__owner")}
    wanted = list(dict.fromkeys(handle.strip().lstrip("@").casefold() for handle in to))
    unknown = [handle for handle in wanted if handle not in by_handle or by_handle[handle].pk == author.pk]
    if unknown or not wanted:
        raise Invalid(f"Nobody to send it to here is called {', '.join(unknown) or 'so'}.", field="to")
    return [by_handle[handle] for handle in wanted]


def _request(entry: Entry, seat: Member, source: Turn | None) -> None:
    """Let the mail wait with what the same person has waiting for this agent, or make a request of its own."""
    principal = None
    if source is not None and source.principal_id is not None:
        principal = seated(entry.room_id).filter(user=source.principal_id, role=Member.Role.MEMBER).first()
        if principal is None:
            turn = made(entry, seat, None, cause="mail")
            end(turn, Turn.Status.REFUSED, note="The person behind it may no longer ask here.")
            return
        if _joined(entry, seat, principal):
            return
    turn = made(entry, seat, principal, cause="mail")
    if limits.paused(entry.room_id):
        notice(turn, "It waits until a person writes here.")
    admit(turn, seat, principal, action=entry.body, way=_way(entry, seat, principal))


def _joined(entry: Entry, seat: Member, principal: Member) -> bool:
    """Put the mail into a waiting turn of the same person, if what its owner said or is asked covers it."""
    waiting = Turn.objects.filter(
        room=entry.room_id, agent=seat.agent_id, principal=principal.user_id, cause="mail",
        status__in=["asked", "queued"],
    ).select_related("agent__owner", "agent__machine", "room", "entry__author", "principal")  # fmt: skip
    turn = waiting.order_by("-pk").first()
    if turn is None:
        return False
    question = Approval.objects.filter(turn=turn, subject=Approval.Subject.START).first()
    if question is None:
        if consent.level(turn.agent, principal) != Grant.Level.ALWAYS:
            return False
    else:
        # What was approved once covers what was read then, and nothing that came later.
        action = f"{question.action}\n\n{_way(entry, seat, principal)}:\n{entry.body}"
        question.turn = turn
        if turn.status != Turn.Status.ASKED or len(action) > MAX_TEXT:
            return False
        if not consent.ask_more(question, action=action, title=question.title, short=question.short):
            return False
    Mail.objects.create(turn=turn, entry=entry)
    notice(turn, f"Mail {entry.seq} waits with it.")
    return True


def _way(entry: Entry, seat: Member, principal: Member | None) -> str:
    """The whole chain, as the recipient's owner sees it: bob → claude → gemini."""
    links = [link.author.handle for link in limits.chain(entry) if link.author is not None]
    if principal is None:
        links.insert(0, "nobody")
    elif principal.handle not in links[:1]:
        links.insert(0, principal.handle)
    return " → ".join([*links, seat.handle])
