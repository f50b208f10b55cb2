"""Brace expansion: ``r{m,}`` is two words, ``x{1..3}`` is three."""

from __future__ import annotations

import itertools
import re

from agentroom_machine.danger.syntax import Segment, Text, Word
from agentroom_machine.danger.unknown import UNKNOWN

MAX_WORDS = 64
_RANGE = re.compile(r"(-?\d+|[A-Za-z])\.\.(-?\d+|[A-Za-z])(?:\.\.(-?\d+))?")

type Atom = str | Segment
"""An unquoted character, or a segment that braces leave alone."""


def expand(word: Word) -> list[Word]:
    """The words that one word stands for, at most MAX_WORDS; past that one that could be anything."""
    if not any(isinstance(part, Text) and not part.quoted and "{" in part.text for part in word):
        return [word]
    atoms: list[Atom] = []
    for part in word:
        if isinstance(part, Text) and not part.quoted:
            atoms += list(part.text)
        else:
            atoms.append(part)
    words = _expand(atoms) if atoms.count("{") < MAX_WORDS else []
    if not words or len(words) > MAX_WORDS:
        return [(Text(UNKNOWN),)]
    return [_join(found) for found in words]


def _join(atoms: list[Atom]) -> Word:
    parts: list[Segment] = []
    for atom in atoms:
        last = parts[-1] if parts else None
        if not isinstance(atom, str):
            parts.append(atom)
        elif isinstance(last, Text) and not last.quoted:
            parts[-1] = Text(last.text + atom)
        else:
            parts.append(Text(atom))
    return tuple(parts)


def _expand(atoms: list[Atom]) -> list[list[Atom]]:
    for start, atom in enumerate(atoms):
        if atom == "{":
            found = _choices(atoms, start)
            if found is not None:
                choices, end = found
                after = _expand(atoms[end:])
                words = [[*atoms[:start], *choice, *rest] for choice in choices for rest in after[: MAX_WORDS + 1]]
                return words[: MAX_WORDS + 1]
    return [atoms]


def _choices(atoms: list[Atom], start: int) -> tuple[list[list[Atom]], int] | None:
    depth, commas = 0, [start]
    for at in range(start, len(atoms)):
        atom = atoms[at]
        if atom == "{":
            depth += 1
        elif atom == "," and depth == 1:
            commas.append(at)
        elif atom == "}":
            depth -= 1
            if depth == 0:
                commas.append(at)
                break
    else:
        return None
    end = commas[-1] + 1
    inner = atoms[start + 1 : end - 1]
    if len(commas) > 2:
        pieces = [atoms[one + 1 : two] for one, two in itertools.pairwise(commas)]
        return [word for piece in pieces for word in _expand(piece)][: MAX_WORDS + 1], end
    found = _RANGE.fullmatch("".join(inner)) if all(isinstance(atom, str) for atom in inner) else None  # type: ignore[arg-type]
    if found is None:
        return None
    return [list(item) for item in _range(found[1], found[2], found[3])], end


def _range(first: str, last: str, step: str | None) -> list[str]:
    letters = first.isalpha() and last.isalpha()
    if not letters and (first.isalpha() or last.isalpha()):
        return [UNKNOWN]
    start, end = (ord(first), ord(last)) if letters else (int(first), int(last))
    by = abs(int(step or 1)) or 1
    if abs(end - start) // by > MAX_WORDS:
        return [UNKNOWN]
    numbers = range(start, end + 1, by) if end >= start else range(start, end - 1, -by)
    return [chr(number) if letters else str(number) for number in numbers]
