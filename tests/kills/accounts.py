"""Three accounts of the same work: the agent's own list, the machine's journal, and the room."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.live import StoredEntry

ACTS = {"look", "read", "write", "ran"}
APART = {"question_gone", "undoable", "undone"}
"""Facts that need not become an entry: they settle something, or are for the owner alone."""


def lines(path: Path) -> list[dict[str, Any]]:
    if not path.exists():
        return []
    return [json.loads(line) for line in path.read_text().splitlines()]


def journaled(path: Path) -> list[dict[str, Any]]:
    """What ``fragile`` wrote down of the journal: a line for each fact that the journal holds, with its number.

    A fact that was to be added, and of which nothing was heard after, is in the journal if a number is missing there.
    """
    held: list[dict[str, Any]] = []
    announced: list[dict[str, Any]] = []
    for line in lines(path):
        if line["n"] is None:
            announced.append(line)
            continue
        last = held[-1]["n"] if held else 0
        held += [unheard | {"n": n} for n, unheard in zip(range(last + 1, line["n"]), announced, strict=False)]
        held.append(line)
        announced.clear()
    return held


@dataclass(frozen=True)
class Done:
    """What the agent says that it did."""

    words: list[str]
    acts: list[str]
    begun: list[str]
    """The commands that it began."""

    @classmethod
    def read(cls, path: Path, *, after: int = 0) -> Done:
        own = lines(path)[after:]
        said = " ".join(line["text"] for line in own if line["did"] == "say")
        begun = [line["command"] for line in own if line["did"] == "run"]
        return cls(said.split(), [line["did"] for line in own if line["did"] in ACTS], begun)


@dataclass(frozen=True)
class Shown:
    """What the room shows of one turn."""

    words: list[str]
    begun: list[str]
    done: list[str]
    files: list[str]
    pictures: list[str]
    states: list[str]

    @classmethod
    def read(cls, entries: Iterable[StoredEntry], turn_id: int) -> Shown:
        own = [entry for entry in entries if entry.data.get("turn") == turn_id]
        calls = {entry.data["call"]: entry.data["state"] for entry in own if entry.kind == "tool_call"}
        return cls(
            words="".join(entry.body for entry in own if entry.kind == "text").split(),
            begun=list(calls),
            done=[call for call, state in calls.items() if state in {"done", "failed"}],
            files=[entry.data["path"] for entry in own if entry.kind == "file_change"],
            pictures=[entry.data["name"] for entry in own if entry.kind == "artifact"],
            states=[entry.data["state"] for entry in own if entry.kind == "turn"],
        )


def same(entries: Iterable[StoredEntry], journal: Path, turn_id: int) -> None:
    """The room holds each of the journal's facts about the turn: once, in order, and no other."""
    held = {line["n"]: line["fact"] for line in journaled(journal) if line["turn"] == turn_id}
    told = [entry for entry in entries if entry.data.get("turn") == turn_id and ":" in entry.client_id]
    own = [entry for entry in told if held.get(number(entry), {}).get("kind") not in APART]
    numbers = [number(entry) for entry in own]
    assert numbers == sorted(set(numbers)), "out of order, or twice"
    expected = [n for n, fact in sorted(held.items()) if fact["kind"] not in APART]
    missing = [held[n] for n in expected if n not in numbers]
    assert numbers == expected, {"missing": missing, "too many": set(numbers) - set(expected)}
    for entry, n in zip(own, numbers, strict=True):
        fact = held[n]
        match entry.kind:
            case "text":
                assert entry.body == fact["text"]
            case "tool_call":
                assert (entry.data["call"], entry.data["state"]) == (fact["call"], fact["state"])
            case "file_change":
                assert entry.data["path"] == fact["path"]
            case "artifact":
                assert entry.data["sha256"] == fact["sha256"]
            case "turn":
                assert (fact["kind"], entry.data["state"]) == ("end", fact["state"])
            case "approval":
                assert fact["kind"] == "question"


def number(entry: StoredEntry) -> int:
    """Its number in the machine's journal."""
    return int(entry.client_id.rpartition(":")[2])


def begins(whole: list[str], part: list[str]) -> bool:
    """Whether ``part`` is the beginning of ``whole``; its last word may be cut."""
    if not part:
        return True
    *sure, last = part
    return whole[: len(sure)] == sure and len(whole) > len(sure) and whole[len(sure)].startswith(last)
