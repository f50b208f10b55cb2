"""The questions of a turn: open ones stand below its card, decided ones are folded."""

from __future__ import annotations

from django.utils.html import format_html
from django.utils.safestring import SafeString

from messaging.render import words
from messaging.render.card import DECISIONS, Card, Question
from messaging.render.drawing import Part, draw, replaced, title


def question(card: Card, asked: Question) -> SafeString:
    """An open question as the room sees it."""
    return draw(
        "approvals/question.html", card=card, question=asked, standing=words.question(asked, card),
        short=title(asked.short), what=words.WAITS.get(asked.subject, ""),
    )  # fmt: skip


def decision(card: Card, asked: Question) -> SafeString:
    """One folded line: what was asked, and who decided what when."""
    standing = words.question(asked, card)
    return draw("approvals/_decision.html", asked=asked, about=title(words.about(asked)), words=standing.words)


def decided_line(card: Card) -> SafeString:
    return format_html('<summary id="t{}-decided-line">{}</summary>', card.turn, words.decided(card))


def decided(card: Card) -> SafeString:
    every = card.decided
    newest = every[-DECISIONS:]
    return draw(
        "approvals/_decided.html", card=card, line=decided_line(card), keep=DECISIONS,
        rows=SafeString("".join(decision(card, asked) for asked in newest)),
        before=newest[0].last_seq if len(every) > len(newest) else None,
    )  # fmt: skip


def asked_or_decided(card: Card, asked: Question) -> list[Part]:
    """A question comes below the card, and once decided it moves into the fold."""
    if asked in card.open_questions:
        return [Part(f"t{card.turn}-asks", f"q{asked.id}", "append", question(card, asked), asked.seq)]
    if asked not in card.decided:
        return []
    return [
        replaced(card, "decided-line", decided_line(card)),
        Part(f"t{card.turn}-decided-list", f"q{asked.id}", "append", decision(card, asked), asked.last_seq),
    ]
