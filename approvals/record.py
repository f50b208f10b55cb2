"""Facts that a machine reports become entries: each once, in the journal's order."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from django.utils import timezone

from agentroom_machine import wire
from agentroom_machine.daemon.redact import Redactor
from approvals import consent, turns
from approvals.models import Turn
from messaging import files, log
from messaging.models import Attachment, Entry
from rooms.access import lock_machine, lock_rooms
from rooms.errors import Conflict, Invalid
from rooms.models import Machine, Member
from rooms.rules import rule

AFTER_REVOCATION = timedelta(hours=1)
"""How long a revoked machine may still report what it was running."""

_redact = Redactor()


class Dropped(Exception):
    """A fact that can never be stored, and why."""


@rule
def record(machine: Machine, report: wire.Report) -> wire.Receipt:
    """Store a batch of facts. What is stored already is passed over; a gap in the numbers is a Conflict.

    A fact that can never be stored (another machine's turn, a file that never came) is dropped and named.
    """
    turn_ids = {item.turn_id for item in report.facts}
    lock_rooms(Turn.objects.filter(pk__in=turn_ids).values_list("room_id", flat=True))
    machine = lock_machine(machine.pk)
    if report.journal_id != machine.journal_id:
        raise Conflict("This journal is not the machine's present one.", code="superseded")
    # Read under the locks: what was there a moment ago can have gone with its room, or with a clean-up.
    found = {
        turn.pk: turn
        for turn in Turn.objects.filter(pk__in=turn_ids).select_related(
            "agent__owner", "agent__machine", "room", "entry", "principal"
        )
    }
    acked, refused = machine.journal_acked, {}
    for item in report.facts:
        if item.n <= acked:
            continue
        if item.n != acked + 1:
            raise Conflict(f"Fact {acked + 1} is missing before {item.n}.", code="journal_gap")
        try:
            _store(machine, found.get(item.turn_id), item)
        except Dropped as why:
            refused[item.n] = str(why)
        acked = item.n
    Machine.objects.filter(pk=machine.pk).update(journal_acked=acked)
    return wire.Receipt(acked=acked, refused=refused)


def _store(machine: Machine, turn: Turn | None, item: wire.Numbered) -> None:
    if (
        turn is None
        or turn.machine_id != machine.pk
        or turn.journal_id != machine.journal_id
        or turn.started_at is None
    ):
        raise Dropped("That turn did not start on this machine under this journal.")
    if machine.revoked_at is not None and (
        timezone.now() - machine.revoked_at > AFTER_REVOCATION
        or turn.started_at > machine.revoked_at
        or (turn.finished_at is not None and turn.finished_at < machine.revoked_at)
    ):
        raise Dropped("The machine was revoked.")
    late = turn.status != Turn.Status.RUNNING
    fact, seat = item.fact, Member.objects.filter(room=turn.room_id, agent=turn.agent_id).first()
    if seat is None:
        raise Dropped("The agent's seat is gone.")
    came = Came(client_id=f"{machine.journal_id}:{item.n}", connection=f"machine:{machine.pk}")
    about: dict[str, Any] = {"turn": turn.pk, **({"late": True} if late else {})}
    match fact:
        case wire.QuestionFact():
            _ask(turn, fact, late, came)
        case wire.QuestionGoneFact():
            consent.close(turn, keys=[fact.key])
        case wire.ArtifactFact():
            _store_artifact(turn, seat, machine, fact, about, came)
        case wire.UndoableFact():
            turns.keep_undo(turn, fact, _redact)
        case wire.UndoneFact():
            words = turns.undone(turn, fact, _redact)
            if words is not None:
                _append(turn, seat, Entry.Kind.NOTICE, words, {"turn": turn.pk, "undo": "done"}, came)
        case wire.EndFact() if turns.finish(
            turn,
            fact.state,
            reason=_redact(fact.reason),
            usage=fact.usage.model_dump() if fact.usage else {},
            client_id=came.client_id,
            connection=came.connection,
        ):
            pass
        case _:
            kind, body, data = _told(turn, fact)
            _append(turn, seat, kind, body, {**about, **data}, came)


@dataclass(frozen=True, slots=True)
class Came:
    """By which journal's number, over which connection."""

    client_id: str
    connection: str


def _append(turn: Turn, seat: Member, kind: Entry.Kind, body: str, data: dict[str, Any], came: Came) -> Entry:
    (entry,) = log.append(
        turn.room_id,
        log.New(
            kind,
            author=seat,
            body=body,
            data=data,
            parent_seq=turn.entry.seq,
            principal=turn.principal_id,
            source_turn=turn.pk,
            client_id=came.client_id,
            connection=came.connection,
        ),
    )
    return entry


def _told(turn: Turn, fact: wire.Fact) -> tuple[Entry.Kind, str, dict[str, Any]]:
    """What an entry says of a fact: kind, body, data. Secrets are taken out once more."""
    match fact:
        case wire.TextFact():
            return Entry.Kind.TEXT, _redact(fact.text), {"part": fact.part}
        case wire.PlanFact():
            items = [{"text": _redact(step.text), "state": step.state} for step in fact.items]
            return Entry.Kind.PLAN, "", {"items": items}
        case wire.ToolCallFact():
            data = fact.model_dump(include={"call", "tool", "state", "duration_ms", "output_cut"})
            return Entry.Kind.TOOL_CALL, _redact(fact.output), {**data, "title": _redact(fact.title)}
        case wire.FileChangeFact():
            # The owner's switch counts as it stands now, whatever the machine believed.
            diff = _redact(fact.diff) if turn.agent.share_diffs else ""
            data = {"path": _redact(fact.path), "change": fact.change, "plus": fact.plus, "minus": fact.minus}
            return Entry.Kind.FILE_CHANGE, diff, data
        case wire.EndFact():
            return Entry.Kind.NOTICE, f"Its machine reported later: {fact.state}. {_redact(fact.reason)}".strip(), {}
        case wire.NoticeFact():
            return Entry.Kind.NOTICE, _redact(fact.text), {}
    raise Dropped("This server does not know that kind of fact.")


def _ask(turn: Turn, fact: wire.QuestionFact, late: bool, came: Came) -> None:
    if late:
        return  # nobody waits for the answer any more
    if fact.subject == "question" and not fact.action.strip():
        raise Dropped("An empty question.")
    try:
        consent.ask_owner(
            turn,
            fact.subject,
            title=_redact(fact.title),
            action=fact.action,
            short=_redact(fact.short),
            key=fact.key,
            options=fact.options,
            call=fact.call,
            client_id=came.client_id,
            connection=came.connection,
        )
    except Conflict as error:
        raise Dropped(error.detail) from error


def _store_artifact(
    turn: Turn, seat: Member, machine: Machine, fact: wire.ArtifactFact, about: dict[str, Any], came: Came
) -> None:
    source = f"machine-{machine.pk}"
    try:
        size = files.there(source, fact.sha256)
    except Invalid:
        size = None
    if size is None:
        raise Dropped("The file's bytes never came.")
    name = _redact(fact.name.replace("\\", "/").rsplit("/", 1)[-1]) or "file"
    data = {**about, "name": name, "content_type": fact.content_type, "size": size, "sha256": fact.sha256}
    entry = _append(turn, seat, Entry.Kind.ARTIFACT, "", data, came)
    if not entry.attachments.exists():
        Attachment.objects.create(
            entry=entry, source=source, sha256=fact.sha256, name=name, content_type=fact.content_type, size=size
        )
