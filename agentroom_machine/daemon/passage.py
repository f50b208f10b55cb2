"""The agent's text as it streams: many small pieces in, few redacted facts out."""

from __future__ import annotations

from collections.abc import Callable

from agentroom_machine import wire
from agentroom_machine.daemon.redact import Redactor, Stream

FIRST_AFTER = 0.4
LONGEST_GAP = 3.0
PIECE = 4096


class Passages:
    """Says a piece after 0.4 s, then at growing intervals up to 3 s, at most 4 KB each."""

    def __init__(self, turn_id: int, emit: Callable[[wire.Fact], None], redact: Redactor) -> None:
        self._turn_id, self._emit, self._redact = turn_id, emit, redact
        self._number = 0
        self._message = ""
        self._stream = Stream(redact)
        self._due: float | None = None
        self._gap = FIRST_AFTER
        self._begun = False

    def add(self, text: str, message: str, now: float) -> None:
        """Takes a piece; another ``message`` begins a new passage."""
        if message != self._message:
            self.end()
            self._message = message
        if not text:
            return
        if not self._begun:
            self._begun, self._gap = True, FIRST_AFTER
            self._number += 1
        self._stream.feed(text)
        if self._due is None:
            self._due = now + self._gap

    def tick(self, now: float) -> None:
        """Says what is due."""
        if self._due is None or now < self._due:
            return
        self._due = None
        self._say(self._stream.take())
        self._gap = min(self._gap * 1.6, LONGEST_GAP)
        if self._stream:
            self._due = now + self._gap

    def end(self) -> None:
        """Says all that is left; what comes next is a new passage."""
        self._say(self._stream.take(final=True))
        self._stream = Stream(self._redact)
        self._due, self._begun = None, False

    def _say(self, text: str) -> None:
        for start in range(0, len(text), PIECE):
            self._emit(wire.TextFact(part=f"{self._turn_id}.{self._number}", text=text[start : start + PIECE]))
