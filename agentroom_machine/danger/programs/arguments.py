"""Arguments of a program: options, their values, and the words between them."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field

from agentroom_machine.danger.unknown import plain


@dataclass
class Arguments:
    """``words`` are operands, ``options`` the rest, each ``(name, value)``; a cluster is several options."""

    words: list[str] = field(default_factory=list)
    options: list[tuple[str, str | None]] = field(default_factory=list)

    def has(self, *names: str) -> bool:
        return any(matches(option, name) for option, _ in self.options for name in names)

    def value(self, *names: str) -> str | None:
        """The last value given to one of the options."""
        found = [value for option, value in self.options if any(matches(option, name) for name in names)]
        return found[-1] if found else None

    def values(self, *names: str) -> Iterator[str]:
        for option, value in self.options:
            if value is not None and any(matches(option, name) for name in names):
                yield value


def matches(option: str, name: str) -> bool:
    """Whether an option is this one; long options may be shortened, as getopt allows."""
    if option == name:
        return True
    return len(option) > 2 and option.startswith("--") and name.startswith(option)


def split(args: list[str], takes: Collection[str] = (), *, posix: bool = False) -> Arguments:
    """Splits arguments; ``takes`` names the options that want a value, ``posix`` ends options at the first word."""
    found = Arguments()
    position = 0
    while position < len(args):
        word = args[position]
        position += 1
        if word == "--":
            found.words += args[position:]
            break
        if word.startswith("--") and len(word) > 2:
            name, equals, value = word.partition("=")
            if equals:
                found.options.append((name, value))
            elif any(matches(name, one) for one in takes) and position < len(args):
                found.options.append((name, args[position]))
                position += 1
            else:
                found.options.append((name, None))
        elif word.startswith("-") and len(word) > 1:
            position = _cluster(word, args, position, takes, found)
        else:
            found.words.append(word)
            if posix:
                found.words += args[position:]
                break
    return found


def _cluster(word: str, args: list[str], position: int, takes: Collection[str], found: Arguments) -> int:
    if word in takes and len(word) > 2:
        found.options.append((word, args[position] if position < len(args) else None))
        return position + 1
    for at, letter in enumerate(word[1:], start=1):
        name = f"-{letter}"
        if name in takes:
            rest = word[at + 1 :]
            if rest:
                found.options.append((name, rest))
            elif position < len(args):
                found.options.append((name, args[position]))
                position += 1
            return position
        found.options.append((name, None))
    if len(word) > 2:
        found.options.append((word, None))
    return position


def asks_for_help(args: list[str]) -> bool:
    """``--help`` or ``--version`` alone, or after plain words: then a program does nothing else."""
    if not args or args[-1] not in {"--help", "--version", "-h", "-V", "-v", "-version", "help", "version"}:
        return False
    words = args[:-1]
    if args[-1] in {"-h", "-V", "-v", "version", "help"} and words:
        return args[-1] == "help" and all(re.fullmatch(r"[a-z][\w-]*", word) for word in words) and len(words) < 4
    return len(words) < 5 and all(re.fullmatch(r"[A-Za-z][\w:.-]*", plain(word)) for word in words)
