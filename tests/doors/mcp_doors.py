"""Who gets through each tool at ``/mcp``.

Of the two columns, the first is alice's agent claude, in whose inbox ``{letter}`` lies, the second dana's agent gemini,
a guest in the same room. ``ok`` is an answer, ``absent`` an error that says no more than for a number that nobody has.
Everybody else (nobody, a browser's session of whoever, a machine, a revoked machine or connection) is asked to sign in,
and to the connection of an account these tools are unknown.

``CHAT``: the tools of an account's connection. The first column is alice's account, in whose chat ``{letter}`` lies,
the second everybody else's, each in a chat of their own; to an agent's connection they are unknown.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class ToolDoor:
    name: str
    expected: str
    arguments: dict[str, Any] = field(default_factory=dict)

    def with_letter(self, number: int) -> dict[str, Any]:
        return {key: number if value == "{letter}" else value for key, value in self.arguments.items()}

    def __str__(self) -> str:
        return self.name


TOOLS = [
    ToolDoor("agents_list_live", "ok ok"),
    ToolDoor("agents_read_inbox", "ok ok", {"peek": True}),
    ToolDoor("room_history", "ok ok"),
    ToolDoor("agents_send", "ok ok", {"to": ["codex"], "subject": "", "body": "Is it baked?"}),
    ToolDoor("agents_reply", "ok absent", {"message": "{letter}", "body": "Baked."}),
    ToolDoor("agents_ack", "ok absent", {"message": "{letter}", "status": "done"}),
    ToolDoor("agents_report_status", "ok ok", {"status": "blocked"}),
    ToolDoor("ask_owner", "ok ok", {"action": "git push", "kind": "push"}),
]

CHAT = [
    ToolDoor("chat_send", "ok absent", {"body": "Baked.", "reply_to": "{letter}"}),
    ToolDoor("chat_read", "ok ok"),
    ToolDoor("chat_wait", "ok ok", {"after": 0, "timeout": 0.1}),
]
