"""A turn's card in sections, each an element with an id of its own, so that one can change without the others."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from django.utils.html import format_html
from django.utils.safestring import SafeString

from messaging.render import words
from messaging.render.card import FILES, NEWEST_STEPS, NOTICES, PICTURES, Card, Passage, Produced, Step
from messaging.render.drawing import Part, draw, replaced, title
from messaging.render.hidden import reveal
from messaging.render.markdown import MOST, markdown
from messaging.render.questions import asked_or_decided, decided, question
from messaging.render.terminal import tail, terminal

RASTER = frozenset({"image/png", "image/jpeg", "image/gif", "image/webp"})
INLINE = RASTER | {"image/svg+xml"}


def state(card: Card) -> SafeString:
    return draw("approvals/_state.html", card=card, standing=words.turn(card))


def hint(card: Card) -> SafeString:
    """One sentence about what happens next, or why it ended so."""
    return draw("approvals/_hint.html", card=card, start=card.asks_to_start)


def passage(card: Card, shown: Passage) -> SafeString:
    text = shown.text
    return draw("approvals/_passage.html", card=card, passage=shown, html=markdown(text), cut=len(text) > MOST)


def texts(card: Card) -> SafeString:
    inner = SafeString("".join(passage(card, shown) for shown in card.open_passages))
    return format_html('<div class="stack" id="t{}-texts">{}</div>', card.turn, inner)


def plan(card: Card) -> SafeString:
    done = sum(1 for item in card.plan if item.get("state") == "done")
    running = next((item.get("text", "") for item in card.plan if item.get("state") == "running"), "")
    return draw("approvals/_plan.html", card=card, done=done, total=len(card.plan), running=running)


def step(card: Card, shown: Step | Passage) -> SafeString:
    """One folded line: a finished step, or a passage that newer ones followed."""
    if isinstance(shown, Passage):
        return draw("approvals/_said.html", card=card, passage=shown, html=markdown(shown.text[:4_000]))
    ended_open = card.ended and shown.state == "running"
    return draw(
        "approvals/_step.html", card=card, step=shown, icon=words.step_icon(shown), title=title(shown.title),
        unfinished=ended_open,
    )  # fmt: skip


def history(card: Card) -> SafeString:
    finished = card.finished
    newest = finished[-NEWEST_STEPS:]
    return draw(
        "approvals/_history.html", card=card, any=bool(finished) or card.unread_steps > 0, line=words.history(card),
        steps=SafeString("".join(step(card, item) for item in newest)), keep=NEWEST_STEPS,
        before=newest[0].seq if newest and (len(finished) > len(newest) or not card.whole) else None,
    )  # fmt: skip


def history_line(card: Card) -> SafeString:
    return format_html('<summary id="t{}-history-line">{}</summary>', card.turn, words.history(card))


def open_steps(card: Card) -> SafeString:
    shown = []
    for running in card.open_steps:
        end, cut = tail(running.output)
        shown.append(
            {
                "step": running, "icon": words.step_icon(running), "title": title(running.title),
                "output": terminal(end), "cut": cut or running.output_cut > 0,
            }
        )  # fmt: skip
    return draw("approvals/_open_steps.html", card=card, steps=shown)


def is_picture(produced: Produced) -> bool:
    return produced.content_type in INLINE


def produced(card: Card) -> SafeString:
    pictures = [one for one in card.produced if is_picture(one)]
    others = [one for one in card.produced if not is_picture(one)]
    return draw(
        "approvals/_produced.html", card=card, pictures=pictures[-PICTURES:], others=others[-FILES:],
        left_out=max(0, len(pictures) - PICTURES) + max(0, len(others) - FILES),
    )  # fmt: skip


def files(card: Card) -> SafeString:
    shown = [{"file": file, "path": reveal(file.path)} for file in list(card.files.values())[-FILES:]]
    return draw("approvals/_files.html", card=card, files=shown, left_out=max(0, len(card.files) - FILES))


def notices(card: Card) -> SafeString:
    return draw("approvals/_notices.html", card=card, notices=card.notices[-NOTICES:])


def away(card: Card) -> SafeString:
    """What is not known while the machine does not answer; empty while it does."""
    return draw("approvals/_away.html", card=card, away=card.facts.away)


SECTIONS: dict[str, Callable[[Card], SafeString]] = {
    "state": state, "hint": hint, "texts": texts, "plan": plan, "history": history, "open": open_steps,
    "produced": produced, "files": files, "notices": notices,
}  # fmt: skip


def group(card: Card, *, controls: str = "", questions: Mapping[int, str] | None = None) -> SafeString:
    """The whole card with its questions. ``controls`` and ``questions`` are what this reader alone sees."""
    own = questions or {}
    return draw(
        "approvals/turn.html", card=card, controls=controls,
        sections={name: section(card) for name, section in SECTIONS.items()},
        away=away(card), decided=decided(card),
        questions=[own.get(asked.id) or question(card, asked) for asked in card.open_questions],
    )  # fmt: skip


def changes(card: Card, changed: Iterable[str]) -> list[Part]:
    """What to change on a page that shows the card as it was before these sections changed."""
    parts: list[Part] = []
    names = set(changed)
    if "state" in names:
        names.add("hint")
    parts += [replaced(card, name, section(card)) for name, section in SECTIONS.items() if name in names - {"history"}]
    for name in sorted(names):
        kind, _, key = name.partition(":")
        shown = card.passages.get(key) if kind == "text" else None
        if shown is not None and "texts" not in names and shown in card.open_passages:
            parts.append(replaced(card, shown.key, passage(card, shown)))
    for number in sorted(int(name.removeprefix("question:")) for name in names if name.startswith("question:")):
        parts += asked_or_decided(card, card.questions[number])
    return parts + folded(card, names) if "history" in names else parts


def folded(card: Card, names: set[str]) -> list[Part]:
    """What was newly folded goes to its place in the list; the rest of the list is not drawn again."""
    new: list[Step | Passage] = [card.steps[name[5:]] for name in names if name.startswith("step:")]
    new += [card.passages[name[5:]] for name in names if name.startswith("said:")]
    if len(new) >= len(card.finished):
        return [replaced(card, "history", history(card))]
    newest = sorted(new, key=lambda item: item.seq)[-NEWEST_STEPS:]
    return [
        replaced(card, "history-line", history_line(card)),
        *(
            Part(f"t{card.turn}-history-list", f"t{card.turn}-{item.key}", "append", step(card, item), item.seq)
            for item in newest
        ),
    ]
