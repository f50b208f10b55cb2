"""alice at her desk: she asks, and says yes to whatever her agent asks on the way."""

from __future__ import annotations

import subprocess
import time
from dataclasses import dataclass, field
from pathlib import Path

import httpx
import psutil

from tests.kills.accounts import journaled
from tests.live import Live, Machine, Person, StoredTurn, until

WORK = "@claude list what is here, edit the program, draw a picture, then push it and delete the old builds"
"""Two of these are asked: the push and the deletion."""
SIGNED_IN = 8 * 60
"""Seconds after which alice comes in anew: what she says yes to wants to know that it is she."""
ENDED = {"done", "failed", "stopped", "interrupted", "refused", "cancelled"}


@dataclass
class Desk:
    live: Live
    alice: Person
    machine: Machine
    kitchen: int
    asked: int = 0
    starts: int = 0
    pids: set[int] = field(default_factory=set)
    came_in_at: float = field(default_factory=time.monotonic)

    @classmethod
    def set_up(cls, live: Live) -> Desk:
        alice = live.person("alice")
        kitchen = alice.make_room("kitchen")
        machine = live.machine()
        machine.pair(alice)
        machine.add_agent("claude", runtime="demo", workdir=machine.repository())
        remote = machine.folder / "shop-remote.git"
        subprocess.run(["git", "config", "core.logAllRefUpdates", "always"], cwd=remote, check=True)
        alice.seat_agent(kitchen, "claude")
        return cls(live, alice, machine, kitchen)

    @property
    def journal(self) -> Path:
        return self.machine.folder / "journaled"

    def up(self, fragile_at: str = "") -> Path:
        """Start the daemon, to die at an instant or not; where its agents write down what they do."""
        self.machine.close()  # what an earlier test left, if it failed
        self.starts += 1
        own = self.machine.folder / f"did-{self.starts}"
        self.machine.environment |= {
            "AGENTROOM_DEMO_LOG": str(own),
            "FRAGILE_AT": fragile_at,
            "FRAGILE_LOG": str(self.journal),
        }
        self.machine.program = (self.machine.program[0], "-m", "tests.kills.fragile")
        self.machine.up()
        return own

    def ask(self, body: str = WORK) -> StoredTurn:
        self.asked += 1
        if time.monotonic() > self.came_in_at + SIGNED_IN:
            self.alice.sign_in(self.live.manage_json("person", "alice")["sign_in"])
            self.came_in_at = time.monotonic()
        shop = self.machine.folder / "shop"
        # The picture is always the same one: only a new file is something that the turn produced.
        (shop / "sales.png").unlink(missing_ok=True)
        (shop / "build").mkdir(exist_ok=True)
        (shop / "build" / "old.txt").write_text("Left over from an earlier build.\n")
        self.alice.ask(self.kitchen, body)
        return self.live.turn(self.kitchen, self.asked)

    def status(self, turn: StoredTurn) -> str:
        [(status,)] = self.live.stored.rows("SELECT status FROM approvals_turn WHERE id = ?", turn.id)
        return str(status)

    def agree(self, turn: StoredTurn) -> None:
        """Say yes to what waits. A server that is away is asked again; what just ended wants no yes."""
        for question in self.live.stored.questions(turn.id):
            if not question.verdict:
                try:
                    self.alice.approve(question.id)
                except httpx.TransportError:
                    continue
                except AssertionError:
                    now = {asked.id: asked.verdict for asked in self.live.stored.questions(turn.id)}
                    if not now[question.id]:
                        raise

    def agree_until(self, turn: StoredTurn, at: float) -> None:
        """Say yes to what waits until that instant of the monotonic clock, or the turn's end."""

        def over() -> bool:
            self.agree(turn)
            return time.monotonic() > at or self.status(turn) in ENDED

        until(over)

    def agree_until_dead(self, turn: StoredTurn) -> None:
        daemon = self.machine.daemon
        assert daemon is not None

        def dead() -> bool:
            self.pids |= {process.pid for process in daemon.tree()}
            self.agree(turn)
            return not daemon.alive

        until(dead, seconds=60, what=lambda: f"the daemon's death; turn {self.status(turn)}\n{daemon.said()}")

    def agree_until_ended(self, turn: StoredTurn) -> str:
        daemon = self.machine.daemon
        assert daemon is not None

        def ended() -> str:
            assert daemon.alive, daemon.said()
            self.agree(turn)
            found = self.status(turn)
            return found if found in ENDED else ""

        return until(
            ended,
            seconds=90,
            what=lambda: f"the end of turn {turn.id}, {self.status(turn)}\n{daemon.said()}",
        )

    def left_behind(self) -> list[psutil.Process]:
        """Agents of a daemon that is gone and still run."""
        return [
            process
            for process in psutil.process_iter()
            if process.pid in self.pids and process.is_running() and process.status() != psutil.STATUS_ZOMBIE
        ]

    def arrivals(self) -> list[str]:
        """Each push that ever arrived in the remote."""
        remote = self.machine.folder / "shop-remote.git"
        log = remote / "logs" / "refs" / "heads" / "main"
        return log.read_text().splitlines() if log.exists() else []

    def journaled(self, turn: StoredTurn) -> list[str]:
        return [line["fact"]["kind"] for line in journaled(self.journal) if line["turn"] == turn.id]
