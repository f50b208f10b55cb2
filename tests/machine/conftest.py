"""A daemon in this process, against a server in memory, with the real demo agent."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from agentroom_machine import wire
from agentroom_machine.client import Client
from agentroom_machine.daemon.loop import Daemon
from agentroom_machine.daemon.redact import Redactor
from agentroom_machine.demo_agent import prepare_demo_repository
from agentroom_machine.profile import Profile
from tests.machine.cast import agent
from tests.machine.fake_server import TOKEN, FakeServer


@pytest.fixture(autouse=True)
def _quiet(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.CRITICAL)


@dataclass
class House:
    """A profile, a server, and the daemons that run with them one after the other."""

    profile: Profile
    server: FakeServer
    repository: Path
    heard: list[tuple[str, str]] = field(default_factory=list)
    _running: tuple[Daemon, asyncio.Task[None], Client] | None = None

    def up(self) -> Daemon:
        client = Client("http://kitchen.test", TOKEN, self.server.transport())
        daemon = Daemon(self.profile, client, say=self._hear, redact=Redactor([TOKEN]), wait=1)
        self._running = (daemon, asyncio.create_task(daemon.run()), client)
        return daemon

    def _hear(self, event: str, text: str, **facts: object) -> None:
        self.heard.append((event, text))

    async def ended(self) -> None:
        """Waits for the daemon's own end, and raises what it raises."""
        assert self._running is not None
        _, task, client = self._running
        try:
            async with asyncio.timeout(20):
                await task
        finally:
            await client.aclose()
            self._running = None

    async def kill(self) -> None:
        """Ends the daemon without a word, as a crash would."""
        if self._running:
            _, task, client = self._running
            task.cancel()
            with contextlib.suppress(BaseException):
                await task
            await client.aclose()
            self._running = None

    async def until[Found](
        self, look: Callable[[], Found | None], what: str = "what was waited for", seconds: float = 60
    ) -> Found:
        """``seconds`` are many, because a machine that is busy with other tests takes its time."""
        try:
            async with asyncio.timeout(seconds):
                while not (found := look()):
                    if self._running and self._running[1].done():
                        self._running[1].result()
                    await asyncio.sleep(0.02)
                return found
        except TimeoutError:
            raise AssertionError(f"no sign of {what}; heard {self.heard}; facts {self.server.facts[-5:]}") from None

    async def end_of(self, turn_id: int) -> wire.EndFact:
        return await self.until(lambda: self.server.end(turn_id), f"the end of turn {turn_id}")

    def said(self, event: str) -> list[str]:
        return [text for name, text in self.heard if name == event]


@pytest.fixture
async def house(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[House]:
    monkeypatch.setenv("AGENTROOM_DEMO_PAUSE", "0.001")
    monkeypatch.setenv("AGENTROOM_DEMO_LOG", str(tmp_path / "demo.log"))
    repository = prepare_demo_repository(tmp_path / "shop")
    server = FakeServer(agents=[agent(repository)])
    house = House(Profile(tmp_path / "profile").make(), server, repository)
    yield house
    await house.kill()


@pytest.fixture
def no_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A profile folder of one's own, for the command line."""
    monkeypatch.setenv("AGENTROOM_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("AGENTROOM_NO_KEYRING", "1")
    return tmp_path / "home"
