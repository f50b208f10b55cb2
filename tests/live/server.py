"""The server as its administrator starts it, on the stack that the environment names."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from datetime import datetime
from pathlib import Path
from typing import Any

from tests.live import migrated
from tests.live.machine import Machine
from tests.live.person import Person
from tests.live.processes import ROOT, Process, surroundings
from tests.live.stack import Stack
from tests.live.stored import Stored, StoredEntry, StoredQuestion, StoredTurn
from tests.live.waiting import until
from tests.ports import free_port


class Live:
    def __init__(self, folder: Path, **environment: str) -> None:
        self.folder = folder
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self.data = folder / "data"
        self.stack = Stack.fresh()
        given = {**self.stack.environment, **environment}
        self.environment = surroundings(
            HOME=str(folder),
            AGENTROOM_DATA=str(self.data),
            PUBLIC_URL=self.url,
            # All of a test's people come from one address, in a hurry.
            DOOR_ATTEMPTS_PER_MINUTE="100000",
            **given,
        )
        if migrated.uses_sqlite():
            migrated.copy_sqlite(self.data)
        self.stored = Stored(self.data, self.stack.database_url)
        self.server: Process | None = None
        self.people: list[Person] = []
        self.machines: list[Machine] = []

    @classmethod
    def start(cls, folder: Path, **environment: str) -> Live:
        live = cls(folder, **environment)
        try:
            live.serve()
        except BaseException:
            live.close()
            raise
        return live

    def __enter__(self) -> Live:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # --- the server --------------------------------------------------------------------------------------------------

    def serve(self) -> Process:
        """Start it and wait until it says that it is ready."""
        assert self.server is None or not self.server.alive
        server = self.server = Process(
            [sys.executable, "manage.py", "serve", "--port", str(self.port)],
            env=self.environment,
            log=self.folder / "server.log",
        )
        until(lambda: "Ready:" in server.said() or not server.alive, seconds=60, what=server.said)
        assert server.alive, server.said()
        return server

    def kill(self) -> None:
        """SIGKILL: the server and all its processes at once."""
        assert self.server is not None
        self.server.kill()

    def stop(self) -> int:
        assert self.server is not None
        return self.server.end(signal.SIGTERM)

    def close(self) -> None:
        for machine in self.machines:
            machine.close()
        for person in self.people:
            person.close()
        if self.server is not None and self.server.alive:
            self.server.kill()
        self.stack.drop()

    def manage(
        self, *args: str, given: str = "", code: int = 0, at: datetime | None = None
    ) -> subprocess.CompletedProcess[str]:
        """``at``: what its clock shows."""
        program = ["manage.py"] if at is None else ["-m", "tests.live.later", at.isoformat()]
        done = subprocess.run(
            [sys.executable, *program, *args],
            env=self.environment,
            cwd=ROOT,
            input=given,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        assert done.returncode == code, f"manage.py {args}: {done.returncode}\n{done.stdout}{done.stderr}"
        return done

    def manage_json(self, *args: str) -> dict[str, Any]:
        told: dict[str, Any] = json.loads(self.manage(*args, "--json").stdout)
        return told

    # --- who is there ------------------------------------------------------------------------------------------------

    def person(self, handle: str, *, admin: bool = False) -> Person:
        """Somebody with an account, made by a script and signed in by its link, in a browser of their own."""
        told = self.manage_json("person", handle, "--email", f"{handle}@example.org", *(["--admin"] if admin else []))
        person = self.stranger(handle)
        person.sign_in(told["sign_in"])
        return person

    def stranger(self, handle: str = "") -> Person:
        """A browser that nobody is signed in with."""
        person = Person(self.url, self.stored, handle)
        self.people.append(person)
        return person

    def machine(self, name: str = "laptop", **environment: str) -> Machine:
        machine = Machine(self.folder / f"machine-{name}", self.url, **environment)
        self.machines.append(machine)
        return machine

    # --- what is stored ----------------------------------------------------------------------------------------------

    def entries(self, room_id: int, *kinds: str) -> list[StoredEntry]:
        return [entry for entry in self.stored.entries(room_id) if not kinds or entry.kind in kinds]

    def turns(self, room_id: int) -> list[StoredTurn]:
        return self.stored.turns(room_id)

    def turn(self, room_id: int, number: int) -> StoredTurn:
        """The room's first turn, its second … as soon as it is there."""
        return until(lambda: self.turns(room_id)[number - 1 : number], what=f"turn {number} of room {room_id}")[0]

    def until_turn(self, turn_id: int, *statuses: str, seconds: float = 40) -> str:
        """Wait until the turn has one of these states."""

        def status() -> str:
            [(found,)] = self.stored.rows("SELECT status FROM approvals_turn WHERE id = ?", turn_id)
            return str(found)

        return until(
            lambda: found if (found := status()) in statuses else "",
            seconds=seconds,
            what=lambda: f"turn {turn_id} being {' or '.join(statuses)}; it is {status()}\n{self._daemons()}",
        )

    def question(self, turn_id: int, *subjects: str) -> StoredQuestion:
        """The oldest open question of the turn, as soon as there is one."""

        def look() -> list[StoredQuestion]:
            found = self.stored.questions(turn_id)
            return [q for q in found if not q.verdict and (not subjects or q.subject in subjects)]

        return until(look, what=lambda: f"a question in turn {turn_id}\n{self._daemons()}")[0]

    def _daemons(self) -> str:
        return "\n".join(m.daemon.said()[-2000:] for m in self.machines if m.daemon is not None)
