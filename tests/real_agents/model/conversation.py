"""What a request to the model says, whichever maker's words it is in."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

Json = dict[str, Any]

CALL_ID = re.compile(r"step(\d+)x[0-9a-f]+$")


@dataclass(frozen=True)
class Asked:
    """Words in the name of the user: a person's, or the agent program's own."""

    text: str


@dataclass(frozen=True)
class Answered:
    """Words that the model said before."""

    text: str


@dataclass(frozen=True)
class Called:
    id: str


@dataclass(frozen=True)
class Returned:
    text: str


Event = Asked | Answered | Called | Returned


@dataclass(frozen=True)
class Tool:
    name: str
    free_text: bool = False
    """Takes one text instead of a JSON object."""
    namespace: str = ""


@dataclass
class Conversation:
    """One request; the model keeps nothing between two of them."""

    model: str
    stream: bool
    tools: dict[str, Tool] = field(default_factory=dict)
    events: list[Event] = field(default_factory=list)
    schema: Json | None = None
    """The JSON that the answer must be: then the agent program asks for itself."""

    def step_after(self, at: int) -> int:
        """Number of the step that comes next for the prompt at ``at``: the ids of the calls since then carry it."""
        ids = (CALL_ID.search(event.id) for event in self.events[at:] if isinstance(event, Called))
        return 1 + max((int(found[1]) for found in ids if found), default=-1)

    def results_after(self, at: int) -> list[str]:
        return [event.text for event in self.events[at:] if isinstance(event, Returned)]

    def said_before(self, at: int) -> list[str]:
        return [event.text for event in self.events[:at] if isinstance(event, Answered)]


def text_of(content: Any) -> str:
    """The text in what the makers variously send: a string, a block, or a list of blocks."""
    if isinstance(content, str):
        return content
    if isinstance(content, dict):
        return text_of(content.get("text") or content.get("output") or content.get("content"))
    if isinstance(content, list):
        return "\n".join(filter(None, map(text_of, content)))
    return ""
