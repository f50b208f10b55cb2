"""A request on its way: asked, queued, offered, running, ended. Each step is one conditional UPDATE."""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from datetime import datetime
from typing import Any

from django.db.models import QuerySet
from django.utils import timezone

from approvals import audit, consent
from approvals.models import Approval, Grant, Turn
from messaging import log, mail, nudge
from messaging.models import Entry
from rooms.access import ABSENT, lock_rooms, member_for, seated, writer_for
from rooms.errors import Conflict, Invalid, NotFound, Refused
from rooms.models import Machine, Member, User
from rooms.rules import rule

RETRIABLE = (Turn.Status.FAILED, Turn.Status.STOPPED, Turn.Status.INTERRUPTED)
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
                _begin(entry, seat, member)
    return entry


def _begin(entry: Entry, seat: Member, principal: Member, *, retry_of: Turn | None = None) -> Turn:
    agent = seat.agent
    assert agent is not None
    turn = Turn.objects.create(
        room_id=entry.room_id, entry=entry, agent=agent, principal=principal.user, status=Turn.Status.ASKED,
        retry_of=retry_of,
    )  # fmt: skip
    match consent.level(agent, principal):
        case Grant.Level.ALWAYS:
            _used(turn, principal)
            _queue(turn, "asked")
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


def _used(turn: Turn, principal: Member) -> None:
    consent.grants_for(turn.agent, principal).filter(level=Grant.Level.ALWAYS).update(last_used_at=timezone.now())


def _queue(turn: Turn, come_from: str, *, by: str = "") -> None:
    won = Turn.objects.filter(pk=turn.pk, status=come_from).update(status=Turn.Status.QUEUED, queued_at=timezone.now())
    if not won:
        raise Conflict("The request has ended meanwhile.")
    turn.status = Turn.Status.QUEUED
    tell(turn, "queued", by=by)
    if turn.agent.machine_id:
        nudge.machine(turn.agent.machine_id)


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
            _queue(turn, "asked", by=user.username)
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


# --- the machine's side ---------------------------------------------------------------------------------------------


def allowed(turn: Turn) -> str:
    """Empty when the turn may start now; else why not, in words for the room. Read under the room's lock."""
    seat = Member.objects.filter(room=turn.room_id, agent=turn.agent_id, left_at=None).first()
    if seat is None or turn.agent.retired_at is not None:
        return "The agent has left the room."
    if turn.room.archived_at is not None:
        return "The room was archived."
    principal = (
        seated(turn.room_id).filter(user=turn.principal_id, role=Member.Role.MEMBER).first()
        if turn.principal_id
        else None
    )
    if principal is None:
        return "Whoever asked may no longer ask here."
    level = consent.level(turn.agent, principal)
    if level == Grant.Level.DENY:
        return f"{turn.agent.owner.username} no longer takes requests from {principal.handle}."
    approved = Approval.objects.filter(
        turn=turn, subject=Approval.Subject.START, verdict__in=["once", "always"]
    ).exists()
    if level != Grant.Level.ALWAYS and not approved:
        return "The permission ended before it could start."
    return ""


def queue_of(agent_ids: Sequence[int]) -> QuerySet[Turn]:
    """What waits to run on these agents, in order."""
    return (
        Turn.objects.filter(agent__in=agent_ids, status=Turn.Status.QUEUED)
        .select_related("agent__owner", "agent__machine", "room", "entry__author", "principal")
        .order_by("pk")
    )


def offer(turn: Turn, machine: Machine) -> bool:
    """Offer a queued turn to its machine; ends it when consent no longer stands. Under the room's lock."""
    if why := allowed(turn):
        end(turn, Turn.Status.CANCELLED, note=why)
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


def take_back(turn: Turn) -> bool:
    """An offer that nobody will start goes back into the queue, at its old place."""
    won = Turn.objects.filter(pk=turn.pk, status=Turn.Status.OFFERED).update(
        status=Turn.Status.QUEUED, machine=None, claim_id="", journal_id=""
    )
    return bool(won)


@rule
def start(machine: Machine, turn_id: int, *, claim_id: str, journal_id: str) -> datetime | str:
    """Let an offered turn run if consent still stands: since when, or why not (which is then stored).

    The same claim again gets the same answer.
    """
    turn = _for_machine(turn_id)
    if turn is None or turn.machine_id != machine.pk or turn.claim_id != claim_id or turn.journal_id != journal_id:
        raise Conflict("That turn is not offered to this machine.")
    lock_rooms([turn.room_id])
    turn = _for_machine(turn_id)
    if turn is None or turn.claim_id != claim_id:
        raise Conflict("That turn is not offered to this machine.")
    if turn.status == Turn.Status.RUNNING and turn.started_at is not None:
        return turn.started_at
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
    now = timezone.now()
    if not Turn.objects.filter(pk=turn.pk, status=Turn.Status.OFFERED, claim_id=claim_id).update(
        status=Turn.Status.RUNNING, started_at=now
    ):
        raise Conflict("That turn may not run any more.")
    turn.status, turn.started_at = Turn.Status.RUNNING, now
    tell(turn, "running")
    _audit(turn, "start", who=turn.agent.handle, decision="running")
    return now


def _for_machine(turn_id: int) -> Turn | None:
    return (
        Turn.objects.select_related("agent__owner", "agent__machine", "room", "entry", "principal")
        .filter(pk=turn_id)
        .first()
    )


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
        status=state, finished_at=timezone.now(), note=log.clean(reason)[:2000], usage=usage or {}
    )
    if not won:
        return False
    turn.refresh_from_db()
    consent.close(turn)
    tell(turn, state, note=reason, client_id=client_id, connection=connection)
    _audit(turn, "end", who=turn.agent.handle, decision=state)
    _told(turn)
    return True


# --- ending what has not started -------------------------------------------------------------------------------------


def end(turn: Turn, status: str, *, by: User | None = None, note: str = "") -> bool:
    """Refuse or cancel a turn that has not started; its questions close. Under the room's lock."""
    won = Turn.objects.filter(pk=turn.pk, status__in=Turn.WAITING).update(
        status=status, finished_at=timezone.now(), note=log.clean(note)[:2000], ended_by=by
    )
    if not won:
        return False
    turn.status, turn.note, turn.ended_by = Turn.Status(status), note, by
    consent.close(turn)
    tell(turn, status, by=by.username if by else "", note=note)
    _audit(turn, "end", who=by.username if by else "", decision=status)
    _told(turn)
    return True


@rule
def cancel(user: User, turn_id: int) -> Turn:
    """The asker or the agent's owner takes back a request that has not started."""
    turn = own_turn(user, turn_id)
    if not end(turn, Turn.Status.CANCELLED, by=user):
        raise Conflict(
            "It has started or ended meanwhile." if turn.status != "running" else "It runs already: stop it."
        )
    return turn


@rule
def change(user: User, turn_id: int, *, body: str, client_id: str) -> Entry:
    """Put other words in the place of a request that has not started. What was approved covers the old words alone."""
    turn = own_turn(user, turn_id)
    if turn.principal_id != user.pk or turn.entry.author is None or turn.entry.author.user_id != user.pk:
        raise Refused("Only who wrote a request can change it.")
    known = _known(turn, user, client_id)
    if known is not None:
        return known
    member = writer_for(user, turn.room_id)
    seat = _seat(turn)
    entry, _ = mail.store(
        member, body=body, to=[seat], client_id=client_id, connection=WEB, principal=user.pk,
        data={"changes": turn.entry.seq}, files=_files(turn.entry),
    )  # fmt: skip
    if not end(turn, Turn.Status.CANCELLED, by=user, note=f"Changed: see {entry.seq}."):
        raise Conflict("It has started meanwhile, and can't be changed any more.")
    _begin(entry, seat, member)
    return entry


@rule
def retry(user: User, turn_id: int, *, client_id: str) -> Entry:
    """Ask the same again after it failed, was stopped or interrupted: same principal, fresh consent."""
    turn = own_turn(user, turn_id)
    known = _known(turn, user, client_id)
    if known is not None:
        return known
    if turn.status not in RETRIABLE:
        raise Conflict("Only what failed, was stopped or was interrupted can be asked again.")
    seat = _seat(turn)
    principal = seated(turn.room_id).filter(user=turn.principal_id, role=Member.Role.MEMBER).first()
    if turn.principal_id is None or principal is None:
        raise Refused("Whoever asked first may no longer ask here. Write a message of your own.")
    author = member_for(user, turn.room_id)
    entry, _ = mail.store(
        author, body=turn.entry.body, to=[seat], client_id=client_id, connection=WEB, principal=turn.principal_id,
        data={"again": turn.entry.seq}, files=_files(turn.entry),
    )  # fmt: skip
    _begin(entry, seat, principal, retry_of=turn)
    return entry


def own_turn(user: User, turn_id: int) -> Turn:
    """A turn that this person asked for or whose agent is theirs, its room locked; NotFound for everybody else."""
    turn = _for_machine(turn_id)
    if turn is None:
        raise NotFound(ABSENT)
    lock_rooms([turn.room_id])
    turn = _for_machine(turn_id)
    if turn is None or user.pk not in (turn.principal_id, turn.agent.owner_id):
        raise NotFound(ABSENT)
    if turn.agent.owner_id != user.pk:
        member_for(user, turn.room_id)
    return turn


def _known(turn: Turn, user: User, client_id: str) -> Entry | None:
    """The entry that this very click stored before, when its answer was lost."""
    return Entry.objects.filter(
        room=turn.room_id, author__user=user, connection=WEB, client_id=client_id, kind=Entry.Kind.MESSAGE
    ).first()


def _seat(turn: Turn) -> Member:
    seat = seated(turn.room_id).filter(agent=turn.agent_id).select_related("agent__owner").first()
    if seat is None or turn.agent.retired_at is not None:
        raise Refused("The agent has left the room.")
    return seat


def _files(entry: Entry) -> list[mail.File]:
    return [
        mail.File(file.source, file.sha256, file.name, file.content_type, file.size) for file in entry.attachments.all()
    ]


def place(turn: Turn) -> int:
    """The place in the queue, 1 for the next; counts this room's requests only."""
    return (
        Turn.objects.filter(
            room=turn.room_id, agent=turn.agent_id, status__in=[Turn.Status.QUEUED, Turn.Status.OFFERED], pk__lt=turn.pk
        ).count()
        + 1
    )


def tell(turn: Turn, state: str, *, by: str = "", note: str = "", client_id: str = "", connection: str = "") -> None:
    """Append a turn's new state to its room."""
    seat = Member.objects.filter(room=turn.room_id, agent=turn.agent_id).first()
    log.append(
        turn.room_id,
        log.New(
            Entry.Kind.TURN, author=seat, parent_seq=turn.entry.seq, principal=turn.principal_id, source_turn=turn.pk,
            data={"turn": turn.pk, "agent": seat.pk if seat else None, "state": state, "by": by, "note": note},
            client_id=client_id, connection=connection,
        ),
    )  # fmt: skip


def _told(turn: Turn) -> None:
    if turn.principal_id:
        nudge.user(turn.principal_id)
    nudge.user(turn.agent.owner_id)
    machine_id = turn.machine_id or turn.agent.machine_id
    if machine_id:
        nudge.machine(machine_id)


def _audit(turn: Turn, what: str, *, who: str, decision: str) -> None:
    audit.write(
        turn.agent.owner_id, what, who=who, room=turn.room.name, about=f"{turn.agent.handle}: {turn.entry.body[:2000]}",
        in_name_of=turn.principal.username if turn.principal else "", decision=decision,
    )  # fmt: skip
