"""What ``${name op word}`` makes of a value that is known."""

from __future__ import annotations

import fnmatch
import re
from functools import lru_cache

from agentroom_machine.danger.unknown import UNKNOWN, pattern


def apply(value: str, operator: str, word: str) -> str:
    """The value after the operator; UNKNOWN where that can't be told."""
    if UNKNOWN in value or UNKNOWN in word:
        return UNKNOWN
    match operator:
        case "#" | "##":
            return _cut(value, word, longest=operator == "##", front=True)
        case "%" | "%%":
            return _cut(value, word, longest=operator == "%%", front=False)
        case "/" | "//" | "/#" | "/%":
            return _replace(value, operator, word)
        case ":":
            return _slice(value, word)
        case "^":
            return value[:1].upper() + value[1:] if not word else UNKNOWN
        case "^^":
            return value.upper() if not word else UNKNOWN
        case ",":
            return value[:1].lower() + value[1:] if not word else UNKNOWN
        case ",,":
            return value.lower() if not word else UNKNOWN
        case _:
            return UNKNOWN


@lru_cache(maxsize=256)
def _regex(glob: str) -> re.Pattern[str]:
    return re.compile(fnmatch.translate(pattern(glob)))


def _cut(value: str, glob: str, *, longest: bool, front: bool) -> str:
    if len(value) > 4_000:
        return UNKNOWN
    matcher = _regex(glob)
    lengths = range(len(value), -1, -1) if longest else range(len(value) + 1)
    for length in lengths:
        piece = value[:length] if front else value[len(value) - length :]
        if matcher.match(piece):
            return value[length:] if front else value[: len(value) - length]
    return value


def _replace(value: str, operator: str, word: str) -> str:
    what, _, by = word.partition("/")
    if pattern(what) != what or re.search(r"[*?\[\\]", what) or not what:
        return UNKNOWN
    if operator == "/#":
        return by + value[len(what) :] if value.startswith(what) else value
    if operator == "/%":
        return value[: -len(what)] + by if value.endswith(what) else value
    return value.replace(what, by, 1 if operator == "/" else -1)


def _slice(value: str, word: str) -> str:
    found = re.fullmatch(r"\s*(-?\d+)\s*(?::\s*(-?\d+)\s*)?", word)
    if not found:
        return UNKNOWN
    start = int(found[1])
    begin = max(len(value) + start, 0) if start < 0 else start
    if found[2] is None:
        return value[begin:]
    length = int(found[2])
    return value[begin : begin + length] if length >= 0 else value[begin:length]
