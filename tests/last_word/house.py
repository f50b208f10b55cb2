"""An owner's agent has asked them something, and bob asks for its next piece of work."""

from __future__ import annotations

import signal
import sqlite3
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import httpx
import psutil
import psycopg

from tests.kills.accounts import same
from tests.live import Live, Machine, Page, Person, StoredTurn, until
from tests.live.stored import StoredQuestion

PROGRAMS = {"web": ["agentroom.web"], "worker": ["worker", "beat"]}
"""Words of the command lines that a role consists of; each is a child of what bin/up starts."""


@dataclass
class House:
    live: Live
    alice: Person
    """The agent's owner."""
    bob: Person
    kitchen: int
    machine: Machine
    asked: int = 0

    @classmethod
    def set_up(cls, live: Live, *, owner: str = "alice", url: str = "") -> House:
        """``url``: where the machine finds the server, if not where everybody does."""
        alice, bob = live.person(owner), live.person("bob")
        kitchen = alice.make_room("kitchen")
        bob.join(alice.invite(kitchen))
        machine = Machine(live.folder / f"laptop-of-{owner}", url or live.url)
        live.machines.append(machine)
        machine.environment["FRAGILE_LOG"] = str(machine.folder / "journaled")
        machine.pair(alice)
        machine.add_agent("claude", runtime="demo", workdir=machine.repository())
        alice.seat_agent(kitchen, "claude")
        machine.program = (machine.program[0], "-m", "tests.kills.fragile")
        return cls(live, alice, bob, kitchen, machine)

    # --- who asks what

    def ask(self, person: Person, body: str) -> StoredTurn:
        self.asked = len(self.live.turns(self.kitchen)) + 1
        person.ask(self.kitchen, f"@claude {body}")
        return self.live.turn(self.kitchen, self.asked)

    def ask_for_deletion(self) -> tuple[StoredTurn, StoredQuestion]:
        """alice's agent wants to delete something, which it may never do unasked."""
        if self.done.exists():
            self.done.unlink()
        turn = self.ask(self.alice, "run `rm -rf build; echo deleted >> done.txt`")
        return turn, self.open_question(turn)

    @property
    def done(self) -> Path:
        """A line for each time that the deletion was really done."""
        return self.machine.folder / "shop" / "done.txt"

    def open_question(self, turn: StoredTurn) -> StoredQuestion:
        # A first question waits for an agent's start in its box, on a machine that may be busy with other tests.
        until(lambda: self.live.stored.questions(turn.id), seconds=90, what=lambda: self.how_it_stands(turn))
        return self.live.question(turn.id)

    def how_it_stands(self, turn: StoredTurn) -> str:
        daemon, server = self.machine.daemon, self.live.server
        said = [process.said()[-2000:] for process in (daemon, server) if process is not None]
        return "\n".join([f"a question in turn {turn.id}; it is {self.status(turn)}", *said])

    def verdict(self, question: StoredQuestion) -> str:
        [(verdict,)] = self.live.stored.rows("SELECT verdict FROM approvals_approval WHERE id = ?", question.id)
        return str(verdict)

    def status(self, turn: StoredTurn) -> str:
        [(status,)] = self.live.stored.rows("SELECT status FROM approvals_turn WHERE id = ?", turn.id)
        return str(status)

    # --- who looks

    def fresh(self, handle: str) -> Person:
        """The same person in a browser that has seen nothing yet."""
        person = self.live.stranger(handle)
        person.sign_in(self.live.manage_json("person", handle)["sign_in"])
        return person

    def shown_as_open(self, person: Person, turn: StoredTurn, question: StoredQuestion) -> bool:
        """Whether the dashboard, its own page and the room let this person answer it; the three must agree."""
        goes_to = f"/questions/{question.id}/answer/"
        listed = f"/questions/{question.id}/" in [href for _, href in person.get("/").links] or sends(
            person.get("/"), goes_to
        )
        alone = sends(person.get(f"/questions/{question.id}/"), goes_to)
        room = sends(person.room(self.kitchen), goes_to)
        card = sends(person.controls(turn.id), goes_to)
        assert listed == alone == room == card, (listed, alone, room, card)
        return alone

    def same(self, turn: StoredTurn) -> None:
        """What the machine wrote down is in the room, each thing once."""
        same(self.live.entries(self.kitchen), self.machine.folder / "journaled", turn.id)

    # --- what dies

    def up(self) -> None:
        self.machine.close()
        self.machine.up()

    def restart(self, roles: Sequence[str], number: int) -> None:
        """Signal all of these at the same moment, then have them back."""
        server = self.live.server
        assert server is not None
        old = {role: [p for p in server.tree() if runs(p, PROGRAMS[role])] for role in roles if role in PROGRAMS}
        for role, found in old.items():
            assert len(found) == len(PROGRAMS[role]), (role, [process.cmdline() for process in server.tree()])
        for process in [process for found in old.values() for process in found]:
            process.send_signal(number)
        if "daemon" in roles:
            self.end_daemon(number)
        gone = [process for found in old.values() for process in found]
        psutil.wait_procs(gone, timeout=15)
        assert not any(process.is_running() for process in gone)

        def back() -> bool:
            now = server.tree()
            return all(sum(runs(p, PROGRAMS[role]) for p in now) == len(PROGRAMS[role]) for role in old)

        until(back, seconds=30, what=server.said)
        until(self.ready, seconds=30, what=server.said)
        if "daemon" in roles:
            self.machine.up()

    def ready(self) -> bool:
        try:
            return httpx.get(f"{self.live.url}/readyz", timeout=10, trust_env=False).status_code == 200
        except httpx.TransportError:
            return False

    def end_daemon(self, number: int = signal.SIGKILL) -> None:
        """The daemon alone: what it started has to end without anybody's help."""
        daemon = self.machine.daemon
        assert daemon is not None
        below = daemon.tree()[1:]
        assert below, "an agent is at work"
        if number == signal.SIGKILL:
            daemon.kill(alone=True)
        else:
            assert daemon.end(number) == 0, daemon.said()
        _, alive = psutil.wait_procs(below, timeout=5)
        assert not alive


def runs(process: psutil.Process, words: Sequence[str]) -> bool:
    try:
        return any(word in process.cmdline() for word in words)
    except psutil.NoSuchProcess:
        return False


def sends(page: Page, path: str) -> bool:
    """Whether the page has a form that is sent there."""
    return any(form.action == path for form in page.forms)


def set_back(live: Live, query: str, *values: int) -> None:
    """Let time have passed, behind the server's back; in ``query`` ``{ago}`` is a minute ago and ``?`` a value."""
    if live.stack.database_url:
        with psycopg.connect(live.stack.database_url) as connection:
            connection.execute(
                query.replace("?", "%s").format(ago="now() - interval '1 minute'").encode(), list(values)
            )
    else:
        with closing(sqlite3.connect(live.data / "agentroom.sqlite3", timeout=20)) as lite, lite:
            lite.execute(query.format(ago="datetime('now', '-1 minute')"), values)
