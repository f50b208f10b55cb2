"""Words into the arguments that a program would get: every choice of them, as far as it can be told."""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from agentroom_machine.danger import braces, parameters
from agentroom_machine.danger.scope import Scope, secret_name
from agentroom_machine.danger.syntax import Arithmetic, Parameter, Script, Segment, Substitution, Text, Word
from agentroom_machine.danger.unknown import UNKNOWN, activate

MAX_CHOICES = 24
MAX_VARIED = 80
_BLANKS = re.compile(r"[ \t\n]+")
_GIVEN = {"HOME": str(Path.home()), "IFS": " \t\n", "TMPDIR": "/tmp", "PWD": ".", "OLDPWD": ".", "SHELL": "/bin/bash"}  # noqa: S108
_TESTING = {":+", "+"}

type Fields = list[str]


@dataclass(frozen=True)
class Piece:
    """A value on its way into fields: split at blanks, or already a list (``"$@"``)."""

    text: str
    split: bool = False
    several: tuple[str, ...] | None = None


class Expander:
    """Expands words in a scope; ``run`` reads a script inside of them and gives what it prints."""

    def __init__(self, scope: Scope, run: Callable[[Script], str], secret: Callable[[str], None],
                 unreadable: Callable[[str], None]) -> None:  # fmt: skip
        self.scope = scope
        self._run = run
        self._secret = secret
        self._unreadable = unreadable
        self.looking_only = False
        """Whether words are only tested, not given to anything: a secret's presence is no secret."""

    def fields(self, word: Word) -> list[Fields]:
        """Each way in which a word may become fields."""
        ways: list[list[Fields]] = [self._one(found) for found in braces.expand(word)]
        return combine(ways)

    def text(self, word: Word) -> list[str]:
        """Each value of a word that is not split: an assignment's, a redirection's, a here-document's."""
        values = ["".join(piece.text for piece in choice) for choice in self._choices(word, split=False)]
        return list(dict.fromkeys(values))

    def _one(self, word: Word) -> list[Fields]:
        ways = [_split(pieces) for pieces in self._choices(word, split=True)]
        unique: list[Fields] = []
        for way in ways:
            if way not in unique:
                unique.append(way)
        return unique

    def _choices(self, word: Word, *, split: bool) -> list[tuple[Piece, ...]]:
        options = [self._pieces(segment, split=split) for segment in word]
        return _product(options, Piece(UNKNOWN))

    def _pieces(self, segment: Segment, *, split: bool) -> list[Piece]:
        match segment:
            case Text(text, quoted):
                return [Piece(text if quoted else activate(text))]
            case Substitution(script, quoted, kind):
                looking, self.looking_only = self.looking_only, False
                printed = self._run(script)
                self.looking_only = looking
                if kind != "$":
                    return [Piece(UNKNOWN)]
                return [self._piece(printed.rstrip("\n"), quoted=quoted, split=split)]
            case Arithmetic(inner, _):
                for part in inner:
                    self._pieces(part, split=False)
                return [Piece(UNKNOWN)]
            case Parameter():
                return self._parameter(segment, split=split)

    def _piece(self, value: str, *, quoted: bool, split: bool) -> Piece:
        if split and not quoted and "IFS" in self.scope.variables:
            marks = set("".join(self.scope.variables["IFS"])) - set(" \t\n")
            if marks & set(value) or UNKNOWN in marks:
                self._unreadable("it changes how words are split")
        return Piece(value if quoted else activate(value), split=split and not quoted)

    def _parameter(self, parameter: Parameter, *, split: bool) -> list[Piece]:
        listed = self._listed(parameter)
        if listed is not None:
            if len(listed) > 1 and (not split or (parameter.quoted and "*" in {parameter.name, parameter.index})):
                if "IFS" in self.scope.variables:
                    self._unreadable("it changes how words are joined")
                return [Piece(" ".join(listed))]
            if not split:
                return [Piece("".join(listed))]
            return [Piece("", several=tuple(listed if parameter.quoted else [activate(item) for item in listed]))]
        values = self._values(parameter)
        if split and not parameter.quoted and self.scope.values(parameter.name) is not None:
            # Where a branch was not taken, or a loop has only begun, it is not set: the word is none.
            values = [*values, ""]
        unique = list(dict.fromkeys(values))
        if len(unique) > MAX_CHOICES:
            unique = [*unique[:MAX_CHOICES], UNKNOWN]
        return [self._piece(value, quoted=parameter.quoted, split=split) for value in unique]

    def _listed(self, parameter: Parameter) -> list[str] | None:
        if parameter.operator or parameter.prefix:
            return None
        if parameter.name in {"@", "*"}:
            return [UNKNOWN] if self.scope.positional is None else list(self.scope.positional)
        if parameter.index in {"@", "*"}:
            return list(self.scope.arrays.get(parameter.name, [UNKNOWN]))
        return None

    def _values(self, parameter: Parameter) -> list[str]:
        name, operator = parameter.name, parameter.operator
        if parameter.prefix == "!*":
            return [UNKNOWN]
        if parameter.prefix == "!" or operator == "@":
            self._unreadable("it reads a variable whose name is computed")
            return [UNKNOWN]
        if parameter.prefix == "#":
            return [UNKNOWN]
        values = self._plain(parameter)
        if values is None:
            values = self._outside(parameter)
        if parameter.word is None:
            return values
        words = self.text(parameter.word)
        if operator in {":-", "-", ":=", "=", ":?", "?", ":+", "+"}:
            if operator in {":=", "="}:
                for word in words:
                    self.scope.assign(name, word)
            if operator in _TESTING:
                return [*words, ""]
            return values if operator in {":?", "?"} else [*values, *words]
        return [parameters.apply(value, operator, word) for value in values for word in words[:4]]

    def _plain(self, parameter: Parameter) -> list[str] | None:
        name = parameter.name
        if parameter.index is not None:
            items = self.scope.arrays.get(name)
            if items is None:
                return self.scope.values(name)
            number = parameter.index if parameter.index.isdigit() else ""
            return [items[int(number)]] if number and int(number) < len(items) else [UNKNOWN, *items]
        if name.isdigit():
            return self._positional(int(name))
        if name in {"@", "*"}:
            return [UNKNOWN if self.scope.positional is None else " ".join(self.scope.positional)]
        if name in self.scope.arrays:
            return [*self.scope.arrays[name][:1], *(self.scope.values(name) or [])]
        return self.scope.values(name)

    def _positional(self, number: int) -> list[str]:
        if number == 0:
            return [self.scope.zero]
        given = self.scope.positional
        if given is None:
            return [UNKNOWN]
        if self.scope.shifted:
            return [*given[number - 1 :], ""]
        return [given[number - 1] if number <= len(given) else ""]

    def _outside(self, parameter: Parameter) -> list[str]:
        name = parameter.name
        if secret_name(name) and not self.looking_only and parameter.operator not in _TESTING:
            self._secret(name)
        given = _GIVEN.get(name)
        return [given if given is not None else UNKNOWN]


def combine(ways: list[list[Fields]]) -> list[Fields]:
    """Every combination of every word's ways; where they are too many, each way at least once, and one unknown."""
    return [[field for part in choice for field in part] for choice in _product(ways, [UNKNOWN])]


def _product[T](options: list[list[T]], unknown: T) -> list[tuple[T, ...]]:
    if math.prod(len(option) for option in options) <= MAX_CHOICES:
        return list(itertools.product(*options))
    first = [option[0] for option in options]
    choices = [tuple(unknown if len(option) > 1 else option[0] for option in options), tuple(first)]
    for position, option in enumerate(options):
        for other in option[1:]:
            choices.append((*first[:position], other, *first[position + 1 :]))
            if len(choices) > MAX_VARIED:
                return choices
    return choices


def _split(pieces: tuple[Piece, ...]) -> Fields:
    fields: list[str] = []
    current: str | None = None
    for piece in pieces:
        if piece.several is not None:
            for position, item in enumerate(piece.several):
                if position:
                    fields.append(current or "")
                    current = None
                current = (current or "") + item
        elif not piece.split:
            current = (current or "") + piece.text
        else:
            parts = _BLANKS.split(piece.text)
            for position, part in enumerate(parts):
                if position and current is not None:
                    fields.append(current)
                    current = None
                if part:
                    current = (current or "") + part
    if current is not None:
        fields.append(current)
    return fields
