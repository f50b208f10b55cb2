"""Characters that stand, inside the words of a command, for what is only known when it runs.

They are noncharacters of Unicode: a command that holds one itself is not read at all.
"""

from __future__ import annotations

import re

UNKNOWN = "\ufdd0"
"""Any text, also none."""
STAR, QUESTION, BRACKET = "\ufdd1", "\ufdd2", "\ufdd3"
"""Wildcards that the shell itself expands, unlike quoted ones."""

RESERVED = re.compile("[\ufdd0-\ufdef\0]")
_ACTIVE = {"*": STAR, "?": QUESTION, "[": BRACKET}
_PLAIN = str.maketrans({STAR: "*", QUESTION: "?", BRACKET: "["})
_GLOBS = re.compile(f"[{STAR}{QUESTION}{BRACKET}]")


def activate(text: str) -> str:
    return "".join(_ACTIVE.get(char, char) for char in text)


def plain(text: str) -> str:
    """The text as a program gets it when no file fits its wildcards."""
    return text.translate(_PLAIN)


def shown(text: str) -> str:
    return plain(text).replace(UNKNOWN, "…")


def open_ended(text: str) -> bool:
    return UNKNOWN in text or bool(_GLOBS.search(text))


def globbed(text: str) -> bool:
    return bool(_GLOBS.search(text))


def pattern(text: str) -> str:
    """The text as a pattern of fnmatch: literal brackets and stars stay literal, unknown parts match anything."""
    out: list[str] = []
    for char in text:
        if char in (UNKNOWN, STAR):
            out.append("*")
        elif char == QUESTION:
            out.append("?")
        elif char == BRACKET:
            out.append("[")
        elif char in "*?[":
            out.append(f"[{char}]")
        else:
            out.append(char)
    return "".join(out)
