"""A room with two agents that nobody's daemon runs, and a home for a client by others."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.live import HandMachine, Live, Person
from tests.mcp.peers import agent_of, token_of
from tests.peers.programs import CLAUDE, CODEX, PEERS, home
from tests.real_agents.model.server import Model, scripted_model


@dataclass(frozen=True)
class Room:
    live: Live
    alice: Person
    number: int
    tokens: dict[str, str]

    @property
    def url(self) -> str:
        return f"{self.live.url}/mcp"

    def identity(self, handle: str) -> str:
        """What the consent page calls an agent in this room."""
        [(agent,)] = self.live.stored.rows("SELECT id FROM rooms_agent WHERE handle = ?", handle)
        return f"{agent}:{self.number}"


@pytest.fixture(scope="session", autouse=True)
def _clients_are_installed() -> None:
    for folder, program in (("real_agents", CLAUDE), ("real_agents", CODEX), ("peers", PEERS / "mcp-inspector")):
        if not program.exists():
            pytest.skip(f"not installed: npm ci --prefix tests/{folder}")


@pytest.fixture(scope="module")
def room(live: Live) -> Iterator[Room]:
    alice = live.person("alice")
    number = alice.make_room("the kitchen")
    machine = HandMachine(alice)
    for handle in ("claude", "codex"):
        agent_of(alice, machine, handle)
        alice.seat_agent(number, handle)
    yield Room(live, alice, number, {handle: token_of(live, alice, handle, number) for handle in ("claude", "codex")})
    machine.close()


@pytest.fixture(scope="module")
def model() -> Iterator[Model]:
    with scripted_model() as model:
        yield model
    assert not model.failures


@pytest.fixture
def env(tmp_path: Path) -> dict[str, str]:
    return home(tmp_path / "home")
