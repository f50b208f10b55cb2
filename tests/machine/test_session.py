"""Which live session is let go, and which a turn has at that moment."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import cast

import pytest

from agentroom_machine.client import Client
from agentroom_machine.confine.confinement import Confinement
from agentroom_machine.daemon.guards import Guards
from agentroom_machine.daemon.journal import Journal
from agentroom_machine.daemon.runtime import Runtime
from agentroom_machine.daemon.session import Session, Sessions
from agentroom_machine.profile import Profile
from tests.machine.cast import agent, offer


class Process:
    """A runtime of which only its end matters."""

    alive = True

    def __init__(self) -> None:
        self.at_end: Callable[[], Awaitable[object]] | None = None

    async def close(self) -> None:
        self.alive = False
        if self.at_end:
            await self.at_end()


class Folder:
    def close(self) -> None:
        """There is nothing to remove."""


@pytest.fixture
def sessions(tmp_path: Path) -> Iterator[Sessions]:
    profile = Profile(tmp_path / "profile").make()
    journal = Journal(profile.journal_file)
    client = cast(Client, None)
    yield Sessions(journal, profile.scratch, Confinement(profile, {}), client)
    journal.close()


def idle(sessions: Sessions, room_id: int, cwd: Path) -> tuple[Session, Process]:
    """A session of Claude's in this room that nobody has used for very long."""
    process = Process()
    config = agent(cwd)
    session = Session(config, 1, cast(Runtime, process), cwd, cast(Guards, Folder()), busy=False, used_at=-1e9)
    sessions._live[config.id, room_id] = session
    return session, process


async def test_a_session_is_not_let_go_while_a_turn_looks_whether_it_still_fits(
    sessions: Sessions, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    session, process = idle(sessions, 7, tmp_path)

    async def look(looked_at: Session) -> bool:
        assert await sessions.let_go() == 0
        return True

    monkeypatch.setattr(sessions, "_as_confined", look)
    assert await sessions.open(offer(1, agent(tmp_path)), tmp_path) is session
    assert process.alive
    assert session.busy


async def test_a_session_that_a_turn_takes_while_another_ends_is_not_let_go(
    sessions: Sessions, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def fits(session: Session) -> bool:
        return True

    monkeypatch.setattr(sessions, "_as_confined", fits)
    _, first = idle(sessions, 7, tmp_path)
    second, process = idle(sessions, 8, tmp_path)
    first.at_end = lambda: sessions.open(offer(1, agent(tmp_path), room_id=8), tmp_path)
    assert await sessions.let_go() == 1
    assert (first.alive, process.alive, second.busy) == (False, True, True)


async def test_a_turn_that_ends_while_it_looks_leaves_the_session_to_be_let_go(
    sessions: Sessions, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    session, process = idle(sessions, 7, tmp_path)

    async def look(looked_at: Session) -> bool:
        raise asyncio.CancelledError

    monkeypatch.setattr(sessions, "_as_confined", look)
    with pytest.raises(asyncio.CancelledError):
        await sessions.open(offer(1, agent(tmp_path)), tmp_path)
    assert not session.busy
    assert await sessions.let_go() == 1
    assert not process.alive
