"""The beginning of an action, for a list of what waits; whoever decides reads it whole."""

from __future__ import annotations

from dataclasses import dataclass

from django.utils.safestring import SafeString

from messaging.render.hidden import reveal

LINES = 6
CHARACTERS = 600


@dataclass(frozen=True)
class Excerpt:
    html: SafeString
    left_out: str
    """How much more there is, in words; empty when this is all of it."""


def excerpt(text: str) -> Excerpt:
    text = text.rstrip("\n")
    shown = "\n".join(text.split("\n")[:LINES])[:CHARACTERS]
    return Excerpt(reveal(shown), _left_out(text, shown))


def _left_out(text: str, shown: str) -> str:
    more_lines = text.count("\n") - shown.count("\n")
    if more_lines > 0:
        return f"and {more_lines:,} more line{'s' if more_lines > 1 else ''}"
    more = len(text) - len(shown)
    return f"and {more:,} more character{'s' if more > 1 else ''}" if more > 0 else ""
