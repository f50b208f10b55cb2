"""How a turn, a step or a question stands, in words."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from django.utils.html import format_html
from django.utils.safestring import SafeString

from messaging.render.card import Away, Card, Question, Step
from messaging.templatetags.look import duration, person, when

ICONS = {
    "read": "file", "edit": "pencil", "delete": "trash", "move": "file", "search": "search", "execute": "terminal",
    "think": "list", "fetch": "globe",
}  # fmt: skip
DECIDED = {
    "once": "approved", "always": "allowed always", "no": "declined", "lapsed": "lapsed to no", "gone": "withdrawn",
}  # fmt: skip

WAITS = {
    "push": "What pushes or publishes", "delete": "What deletes", "spend": "What may cost money",
    "credentials": "What touches secrets", "unreadable": "What can’t be understood by reading it",
}  # fmt: skip
"""The beginning of a sentence that says why a question of this kind is asked."""


@dataclass(frozen=True)
class Standing:
    state: str
    """Which of the stylesheet's states."""
    words: SafeString


def since(at: datetime | None) -> SafeString:
    """A duration that the browser keeps counting."""
    if at is None:
        return SafeString("")
    return format_html(', <time data-since="{}" aria-live="off"></time>', at.isoformat(timespec="milliseconds"))


def turn(card: Card) -> Standing:
    took = f" in {duration(card.ran_for)}" if card.ran_for is not None else ""
    after = f" after {duration(card.ran_for)}" if card.ran_for is not None else ""
    by = format_html(" by {}", person(card.by)) if card.by else SafeString("")
    match card.state:
        case "asked":
            return Standing("waiting", format_html("waiting for {}", person(card.facts.owner)))
        case "queued" | "offered":
            return Standing("queued", SafeString("queued"))
        case "running" | "stopping" if card.facts.away:
            return away(card.facts.away)
        case "running" if card.waits_for_a_person:
            return Standing("waiting", waits_for(card))
        case "running":
            return Standing("working", format_html("working{}", since(card.started_at)))
        case "stopping":
            return Standing("working", SafeString("stopping…"))
        case "done":
            return Standing("done", SafeString(f"done{took}"))
        case "failed":
            return Standing("failed", SafeString(f"failed{after}"))
        case "stopped":
            return Standing("stopped", format_html("stopped{}", by))
        case "interrupted":
            return Standing("interrupted", SafeString("interrupted, outcome unknown"))
        case "refused":
            return Standing("refused", format_html("declined{}", by))
        case "cancelled":
            return Standing("cancelled", format_html("cancelled{}", by))
    return Standing(card.state, SafeString(card.state))


def away(machine: Away) -> Standing:
    if machine.stop_waits:
        return Standing("offline", SafeString("stop recorded, waiting for the machine"))
    if machine.since is None:
        return Standing("offline", SafeString("offline"))
    return Standing("offline", format_html("offline since {}", when(machine.since, "both")))


def waits_for(card: Card) -> SafeString:
    asks_asker = any(question.open and question.subject == "question" for question in card.open_questions)
    if asks_asker and card.facts.principal and card.facts.principal != card.facts.owner:
        return format_html("waiting for {} or {}", person(card.facts.principal), person(card.facts.owner))
    return format_html("waiting for {}", person(card.facts.owner))


def question(asked: Question, card: Card) -> Standing:
    if asked.open:
        return Standing("waiting", format_html("waiting for {}", person(card.facts.owner)))
    by = format_html(" by {}", person(asked.by)) if asked.by else SafeString("")
    answered = asked.subject == "question" and asked.state == "once"
    word = "answered" if answered else DECIDED.get(asked.state, asked.state)
    state = {"no": "refused", "once": "done", "always": "done"}.get(asked.state, asked.state)
    return Standing(state, format_html("{}{}, {}", word, by, when(asked.at)))


def decided(card: Card) -> SafeString:
    """The line under which decisions are folded."""
    all_of_them = card.decided
    if not all_of_them:
        return SafeString("")
    last = all_of_them[-1]
    if len(all_of_them) == 1:
        return format_html("1 decision: {}", question(last, card).words)
    declined = sum(1 for asked in all_of_them if asked.state == "no")
    counted = f"{len(all_of_them):,} decisions" + (f", {declined:,} declined" if declined else "")
    by = format_html("by {}", person(last.by)) if last.by else DECIDED.get(last.state, last.state)
    return format_html("{}, the last {} at {}", counted, by, when(last.at))


def about(asked: Question) -> str:
    """What a question was about, as the room may read it."""
    return asked.short or {"question": "A question", "start": "Start"}.get(asked.subject, "A request")


def step_icon(step: Step) -> str:
    return ICONS.get(step.tool, "gear")


def history(card: Card) -> str:
    """The line under which finished steps are folded."""
    count = card.finished_steps
    if not count:
        return "Earlier text"
    steps = f"{count:,} step{'s' if count > 1 else ''}"
    if not card.ended:
        steps = f"{count:,} finished step{'s' if count > 1 else ''}"
    seconds = [step.seconds for step in card.steps.values() if step.seconds is not None]
    return f"{steps}, {duration(sum(seconds))}" if seconds and not card.unread_steps else steps
