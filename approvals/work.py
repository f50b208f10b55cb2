"""What a machine may hear and say: one sync that tells it what it lacks, and the facts that it reports."""

from __future__ import annotations

import logging
from collections.abc import Collection, Sequence
from datetime import datetime, timedelta
from typing import Any

from django.conf import settings
from django.db import OperationalError, transaction
from django.utils import timezone

from agentroom_machine import wire
from approvals import mailbox, turns
from approvals.models import Approval, Turn
from messaging import log, nudge
from messaging.models import Entry, Recipient
from rooms.access import lock_machine, lock_rooms
from rooms.errors import Conflict
from rooms.models import Agent, Machine, Member
from rooms.rules import rule

logger = logging.getLogger(__name__)
CONTEXT_MESSAGES = 20
CONTEXT_CHARACTERS = 8_000
LOST_AFTER = timedelta(seconds=60)
"""How long a running turn may be missing from its machine's report: longer than a held sync is old."""


@rule
def hello(machine: Machine, request: wire.SyncRequest) -> Machine:
    """A daemon begins: it gets the next epoch, and whoever had the last one is refused from now on.

    Another daemon with another journal is refused while the first one is there. A new journal ends what the old one
    ran: its outcome is not known.
    """
    old = Turn.objects.filter(machine=machine, status__in=["offered", "running"])
    lock_rooms(old.values_list("room_id", flat=True))
    machine = lock_machine(machine.pk)
    other_journal = machine.journal_id not in ("", request.journal_id)
    if other_journal and machine.connected and machine.instance != request.instance:
        raise Conflict(
            f"Another daemon with this identity was here {_ago(machine.last_seen_at)}. Stop that one first; "
            f"if it is dead, try again in {wire.ONLINE_FOR} seconds.",
            code="second_daemon",
        )
    if machine.journal_id != request.journal_id:
        for turn in old.exclude(journal_id=request.journal_id).select_related(
            "agent__owner", "agent__machine", "room", "entry", "principal"
        ):
            turns.take_back(turn)
            turns.finish(turn, "interrupted", reason=f"{machine.name} lost its journal while this ran.")
        machine.journal_id, machine.journal_acked = request.journal_id, 0
    machine.epoch += 1
    machine.instance = request.instance
    machine.save(update_fields=["epoch", "instance", "journal_id", "journal_acked"])
    _seats_look(machine)
    return machine


def _ago(at: datetime | None) -> str:
    return "just now" if at is None else f"{int((timezone.now() - at).total_seconds())} s ago"


def check_epoch(machine: Machine, epoch: int | None, instance: str | None = None) -> None:
    """Conflict for a daemon that another one has followed."""
    if epoch != machine.epoch or (instance is not None and instance != machine.instance):
        raise Conflict("Another daemon with this identity started after this one.", code="superseded")


def seen(machine_id: int, request: wire.SyncRequest) -> None:
    """Note that the machine called, and what it said of its agents. Its rooms look when that changes their status."""
    machine = Machine.objects.get(pk=machine_id)
    was, now = machine.connected, timezone.now()
    asleep = sorted(request.asleep)
    problems = {str(agent): log.clean(why) for agent, why in sorted(request.problems.items())}
    confined = {str(agent): log.clean(why) for agent, why in sorted(request.confined.items())}
    before = (machine.asleep, machine.problems, machine.confined, machine.draining)
    changed = not was or before != (asleep, problems, confined, request.draining)
    if not changed and machine.last_seen_at is not None and now - machine.last_seen_at < timedelta(seconds=8):
        return
    _note(machine, last_seen_at=now, asleep=asleep, problems=problems, confined=confined, draining=request.draining)
    if changed:
        _seats_look(machine)


@rule
def _note(machine: Machine, **said: Any) -> None:
    Machine.objects.filter(pk=machine.pk).update(**said)


def _seats_look(machine: Machine) -> None:
    for room_id in (
        Member.objects.filter(agent__machine=machine, left_at=None).values_list("room_id", flat=True).distinct()
    ):
        nudge.room(room_id)
    nudge.user(machine.owner_id)


@rule
def sync(machine: Machine, request: wire.SyncRequest, *, since: datetime) -> tuple[wire.SyncReply, bool]:
    """What the machine lacks, and whether that is anything. ``since``: when this call began.

    A lost reply costs one round and nothing else: what is offered, decided or stopped is told again until the
    machine's report shows that it knows.
    """
    held = {*request.offers, *request.running}
    agents = list(Agent.objects.filter(machine=machine, retired_at=None).select_related("owner").order_by("pk"))
    rooms = {
        *Turn.objects.filter(agent__in=agents, status="queued").values_list("room_id", flat=True),
        *Turn.objects.filter(machine=machine, status__in=["offered", "running"]).values_list("room_id", flat=True),
    }
    locked = lock_rooms(rooms)
    mine = list(
        Turn.objects.filter(machine=machine, status__in=["offered", "running"]).select_related(
            "agent__owner", "agent__machine", "room", "entry__author", "principal"
        )
    )
    # What came into another room meanwhile waits for the next sync: that room may go while this one looks.
    here = [turn for turn in mine if turn.room_id in locked]
    _end_lost(here, machine, held)
    offers = [turn for turn in here if turn.status == "offered" and turn.pk not in held]
    if not request.draining:
        offers += _new_offers(machine, request, agents, mine, locked)
    alive = {
        turn.pk for turn in mine if turn.status in ("offered", "running") and turn.journal_id == machine.journal_id
    }
    withdrawn = [turn_id for turn_id in (*request.offers, *request.running) if turn_id not in alive]
    stop = [turn.pk for turn in mine if turn.status == "running" and turn.stop_asked_at and turn.pk in request.running]
    verdicts = _verdicts(machine, request, since)
    undo = turns.undos_waiting(machine)
    reply = wire.SyncReply(
        epoch=machine.epoch,
        server_time=timezone.now(),
        agents=[config(agent) for agent in agents],
        offers=[_as_offer(turn) for turn in offers],
        withdrawn=withdrawn,
        stop=stop,
        verdicts=verdicts,
        undo=undo,
        keep=_keep(machine),
        max_running=machine.max_running,
    )
    return reply, bool(offers or withdrawn or stop or verdicts or undo)


def _end_lost(mine: Sequence[Turn], machine: Machine, held: set[int]) -> None:
    """A turn that runs here but that the machine no longer knows has an unknown outcome."""
    for turn in mine:
        lost = turn.pk not in held and turn.status == "running" and turn.journal_id == machine.journal_id
        if lost and turn.started_at and timezone.now() - turn.started_at > LOST_AFTER:
            turns.finish(turn, "interrupted", reason=f"{machine.name} no longer knows of it; its outcome is not known.")


def _new_offers(
    machine: Machine,
    request: wire.SyncRequest,
    agents: Sequence[Agent],
    mine: Sequence[Turn],
    rooms: Collection[int],
) -> list[Turn]:
    busy = {turn.agent_id for turn in mine if turn.status in ("offered", "running")}
    ready = [a.pk for a in agents if a.pk in request.ready and a.pk not in busy and a.paused_at is None]
    active = sum(turn.status in ("offered", "running") for turn in mine)
    slots = min(request.slots, machine.max_running - active)
    offers: list[Turn] = []
    for turn in turns.queue_of(ready).filter(room__in=list(rooms)):
        if len(offers) >= slots:
            break
        if turn.cause == "mail" and not _is_live(turn, request) and not turn.agent.wake_for_mail:
            continue  # mail starts no process
        if turn.agent_id not in busy and _offered(turn, machine):
            busy.add(turn.agent_id)
            offers.append(turn)
    return offers


def _offered(turn: Turn, machine: Machine) -> bool:
    """Offer it, or step over it where that fails: one request must not keep a machine from all that others wait for."""
    try:
        with transaction.atomic():
            return turns.offer(turn, machine)
    except OperationalError:
        raise  # a deadlock or a lock: the whole rule is tried again
    except Exception:
        logger.exception("Request %d can't be offered; it waits.", turn.pk)
        return False


def _is_live(turn: Turn, request: wire.SyncRequest) -> bool:
    """Whether the agent has a session in this very room; of an older daemon, whether it has one anywhere."""
    if request.live is None:
        return turn.agent_id not in request.asleep
    return any((session.agent_id, session.room_id) == (turn.agent_id, turn.room_id) for session in request.live)


def _keep(machine: Machine) -> list[wire.Kept]:
    """Sessions of agents that wrote to somebody in the last day and have no answer yet."""
    awaited = Recipient.objects.filter(awaited_until__gt=timezone.now()).values("entry__author")
    seats = Member.objects.filter(agent__machine=machine, left_at=None, pk__in=awaited).order_by("pk")
    return [wire.Kept(agent_id=seat.agent_id, room_id=seat.room_id) for seat in seats if seat.agent_id]


def _verdicts(machine: Machine, request: wire.SyncRequest, since: datetime) -> list[wire.Verdict]:
    decided = (
        Approval.objects.filter(turn__machine=machine).exclude(key="").exclude(verdict="").select_related("decided_by")
    )
    known = decided.filter(key__in=request.questions)
    # Asked after the report was written, and answered already: the report can't list it.
    fresh = decided.filter(decided_at__gte=since, turn__status="running").exclude(key__in=request.questions)
    return [
        wire.Verdict(
            key=approval.key,
            verdict="once" if approval.verdict in ("once", "always") else "no",
            answer=approval.note if approval.decided_by else "",
            decided_by=approval.decided_by.username if approval.decided_by else "",
        )
        for approval in [*known, *fresh]
    ]


def config(agent: Agent) -> wire.AgentConfig:
    """An agent as its machine needs to know it."""
    return wire.AgentConfig(
        id=agent.pk, handle=agent.handle, display_name=agent.display_name, role=agent.role, runtime=agent.runtime,
        workdir=agent.workdir, model=agent.model, share_diffs=agent.share_diffs,
        worktree_per_room=agent.worktree_per_room, wake_for_mail=agent.wake_for_mail,
        paused=agent.paused_at is not None,
    )  # fmt: skip


def _as_offer(turn: Turn) -> wire.Offer:
    seat = Member.objects.get(room=turn.room_id, agent=turn.agent_id)
    messages = turns.messages(turn)
    author = messages[0].author
    letters = turns.name_in_offer(turn)
    return wire.Offer(
        turn_id=turn.pk,
        claim_id=turn.claim_id,
        agent_id=turn.agent_id,
        room_id=turn.room_id,
        room=turn.room.name,
        memory=seat.memory,
        principal=turn.principal.username if turn.principal else "",
        principal_is_owner=turn.principal_id == turn.agent.owner_id,
        cause="mail" if turn.cause == "mail" else "message",
        author=author.handle if author else "",
        body=_waits(len(letters)) if turn.cause == "mail" else turn.entry.body,
        notices=_notices(letters),
        mcp_url=f"{settings.PUBLIC_URL}/mcp",
        attachments=[
            wire.Attached(sha256=file.sha256, name=file.name, content_type=file.content_type, size=file.size)
            for entry in messages
            for file in entry.attachments.all()
        ],
        context=_context(turn, seat),
        agent=config(turn.agent),
    )


def _waits(count: int) -> str:
    """All that a mail turn says; who wrote and how the letters begin stands in its notices."""
    some = f"At least {count}" if count >= turns.MOST_NOTICES else str(count)
    letters = "A letter waits" if count == 1 else f"{some} letters wait"
    return f"{letters} in your inbox. Read with agents_read_inbox, and answer with agents_reply or agents_ack."


def _notices(letters: Sequence[Recipient]) -> list[wire.Notice]:
    """Who wrote, about what, and how it begins: never the whole text."""
    return [
        wire.Notice(
            number=letter.number, from_=letter.from_handle, subject=letter.subject,
            preview=mailbox.preview(letter.body) if letter.kind in ("message", "answer") else letter.kind,
            in_the_name_of=letter.in_the_name_of or "",
        )
        for letter in mailbox.as_letters(letters)
    ]  # fmt: skip


def _context(turn: Turn, seat: Member) -> list[wire.Said]:
    """What people and agents said in the room since this agent's last turn there, newest kept when it is too much."""
    last = (
        Turn.objects.filter(
            room=turn.room_id, agent=turn.agent_id, started_at__isnull=False, entry__seq__lt=turn.entry.seq
        )
        .order_by("-entry__seq")
        .values_list("entry__seq", flat=True)
        .first()
    )
    seen_from = max(last or 0, 0)
    messages = (
        Entry.objects.filter(room=turn.room_id, kind="message", seq__gt=seen_from, seq__lt=turn.entry.seq)
        .exclude(author=seat)
        .select_related("author")
        .order_by("-seq")[:CONTEXT_MESSAGES]
    )
    said: list[wire.Said] = []
    room_left = CONTEXT_CHARACTERS
    for entry in messages:
        body = entry.body[:2000]
        if not body:
            continue  # a file alone, or blanked
        room_left -= len(body)
        if room_left < 0:
            break
        author = entry.author
        said.append(
            wire.Said(
                seq=entry.seq, author=author.handle if author else "", is_agent=bool(author and author.is_agent),
                at=entry.created_at, body=body,
            )
        )  # fmt: skip
    return said[::-1]
