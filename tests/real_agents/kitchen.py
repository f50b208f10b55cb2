"""A room with Alice, Bob and one real agent in it, which runs on Alice's machine and asks the scripted model."""

from __future__ import annotations

import subprocess
from dataclasses import dataclass
from pathlib import Path

from tests.live import Live, Machine, Person, StoredEntry
from tests.live.waiting import until
from tests.real_agents.model.server import Model

ENDED = ("done", "failed", "stopped", "interrupted", "refused", "cancelled")


def repository(folder: Path) -> Path:
    """A git repository with one file."""
    folder.mkdir()
    (folder / "menu.txt").write_text("soup\nbread\n")
    for command in (
        ["init", "-q", "-b", "main"],
        ["config", "user.email", "alice@example.org"],
        ["config", "user.name", "Alice"],
        ["add", "."],
        ["commit", "-q", "-m", "Write the menu"],
    ):
        subprocess.run(["git", *command], cwd=folder, check=True)
    return folder


@dataclass(frozen=True)
class Kitchen:
    live: Live
    model: Model
    alice: Person
    bob: Person
    machine: Machine
    room: int
    folder: Path
    """The agent's working directory."""

    def ask(self, words: str, *, who: Person | None = None, room: int | None = None) -> int:
        """Somebody, Bob unless said otherwise, asks the agent; the number of the turn."""
        room = room or self.room
        before = len(self.live.turns(room))
        (who or self.bob).ask(room, f"@cook {words}")
        return self.live.turn(room, before + 1).id

    def asked_and_done(self, words: str, *, who: Person | None = None, room: int | None = None) -> int:
        """The same, and Alice says yes to whatever it needs until the turn is done."""
        turn = self.ask(words, who=who, room=room)
        self.approve_all(turn)
        self.until_done(turn)
        return turn

    def until_done(self, turn: int) -> None:
        assert self.live.until_turn(turn, *ENDED) == "done", self.timeline(turn)

    def approve_all(self, turn: int) -> None:
        """Answers each question as it comes, until the turn has ended."""

        def ended() -> bool:
            for question in self.live.stored.questions(turn):
                if not question.verdict:
                    self.answer(question.id, "once")
            return self.status(turn) in ENDED

        until(ended, seconds=60, what=lambda: f"the end of turn {turn}: {self.timeline(turn)}\n{self.said_by_daemon()}")

    def answer(self, question: int, verdict: str, *, note: str = "") -> None:
        self.alice.answer(question, {"verdict": verdict, "note": note})

    def status(self, turn: int) -> str:
        [(status,)] = self.live.stored.rows("SELECT status FROM approvals_turn WHERE id = ?", turn)
        return str(status)

    def timeline(self, turn: int, *kinds: str) -> list[StoredEntry]:
        [(room,)] = self.live.stored.rows("SELECT room_id FROM approvals_turn WHERE id = ?", turn)
        return [entry for entry in self.live.entries(room, *kinds) if entry.data.get("turn") == turn]

    def text(self, turn: int) -> str:
        """What the agent said."""
        return "".join(entry.body for entry in self.timeline(turn, "text"))

    def last_calls(self, turn: int) -> list[StoredEntry]:
        """Each tool call as it stood in the end."""
        return list({entry.data["call"]: entry for entry in self.timeline(turn, "tool_call")}.values())

    def said_by_daemon(self) -> str:
        return self.machine.daemon.said()[-3000:] if self.machine.daemon else ""
