"""What a shell command is made of, once it has been read."""

from __future__ import annotations

from dataclasses import dataclass, field


class Unreadable(Exception):
    """The text can't be read the way a shell would; the message says where it stopped."""


@dataclass(frozen=True)
class Text:
    """Characters that stand for themselves; quoted ones are neither split nor expanded."""

    text: str
    quoted: bool = False


@dataclass(frozen=True)
class Parameter:
    """``$name`` or ``${name op word}``; prefix is ``!`` or ``#``."""

    name: str
    quoted: bool
    prefix: str = ""
    index: str | None = None
    operator: str = ""
    word: Word | None = None


@dataclass(frozen=True)
class Substitution:
    """``$(…)``, backticks, ``<(…)``, ``>(…)``; kind is ``$``, ``<`` or ``>``."""

    script: Script
    quoted: bool
    kind: str = "$"


@dataclass(frozen=True)
class Arithmetic:
    """``$((…))``: what it is worth does not matter, what runs inside does."""

    inner: Word
    quoted: bool


type Segment = Text | Parameter | Substitution | Arithmetic
type Word = tuple[Segment, ...]


@dataclass(frozen=True)
class Assignment:
    name: str
    value: Word | tuple[Word, ...]
    """A tuple of words is an array: see ``array``."""
    array: bool = False
    append: bool = False
    index: Word | None = None


@dataclass(frozen=True)
class Redirect:
    operator: str
    target: Word
    descriptor: str = ""
    heredoc: bool = False


@dataclass
class Simple:
    assignments: list[Assignment] = field(default_factory=list)
    words: list[Word] = field(default_factory=list)
    redirects: list[Redirect] = field(default_factory=list)
    source: str = ""


@dataclass
class Pipeline:
    commands: list[Command]
    background: bool = False


@dataclass
class Compound:
    """Lists of commands that may run, one after another: groups, subshells, if, while, case."""

    kind: str
    bodies: list[Script]
    words: list[Word] = field(default_factory=list)
    redirects: list[Redirect] = field(default_factory=list)


@dataclass
class Loop:
    """``for`` and ``select``: words is None for the positional parameters."""

    name: str
    words: list[Word] | None
    body: Script
    redirects: list[Redirect] = field(default_factory=list)


@dataclass
class Function:
    name: str
    body: Command
    redirects: list[Redirect] = field(default_factory=list)


type Command = Simple | Compound | Loop | Function
type Script = list[Pipeline]
