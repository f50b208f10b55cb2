"""What new entries change on an open page: parts that anybody who may read the room can be sent."""

from __future__ import annotations

from collections import OrderedDict, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

import orjson

from messaging import former
from messaging.models import Entry
from messaging.render import mail, reading, sections, timeline
from messaging.render.card import Card
from messaging.render.drawing import Part

MOST_CARDS = 50
"""Running turns of a room that are kept folded between frames."""
ROOT_KINDS = frozenset({"message", "joined", "left", "control", "status", "blanked"})


@dataclass
class Cards:
    """A room's running turns, folded as far as its page has been told."""

    known: OrderedDict[int, Card] = field(default_factory=OrderedDict)

    def keep(self, card: Card, cursor: int) -> None:
        """A card that was read further than its page is told now is not kept: the next frame draws it whole."""
        self.known.pop(card.turn, None)
        # Whether its machine answers is true for a moment only; each page asks again.
        card.facts = replace(card.facts, away=None)
        if not card.ended and card.seq <= cursor:
            self.known[card.turn] = card
            while len(self.known) > MOST_CARDS:
                self.known.popitem(last=False)


@dataclass(frozen=True)
class Frame:
    before: int
    cursor: int
    text: str
    """JSON, made once for everybody."""


def frame(room_id: int, before: int, cursor: int, entries: Sequence[Entry], cards: Cards | None = None) -> Frame:
    """The parts that bring a page from ``before`` to ``cursor``.

    With ``cards`` a running turn's new sections are drawn; without, each turn that changed is drawn whole.
    """
    parts: list[Part] = []
    turns: list[int] = []
    entries = former.named(room_id, entries)
    roots = [
        entry
        for entry in entries
        if entry.kind == Entry.Kind.MESSAGE or (entry.parent_seq is None and entry.kind in ROOT_KINDS)
    ]
    again = blanked_since(room_id, roots)
    items = reading.items(room_id, roots + again)
    fresh = {item.entry.seq for item in items}
    for item in items:
        parts.append(
            Part("entries", f"e{item.entry.seq}", how(item.entry, again), timeline.entry(item), item.entry.seq)
        )
        for card in item.cards:
            turns.append(card.turn)
            if cards is not None:
                cards.keep(card, cursor)
    parts += mail.parts(room_id, mail.touched(entries) - fresh)
    for turn_id, (parent, happened) in by_turn(entries).items():
        if cards is not None and any(entry.kind == Entry.Kind.BLANKED for entry in happened):
            cards.known.pop(turn_id, None)
        known = cards.known.get(turn_id) if cards is not None else None
        if known is not None:
            changed = known.fold(happened)
            parts += sections.changes(known, changed)
            if cards is not None:
                cards.keep(known, cursor)
            if "state" in changed:
                turns.append(turn_id)
        elif parent not in fresh and (whole := reading.card(room_id, turn_id)) is not None:
            parts.append(Part(f"e{parent}-cards", f"t{turn_id}-group", "append", sections.group(whole), whole.seq))
            turns.append(turn_id)
            if cards is not None:
                cards.keep(whole, cursor)
    return Frame(before, cursor, text_of(cursor, parts, turns, people=any(entry.kind in PEOPLE for entry in entries)))


def blanked_since(room_id: int, roots: Sequence[Entry]) -> list[Entry]:
    """Messages whose words went: open pages draw them again."""
    seqs = {seq for entry in roots if entry.kind == Entry.Kind.BLANKED for seq in entry.data.get("seqs", [])}
    again = seqs - {entry.seq for entry in roots}
    return list(Entry.objects.filter(room=room_id, seq__in=again).select_related("author").order_by("seq"))


def how(entry: Entry, again: Sequence[Entry]) -> Literal["append", "replace"]:
    """What is drawn again stays away from a page that begins after it: there it would stand above a hole."""
    return "replace" if entry in again else "append"


PEOPLE = frozenset({"joined", "left", "control", "status", "turn", "approval"})
"""After these the column of people may look different."""


def by_turn(entries: Sequence[Entry]) -> dict[int, tuple[int, list[Entry]]]:
    happened: dict[int, tuple[int, list[Entry]]] = defaultdict(lambda: (0, []))
    for entry in entries:
        turn = entry.data.get("turn")
        if entry.parent_seq is not None and isinstance(turn, int):
            if turn not in happened:
                happened[turn] = (entry.parent_seq, [])
            happened[turn][1].append(entry)
    return happened


def text_of(
    cursor: int, parts: Sequence[Part], turns: Sequence[int], *, people: bool = False, gap: bool = False
) -> str:
    shown = [
        {"seq": part.seq, "id": part.id, "target": part.target, "mode": part.mode, "html": part.html} for part in parts
    ]
    return orjson.dumps(
        {"cursor": cursor, "parts": shown, "turns": sorted(set(turns)), "people": people, "gap": gap}
    ).decode()
