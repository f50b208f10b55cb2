"""An agent passes something on: with the rights of the person behind it, or in nobody's name."""

from __future__ import annotations

from collections.abc import Sequence
from difflib import get_close_matches

from agentroom_machine.wire import MAX_TEXT
from approvals import consent, limits
from approvals.models import Approval, Grant, Mail, Turn
from approvals.turns.asking import admit, made
from approvals.turns.inbox import about, inbox, let_in
from approvals.turns.steps import end, notice
from messaging import log, mail
from messaging.models import Entry, Recipient
from rooms.access import ABSENT, lock_rooms, principal_for, seated, seated_agents
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
    topic: str = "general",
    ticket: str = "",
    files: Sequence[mail.File] = (),
) -> Entry:
    """Store an agent's message for the members with these handles, or with ``"all"`` for every other agent here.

    ``turn`` is the running turn that the agent's token is bound to: its principal stands behind the message. Without
    one nobody does. Each agent among the recipients gets a request with that person's rights, never its sender's.
    What it mentions addresses nobody. The same connection and ``client_id`` again is the same message, whoever came
    or went meanwhile.
    """
    author, turn = speaking(seat, turn)
    wanted = _handles(to)
    before = _stored(author, connection, client_id)
    if before is not None and not files and wanted == _addressed(before):
        given = (mail.line(subject, "subject"), mail.topic_of(topic), mail.line(ticket, "ticket"), None)
        if _says(before, body) and given == (before.subject, before.topic, before.ticket, before.parent_seq):
            return before
    named = _named(author, wanted)
    everybody = wanted == ["all"] != [member.handle.casefold() for member in named]
    return _pass(
        author, turn, to=named, body=body, client_id=client_id, connection=connection, subject=subject,
        topic=topic, ticket=ticket, files=files, data={"all": True} if everybody else None,
    )  # fmt: skip


@rule
def reply(seat: Member, turn: Turn | None, *, message: int, body: str, client_id: str, connection: str) -> Entry:
    """Answer a message in the caller's inbox: to its author, attached to it, in its topic."""
    author, turn = speaking(seat, turn)
    before = _stored(author, connection, client_id)
    if before is not None and before.parent_seq == message and _says(before, body):
        return before
    answered = letter(author, turn, message)
    back = seated(author.room_id).filter(pk=answered.author_id or 0).select_related("agent__owner").first()
    if back is None:
        raise Refused("Whoever wrote that has left the room.")
    entry = _pass(
        author, turn, to=[back], body=body, client_id=client_id, connection=connection,
        subject=answered.subject, topic=answered.topic, ticket=answered.ticket, parent_seq=answered.seq,
    )  # fmt: skip
    was_answered(answered, author)
    return entry


def speaking(seat: Member, turn: Turn | None) -> tuple[Member, Turn | None]:
    """The agent's seat and its running turn as they are now, the room locked; NotFound for a seat that is none."""
    lock_rooms([seat.room_id])
    author = seated_agents(seat.room_id).filter(pk=seat.pk).select_related("room", "agent__owner").first()
    if author is None or author.agent is None or author.agent.retired_at is not None:
        raise NotFound(ABSENT)
    if author.room.archived_at is not None:
        raise Refused("This room is archived. Nothing more can be written here.")
    if turn is not None:
        turn = Turn.objects.select_related("entry", "principal").get(pk=turn.pk)
        if turn.status != Turn.Status.RUNNING or turn.agent_id != author.agent_id or turn.room_id != author.room_id:
            raise Refused("The turn that you speak from has ended.")
    return author, turn


def letter(seat: Member, turn: Turn | None, message: int) -> Entry:
    """A message that is in this inbox, or that the turn is about; NotFound for every other number."""
    own = Recipient.objects.filter(member=seat, seq=message, entry__kind=Entry.Kind.MESSAGE)
    if turn is not None and not own.filter(entry__in=about(turn)).exists():
        own = own.filter(pk__in=inbox(seat, turn).values("pk"))
    found = own.filter(seq__gt=seat.read_seq).select_related("entry__author").first()
    if found is None:
        raise NotFound(f"Message {message} is not in your inbox.")
    return found.entry


def was_answered(entry: Entry, by: Member) -> None:
    """Whoever wrote it waits for this recipient no longer."""
    Recipient.objects.filter(entry=entry, member=by).update(awaited_until=None)


def request(entry: Entry, seat: Member, source: Turn | None, *, on: Entry | None = None) -> None:
    """Let the mail wait with what the same person has waiting for this agent, or make a request of its own.

    ``on``: for a receipt, the agent's own message that it is about.
    """
    principal = None
    if source is not None and source.principal_id is not None:
        principal = principal_for(source.principal_id, entry.room_id)
        if principal is None:
            turn = _made(entry, seat, None, on)
            end(turn, Turn.Status.REFUSED, note="The person behind it may no longer ask here.")
            return
        if _joined(entry, seat, principal):
            return
    turn = _made(entry, seat, principal, on)
    if limits.paused(entry.room_id):
        notice(turn, "It waits until a person writes here.")
    admit(turn, seat, principal, action=entry.body or entry.kind, way=_way(entry, seat, principal))


def _made(entry: Entry, seat: Member, principal: Member | None, on: Entry | None) -> Turn:
    turn = made(on or entry, seat, principal, cause="mail")
    if on is not None:
        Mail.objects.create(turn=turn, entry=entry)
    return turn


def _pass(
    author: Member,
    turn: Turn | None,
    *,
    to: Sequence[Member],
    body: str,
    client_id: str,
    connection: str,
    subject: str = "",
    topic: str = "general",
    ticket: str = "",
    parent_seq: int | None = None,
    files: Sequence[mail.File] = (),
    data: dict[str, object] | None = None,
) -> Entry:
    entry, new = mail.store(
        author, body=body, to=to, client_id=client_id, connection=connection, files=files, data=data, subject=subject,
        topic=topic, ticket=ticket, parent_seq=parent_seq,
        principal=turn.principal_id if turn else None, source_turn=turn.pk if turn else None,
        hop=turn.entry.hop + 1 if turn else 0,
    )  # fmt: skip
    if new:
        if pause := limits.said(entry):
            log.append(entry.room_id, log.New(Entry.Kind.CONTROL, body=pause, data={"what": "exchange paused"}))
        for recipient in to:
            if recipient.is_agent:
                request(entry, recipient, turn)
    return entry


def _stored(author: Member, connection: str, client_id: str) -> Entry | None:
    """What this very call stored before."""
    key = mail.line(client_id, "client_id")
    messages = Entry.objects.filter(author=author, connection=connection, kind=Entry.Kind.MESSAGE)
    return messages.filter(client_id=key).first() if key else None


def _says(entry: Entry, body: str) -> bool:
    given: str = log.clean(body.replace("\r\n", "\n"))
    return entry.body == given


def _addressed(entry: Entry) -> list[str]:
    """For whom it was, as its author named them."""
    return ["all"] if "all" in entry.data else [one["handle"].casefold() for one in entry.data.get("mentions", [])]


def _handles(to: Sequence[str]) -> list[str]:
    given = [to] if isinstance(to, str) else to
    return list(dict.fromkeys(log.clean(handle).strip().lstrip("@").casefold() for handle in given))


def _named(author: Member, wanted: Sequence[str]) -> list[Member]:
    """The members with these handles; Invalid names those that nobody here has, and who may be meant."""
    others = list(seated(author.room_id).exclude(pk=author.pk).select_related("agent__owner").order_by("pk"))
    by_handle = {member.handle.casefold(): member for member in others}
    if wanted == ["all"] and "all" not in by_handle:
        agents = [member for member in others if member.is_agent]
        if not agents:
            raise Invalid("There is no other agent here.", field="to")
        return agents
    unknown = [handle for handle in wanted if handle not in by_handle]
    if not wanted or unknown == [""]:
        raise Invalid("Say to whom: one or several handles, or all.", field="to")
    if unknown:
        raise Invalid(" ".join(_nobody(handle, by_handle) for handle in unknown[:20]), field="to")
    return [by_handle[handle] for handle in wanted]


def _nobody(handle: str, known: dict[str, Member]) -> str:
    near = get_close_matches(handle, known, n=3, cutoff=0.5)
    meant = f" Did you mean {' or '.join(near)}?" if near else ""
    return f"Nobody to send it to here is called {mail.preview(handle, 40)}.{meant}"


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
        action = f"{question.action}\n\n{_way(entry, seat, principal)}:\n{entry.body or entry.kind}"
        question.turn = turn
        if turn.status != Turn.Status.ASKED or len(action) > MAX_TEXT:
            return False
        if not consent.ask_more(question, action=action, title=question.title, short=question.short):
            return False
    Mail.objects.create(turn=turn, entry=entry)
    if turn.status == Turn.Status.QUEUED:
        let_in(turn, [entry.pk])
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
