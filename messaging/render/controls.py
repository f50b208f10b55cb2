"""What one reader may do about a turn: forms for those who decide, nothing for the others."""

from __future__ import annotations

import uuid
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field

from django.http import HttpRequest
from django.utils import timezone
from django.utils.safestring import SafeString
from django.utils.text import Truncator

from approvals import consent, turns
from approvals.models import Approval, Turn
from messaging import sign_in
from messaging.render import words
from messaging.render.drawing import draw, title
from messaging.render.hidden import oddities, reveal
from messaging.render.markdown import markdown, mentions
from messaging.viewer import person
from rooms.access import seated

ACTS = {
    "push": "Approve this push", "delete": "Approve this deletion", "spend": "Approve this payment",
    "credentials": "Approve this use of credentials", "unreadable": "Approve this command",
    "tool": "Approve once",
}  # fmt: skip
LONGEST_TITLE = 160
"""Characters of a question's heading; the action below it is whole."""
RETRIABLE = frozenset({"failed", "stopped", "interrupted"})
ORDINALS = ("", "first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth")


@dataclass
class Own:
    """What a page adds for its reader: forms by turn, and questions as who may answer sees them."""

    forms: dict[int, SafeString] = field(default_factory=dict)
    questions: dict[int, SafeString] = field(default_factory=dict)
    blanks: frozenset[int] = frozenset()
    """Messages of which, or of whose turns, the reader may take something out."""


def for_turns(request: HttpRequest, turn_ids: Iterable[int]) -> Own:
    """The forms of these turns; the caller has already found out that the user may read their room."""
    own, user = Own(), person(request)
    rows = Turn.objects.filter(pk__in=list(turn_ids)).select_related(
        "agent__owner__deputy", "agent__machine", "machine", "principal", "room", "entry__author", "undo"
    )
    waiting: dict[int, list[Approval]] = defaultdict(list)
    asked = Approval.objects.filter(turn__in=rows, verdict="").select_related("turn__agent__owner").order_by("pk")
    for approval in asked:
        waiting[approval.turn_id].append(approval)
    for turn in rows:
        answerable = [approval for approval in waiting[turn.pk] if consent.may_answer(user, approval)]
        own.questions |= {
            approval.pk: question(request, approval, turn) for approval in answerable if approval.subject != "start"
        }
        start = next((approval for approval in answerable if approval.subject == "start"), None)
        own.forms[turn.pk] = forms(request, turn, start)
    return own


def forms(request: HttpRequest, turn: Turn, start: Approval | None, *, alone: bool = False) -> SafeString:
    user = person(request)
    owns, asked = turn.agent.owner_id == user.pk, turn.principal_id == user.pk
    if not (owns or asked or start):
        return SafeString("")
    waits = turn.status in Turn.WAITING
    machine = turn.machine or turn.agent.machine
    return draw(
        "approvals/controls.html",
        request,
        turn=turn,
        owns=owns,
        asked=asked,
        start=start,
        alone=alone,
        may_always=owns and turn.principal_id is not None,
        granted=start is not None and granted(turn),
        waits=waits,
        wrote=asked and turn.entry.author is not None and turn.entry.author.user_id == user.pk,
        place=place(turn) if turn.status in {"queued", "offered"} else "",
        machine=machine,
        machine_away=machine is None or not machine.connected,
        retriable=turn.status in RETRIABLE and turn.cause != "mail",
        undo=turn.undo if owns and turn.status in Turn.ENDED and hasattr(turn, "undo") else None,
        fresh=uuid.uuid4().hex,
    )


def granted(turn: Turn) -> bool:
    """Whether the person may start this agent anyway: then only a limit holds the request back."""
    seat = seated(turn.room_id).filter(user=turn.principal_id, user__isnull=False).first()
    return seat is not None and consent.level(turn.agent, seat) == "always"


def place(turn: Turn) -> str:
    number = turns.place(turn)
    return ORDINALS[number] if number < len(ORDINALS) else f"number {number}"


def question(
    request: HttpRequest, approval: Approval, turn: Turn, *, level: int = 3, alone: bool = False
) -> SafeString:
    """A question with the whole action and its form, for who may answer it; ``alone`` on a page of its own."""
    plain = approval.subject == Approval.Subject.QUESTION
    return draw(
        "approvals/decision.html",
        request,
        approval=approval,
        turn=turn,
        level=level,
        alone=alone,
        plain=plain,
        tone="danger" if approval.subject in consent.FOUR else "waiting",
        title=reveal(Truncator(approval.title or f"{turn.agent.handle} asks").chars(LONGEST_TITLE)),
        short=title(approval.short or "a question to the owner"),
        over=approval.expires_at is not None and approval.expires_at <= timezone.now(),
        asks=markdown(approval.action, breaks=True) if plain else "",
        command="" if plain else reveal(approval.action),
        odd=[] if plain else oddities(approval.action),
        what=words.WAITS.get(approval.subject, ""),
        act=ACTS.get(approval.subject, "Approve once"),
        is_four=approval.subject in consent.FOUR,
        unconfined="" if turn.machine is None else turn.machine.confined.get(str(turn.agent_id), ""),
        # The action says where it runs when that is elsewhere, and always on a machine that says so.
        placed=f"\nin {turn.agent.workdir}\n" in f"\n{approval.action}\n",
        whole=consent.whole(approval),
        wants=wants(request) if approval.subject in consent.FOUR else "",
        owns=turn.agent.owner_id == person(request).pk,
        asked_text=turn.entry.body[:80],
    )


def wants(request: HttpRequest) -> str:
    """What approving one of the four kinds asks of this reader first."""
    user = person(request)
    if sign_in.recently(request, user):
        return ""
    return "asks for your passkey" if sign_in.has_passkey(user) else "asks you to sign in once more"


def start_alone(request: HttpRequest, approval: Approval) -> SafeString:
    """A request to start on a page of its own, with the message that asks."""
    turn = approval.turn
    return draw(
        "approvals/start_alone.html",
        request,
        turn=turn,
        html=markdown(turn.entry.body, mentions=mentions(turn.entry.data), breaks=True),
        form=forms(request, turn, approval, alone=True),
    )
