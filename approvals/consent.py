"""Whether somebody's request may run on an agent, and the questions that a person has to answer."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from datetime import timedelta

from django.db.models import Q, QuerySet
from django.utils import timezone

from approvals import audit
from approvals.models import Approval, Grant, Turn
from messaging import log, nudge
from messaging.models import Entry
from rooms.access import lock_rooms
from rooms.errors import Conflict
from rooms.models import Agent, Member, User
from rooms.rules import rule

TOOL_LAPSES = timedelta(minutes=60)
FOUR_LAPSE = timedelta(minutes=15)
QUESTION_LAPSES = timedelta(days=1)
FOUR = ("push", "delete", "spend", "credentials", "unreadable")

WORDS = {
    "once": "approved",
    "always": "always allowed",
    "no": "declined",
    "lapsed": "lapsed to no",
    "gone": "withdrawn",
}


def grants_for(agent: Agent, member: Member) -> QuerySet[Grant]:
    """The grants that speak about this person on this agent now."""
    return (
        Grant.objects.filter(agent=agent)
        .filter(Q(member=member) | Q(person=member.user_id, person__isnull=False))
        .filter(Q(expires_at=None) | Q(expires_at__gt=timezone.now()))
    )


def level(agent: Agent, member: Member) -> Grant.Level:
    """What happens when this member asks this agent: the owner's own requests run; deny wins; else the room's word."""
    if member.user_id is not None and member.user_id == agent.owner_id:
        return Grant.Level.ALWAYS
    if member.user_id is None:
        return Grant.Level.ASK
    grants = list(grants_for(agent, member))
    levels = {grant.level for grant in grants}
    if Grant.Level.DENY in levels:
        return Grant.Level.DENY
    here = next((grant.level for grant in grants if grant.member_id is not None), None)
    everywhere = next((grant.level for grant in grants if grant.person_id is not None), None)
    return Grant.Level(here or everywhere or Grant.Level.ASK)


def may_answer(user: User, approval: Approval) -> bool:
    """The agent's owner, or the deputy whom they named; for a plain question also whoever asked for the turn."""
    turn = approval.turn
    if turn.agent.owner_id == user.pk or _is_deputy(user, turn.agent.owner):
        return True
    return (
        approval.subject == Approval.Subject.QUESTION
        and turn.principal_id == user.pk
        and Member.objects.filter(room=turn.room_id, user=user, left_at=None, role=Member.Role.MEMBER).exists()
    )


def _is_deputy(user: User, owner: User) -> bool:
    return owner.deputy_id == user.pk and owner.deputy_until is not None and owner.deputy_until > timezone.now()


def waiting_for(user: User) -> QuerySet[Approval]:
    """The open questions that this person may answer, oldest first."""
    deputised = Q(turn__agent__owner__deputy=user, turn__agent__owner__deputy_until__gt=timezone.now())
    asked = Q(
        subject=Approval.Subject.QUESTION,
        turn__principal=user,
        turn__room__in=Member.objects.filter(user=user, left_at=None, role=Member.Role.MEMBER).values("room"),
    )
    return (
        Approval.objects.filter(verdict="")
        .filter(Q(turn__agent__owner=user) | deputised | asked)
        .select_related(
            "turn__agent__owner", "turn__agent__machine", "turn__room", "turn__entry__author", "turn__principal"
        )
        .order_by("created_at", "pk")
    )


def action_digest(subject: str, action: str, options: Sequence[str] = ()) -> str:
    """SHA-256, hex, over exactly what is asked; an answer is bound to it."""
    form = json.dumps([subject, action, list(options)], ensure_ascii=False, separators=(",", ":"))
    return hashlib.sha256(form.encode()).hexdigest()


@rule
def ask_owner(
    turn: Turn,
    subject: str,
    *,
    title: str = "",
    action: str = "",
    short: str = "",
    key: str = "",
    options: Sequence[str] = (),
    call: str = "",
    connection: str = "",
    client_id: str = "",
) -> Approval:
    """Store a question. The same key again is the same question; with another action it is a Conflict."""
    title, action, short, options = log.clean(title), log.clean(action), log.clean(short), log.clean(list(options))
    bound = action_digest(subject, action, options)
    if key:
        known = Approval.objects.filter(turn=turn, key=key).first()
        if known is not None:
            if known.action_digest != bound:
                raise Conflict("That question was asked before with another action.")
            return known
    lapses = {Approval.Subject.START: None, Approval.Subject.QUESTION: QUESTION_LAPSES}.get(
        Approval.Subject(subject), FOUR_LAPSE if subject in FOUR else TOOL_LAPSES
    )
    approval = Approval.objects.create(
        turn=turn, key=key, subject=subject, title=title, action=action, short=short, options=options, call=call,
        action_digest=bound, expires_at=timezone.now() + lapses if lapses else None,
    )  # fmt: skip
    tell(approval, "asked", connection=connection, client_id=client_id)
    nudge.user(turn.agent.owner_id)
    if turn.agent.owner.deputy_id:
        nudge.user(turn.agent.owner.deputy_id)
    if subject == Approval.Subject.QUESTION and turn.principal_id:
        nudge.user(turn.principal_id)
    return approval


@rule
def decide(user: User, approval: Approval, *, verdict: str, note: str = "", in_room: bool = True) -> None:
    """Write the verdict if nobody was first; Conflict names who was. ``in_room``: the room may read the note."""
    now = timezone.now()
    won = (
        Approval.objects.filter(pk=approval.pk, verdict="", action_digest=approval.action_digest)
        .exclude(expires_at__lte=now)
        .update(verdict=verdict, note=log.clean(note), decided_by=user, decided_at=now)
    )
    if not won:
        raise Conflict(already(Approval.objects.select_related("decided_by").get(pk=approval.pk)))
    approval.verdict, approval.note, approval.decided_by, approval.decided_at = verdict, note, user, now
    tell(approval, verdict, by=user.username, note=note if in_room else "")
    turn = approval.turn
    audit.write(
        turn.agent.owner_id, f"answer {approval.subject}", who=user.username, room=turn.room.name,
        about=approval.action or approval.title, decision=verdict,
        in_name_of=turn.principal.username if turn.principal else "",
    )  # fmt: skip
    _changed(approval)


def already(approval: Approval) -> str:
    """Words for whoever came second."""
    if approval.verdict == "":
        return "The time to answer has passed; it lapses to no."
    if approval.decided_by is not None:
        return f"{approval.decided_by.username} was first: {WORDS[approval.verdict]}."
    return f"It no longer waits: {WORDS[approval.verdict]}."


def close(turn: Turn, verdict: str = "gone", *, keys: Sequence[str] | None = None) -> int:
    """End the open questions of a turn (or those with these keys) without a decision."""
    approvals = Approval.objects.filter(turn=turn, verdict="").select_related("turn__agent__owner", "turn__room")
    if keys is not None:
        approvals = approvals.filter(key__in=keys)
    closed = 0
    for approval in approvals.order_by("pk"):
        if Approval.objects.filter(pk=approval.pk, verdict="").update(verdict=verdict, decided_at=timezone.now()):
            closed += 1
            tell(approval, verdict)
            _changed(approval)
    return closed


def lapse() -> int:
    """Turn every question whose time is over into a no."""
    due = Approval.objects.filter(verdict="", expires_at__lte=timezone.now()).values_list("pk", "turn__room_id")
    return sum(_lapse(pk, room_id) for pk, room_id in list(due[:200]))


@rule
def _lapse(approval_id: int, room_id: int) -> int:
    lock_rooms([room_id])
    approval = Approval.objects.select_related("turn__agent__owner", "turn__room", "turn__entry").get(pk=approval_id)
    now = timezone.now()
    if not Approval.objects.filter(pk=approval_id, verdict="").update(verdict="lapsed", decided_at=now):
        return 0
    approval.verdict = "lapsed"
    tell(approval, "lapsed")
    audit.write(
        approval.turn.agent.owner_id, f"answer {approval.subject}", who="", room=approval.turn.room.name,
        about=approval.action or approval.title, decision="lapsed",
    )  # fmt: skip
    _changed(approval)
    return 1


def _changed(approval: Approval) -> None:
    turn = approval.turn
    nudge.user(turn.agent.owner_id)
    if turn.agent.owner.deputy_id:
        nudge.user(turn.agent.owner.deputy_id)
    if turn.principal_id and turn.principal_id != turn.agent.owner_id:
        nudge.user(turn.principal_id)
    machine_id = turn.machine_id or turn.agent.machine_id
    if machine_id:
        nudge.machine(machine_id)


def tell(
    approval: Approval, state: str, *, by: str = "", note: str = "", connection: str = "", client_id: str = ""
) -> None:
    """Append what became of a question to the room. The whole action is not in it."""
    turn = approval.turn
    seat = Member.objects.filter(room=turn.room_id, agent=turn.agent_id).first()
    log.append(
        turn.room_id,
        log.New(
            Entry.Kind.APPROVAL, author=seat, body=note, parent_seq=turn.entry.seq, principal=turn.principal_id,
            source_turn=turn.pk, connection=connection, client_id=client_id,
            data={
                "turn": turn.pk, "approval": approval.pk, "subject": approval.subject, "short": approval.short,
                "state": state, "by": by, "call": approval.call,
            },
        ),
    )  # fmt: skip
