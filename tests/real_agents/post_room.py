"""A room with a real Claude Code and a real Codex in it, each on a machine of its own, both Alice's."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx

from tests.live import Live, Machine, Person, StoredEntry, until
from tests.real_agents import homes
from tests.real_agents.kitchen import ENDED, repository
from tests.real_agents.model.scenes import AT_LENGTH
from tests.real_agents.model.server import Model, scripted_model

PATIENCE = 120
"""Seconds that a real program may take, on a machine that does much else."""


@dataclass(frozen=True)
class PostRoom:
    live: Live
    model: Model
    alice: Person
    laptop: Machine
    """Has claude."""
    desk: Machine
    """Has codex."""
    room: int
    token: str
    """Of claude, to see what the sender sees. Who uses one is there, so codex has none: it sleeps."""

    # --- doing

    def ask(self, words: str) -> int:
        """Alice writes in the room; the number of the turn."""
        before = len(self.live.turns(self.room))
        self.alice.ask(self.room, words)
        return self.live.turn(self.room, before + 1).id

    def write(self, body: str) -> int:
        """Alice has claude write a letter to codex; the letter's number."""
        self.until_done(self.ask(f"@claude Write `{body}` to codex about `the menu`"))
        body = body.replace("(at length)", AT_LENGTH)
        [letter] = [entry for entry in self.entries("message") if entry.body == body]
        return letter.seq

    def wake(self) -> None:
        """Codex has a session, and is idle."""
        self.until_done(self.ask("@codex Say `here`"))
        self.until_standing("codex", "available")

    def put_to_sleep(self) -> None:
        """Codex has no session."""
        self.desk.stop(within=60)
        self.desk.up()
        self.until_standing("codex", "asleep")

    def edit(self, handle: str, *change: str) -> None:
        self.desk.cli("agents", "edit", handle, *change)

    def until_done(self, turn: int) -> None:
        assert self.live.until_turn(turn, *ENDED, seconds=PATIENCE) == "done", self.said(turn)

    # --- seeing

    def entries(self, *kinds: str) -> list[StoredEntry]:
        return self.live.entries(self.room, *kinds)

    def said(self, turn: int) -> list[StoredEntry]:
        return [entry for entry in self.entries() if entry.data.get("turn") == turn]

    def call(self, path: str) -> Any:
        """What the server tells claude's connection."""
        answer = httpx.get(
            f"{self.live.url}/api{path}",
            headers={"Authorization": f"Bearer {self.token}"},
            timeout=30,
            trust_env=False,
        )
        assert answer.status_code == 200, answer.text
        return answer.json()

    def facts(self, letter: int) -> list[tuple[str, str]]:
        """What its sender sees of a letter to one: each fact and its note."""
        [recipient] = self.call(f"/messages/{letter}")["recipients"]
        times = [fact["at"] for fact in recipient["facts"]]
        assert times == sorted(times), recipient
        return [(fact["state"], fact["note"]) for fact in recipient["facts"]]

    def question(self, turn: int) -> int:
        """The turn's question to its owner, once it is asked."""
        until(
            lambda: self.live.stored.questions(turn),
            seconds=PATIENCE,
            what=lambda: f"a question in turn {turn}\n{self.told()}",
        )
        return self.live.question(turn).id

    def until_facts(self, letter: int, *states: str) -> None:
        def seen() -> bool:
            return [state for state, _ in self.facts(letter)] == list(states)

        until(seen, seconds=PATIENCE, what=lambda: f"{states}; there is {self.facts(letter)}\n{self.told()}")

    def why_it_waits(self, letter: int) -> str:
        """Its sender sees that it waits and why, and nothing more."""
        (stored, _), (waiting, why) = self.facts(letter)
        assert (stored, waiting) == ("stored", "waiting")
        return why

    def standing(self, handle: str) -> str:
        [state] = [agent["state"] for agent in self.call("/agents")["agents"] if agent["handle"] == handle]
        return str(state)

    def until_standing(self, handle: str, state: str) -> None:
        until(
            lambda: self.standing(handle) == state,
            seconds=PATIENCE,
            what=lambda: f"{handle} being {state}; it is {self.standing(handle)}\n{self.told()}",
        )

    def until_quiet(self) -> None:
        """No turn runs or waits any more: the answers have been read, too."""
        until(
            lambda: all(turn.status in ENDED for turn in self.live.turns(self.room)),
            seconds=PATIENCE,
            what=lambda: f"the end of all turns: {self.live.turns(self.room)}\n{self.told()}",
        )

    def told(self) -> str:
        daemons = [machine.daemon for machine in (self.laptop, self.desk) if machine.daemon]
        return "\n".join([*(daemon.said()[-2000:] for daemon in daemons), *map(str, self.entries()[-12:])])


@contextmanager
def post_room(folder: Path, *, codex_model: str = homes.PLAIN_TOOLS) -> Iterator[PostRoom]:
    with scripted_model() as model, Live.start(folder) as live:
        alice = live.person("alice")
        room = alice.make_room("kitchen")
        machines: dict[str, Machine] = {}
        for handle, name in (("claude", "laptop"), ("codex", "desk")):
            machine = live.machine(name)
            # An agent can move from one runtime to the other, so each machine has both.
            machine.environment.update(homes.claude(machine.folder, model.url))
            machine.environment.update(homes.codex(machine.folder, model.url, model=codex_model))
            machine.pair(alice, name=name)
            machine.add_agent(handle, runtime=handle, workdir=repository(machine.folder / "menu"))
            alice.seat_agent(room, handle)
            machine.up()
            machines[name] = machine
        made = live.manage_json("token", "--agent", "claude", "--owner", "alice", "--room", str(room))
        yield PostRoom(live, model, alice, machines["laptop"], machines["desk"], room, made["token"])
    assert not model.failures
