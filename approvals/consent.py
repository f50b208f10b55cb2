"""Whether somebody's request may run on an agent, and the questions that a person has to answer."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from datetime import datetime, timedelta

from django.db.models import Q, QuerySet
from django.utils import timezone

from agentroom_machine.wire import MAX_TEXT
from approvals import audit
from approvals.models import AnswerTimes, Approval, Grant, Turn
from messaging import log, nudge
from messaging.models import Entry
from rooms.errors import Conflict, Refused
from rooms.models import Agent, Member, User
from rooms.rules import rule

FOUR = ("push", "delete", "spend", "credentials", "unreadable")
"""What always pauses, whatever was granted, and wants a recent sign-in: the four kinds, and what nobody could read."""

WORDS = {
    "once": "approved",
    "always": "always allowed",
    "no": "declined",
    "lapsed": "lapsed to no",
    "gone": "withdrawn",
}
ENDS = {"interrupted": "the work was interrupted", "stopped": "the work was stopped", "failed": "the work failed"}
"""Why a question was withdrawn, where the work has ended before it could be answered."""


def grants_for(agent: Agent, member: Member) -> QuerySet[Grant]:
    """The grants that speak about this person on this agent now."""
    return (
        Grant.objects.filter(agent=agent)
        .filter(Q(member=member) | Q(person=member.user_id, person__isnull=False))
        .filter(Q(expires_at=None) | Q(expires_at__gt=timezone.now()))
    )


def level(agent: Agent, member: Member | None) -> Grant.Level:
    """What happens when this member asks this agent: the owner's own requests run; deny wins; else the room's word.

    Where nobody stands behind a request, the owner is asked.
    """
    if member is None or member.user_id is None:
        return Grant.Level.ASK
    if member.user_id == agent.owner_id:
        return Grant.Level.ALWAYS
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
    return hashlib.sha256(form.encode("utf-8", "surrogatepass")).hexdigest()


def whole(approval: Approval) -> bool:
    """Whether what is stored is exactly what was asked. What can't be shown whole can't be approved."""
    return approval.action_digest == action_digest(approval.subject, approval.action, approval.options)


def lapses_at(agent: Agent, subject: str) -> datetime | None:
    """When a question that is asked now lapses to no; None for never."""
    times = AnswerTimes.objects.filter(agent=agent).first() or AnswerTimes()
    minutes = {
        "start": times.start_minutes, "question": times.question_minutes, "ask": times.question_minutes,
    }.get(subject, times.four_minutes if subject in FOUR else times.tool_minutes)  # fmt: skip
    return timezone.now() + timedelta(minutes=minutes) if minutes else None


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
    """Store a question. The same key again is the same question; with another action it is a Conflict.

    Its digest is over what was asked. Where that can't be stored or shown as it is, the two differ ever after.
    """
    bound = action_digest(subject, action, options)
    title, action, short, options = log.clean(title), log.clean(action), log.clean(short), log.clean(list(options))
    if key:
        known = Approval.objects.filter(turn=turn, key=key).first()
        if known is not None:
            if known.action_digest != bound:
                raise Conflict("That question was asked before with another action.")
            return known
    again = None
    if subject == Approval.Subject.START:
        # Let in without an answer, and waiting once more: it is the same question, and its card shows it as such.
        gone = Approval.objects.filter(turn=turn, subject=subject, verdict=Approval.Verdict.GONE)
        again = gone.values_list("pk", flat=True).first()
    approval = Approval(
        pk=again, turn=turn, key=key, subject=subject, title=title[:2000], action=action[:MAX_TEXT], short=short[:2000],
        options=options, call=call, action_digest=bound, expires_at=lapses_at(turn.agent, subject),
    )  # fmt: skip
    approval.save()
    tell(approval, "asked", connection=connection, client_id=client_id)
    nudge.user(turn.agent.owner_id)
    if turn.agent.owner.deputy_id:
        nudge.user(turn.agent.owner.deputy_id)
    if subject == Approval.Subject.QUESTION and turn.principal_id:
        nudge.user(turn.principal_id)
    return approval


@rule
def ask_more(approval: Approval, *, action: str, title: str, short: str) -> bool:
    """Put more into an open question: whoever read the old one can't answer it any more. False when it was decided."""
    bound = action_digest(approval.subject, action, approval.options)
    won = Approval.objects.filter(pk=approval.pk, verdict="", action_digest=approval.action_digest).update(
        action=log.clean(action)[:MAX_TEXT], action_digest=bound, title=title[:2000], short=short[:2000]
    )
    if won:
        approval.action, approval.action_digest, approval.title, approval.short = action, bound, title, short
        tell(approval, "asked")
        _changed(approval)
    return bool(won)


@rule
def decide(user: User, approval: Approval, *, verdict: str, note: str = "", in_room: bool = True) -> None:
    """Write the verdict if nobody was first; Conflict names who was. ``in_room``: the room may read the note."""
    if verdict != "no" and not whole(approval):
        raise Refused("This can't be shown whole, so it can't be approved. Decline it.")
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
    _audit(approval, who=user.username)
    _changed(approval)


def _audit(approval: Approval, *, who: str = "") -> None:
    turn = approval.turn
    # A request's words are the room's, and may be cleaned up; an action was put to the owner.
    said = approval.subject in (Approval.Subject.START, Approval.Subject.QUESTION)
    audit.write(
        turn.agent.owner_id, f"answer {approval.subject}", who=who, room=turn.room.name, agent=turn.agent,
        about=f"message {turn.entry.seq}" if said else approval.action or approval.title, decision=approval.verdict,
        in_name_of=turn.principal.username if turn.principal else "",
    )  # fmt: skip


def already(approval: Approval) -> str:
    """Words for whoever came second."""
    if approval.verdict == "":
        return "The time to answer has passed; it lapses to no."
    if approval.decided_by is not None:
        return f"{approval.decided_by.username} was first: {WORDS[approval.verdict]}."
    ended = approval.turn.status if approval.verdict == "gone" else ""
    return f"It no longer waits: {ENDS.get(ended, WORDS[approval.verdict])}."


def close(turn: Turn, verdict: str = "gone", *, keys: Sequence[str] | None = None) -> int:
    """End the open questions of a turn (or those with these keys) without a decision."""
    approvals = Approval.objects.filter(turn=turn, verdict="")
    if keys is not None:
        approvals = approvals.filter(key__in=keys)
    return sum(end_undecided(pk, verdict) for pk in approvals.order_by("pk").values_list("pk", flat=True))


def end_undecided(approval_id: int, verdict: str) -> bool:
    """Write ``gone`` or ``lapsed`` where nobody decided. Under the room's lock."""
    if not Approval.objects.filter(pk=approval_id, verdict="").update(verdict=verdict, decided_at=timezone.now()):
        return False
    approval = Approval.objects.select_related(
        "turn__agent__owner", "turn__room", "turn__entry", "turn__principal"
    ).get(pk=approval_id)
    tell(approval, verdict)
    _audit(approval)
    _changed(approval)
    return True


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
