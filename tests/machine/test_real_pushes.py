"""The real Claude Code and Codex ask to push: the owner's yes makes it arrive, once, and they hear so."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from agentroom_machine import wire
from tests.machine.cast import agent, offer
from tests.machine.conftest import House
from tests.machine.fake_server import allow
from tests.real_agents import homes
from tests.real_agents.model.server import Model, scripted_model

pytestmark = [pytest.mark.real_agents, pytest.mark.timeout(180)]


@pytest.fixture
def model() -> Iterator[Model]:
    if not homes.PROGRAMS.is_dir():
        pytest.skip("the real agents are not installed: npm ci --prefix tests/real_agents")
    with scripted_model() as model:
        yield model
    assert not model.failures


def git(folder: Path, *args: str) -> str:
    me = ("-c", "user.name=a", "-c", "user.email=a@b")
    return subprocess.run(["git", *me, *args], cwd=folder, check=True, capture_output=True, text=True).stdout.strip()


@pytest.mark.parametrize("runtime", ["claude", "codex"])
async def test_an_approved_push_arrives_once_and_a_declined_one_does_not(
    house: House, model: Model, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, runtime: str
) -> None:
    home = tmp_path / "home"
    for name, value in (homes.claude if runtime == "claude" else homes.codex)(home, model.url).items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("IS_SANDBOX", "1")
    house.server.agents = [agent(house.repository, runtime=runtime)]
    remote = house.repository.with_name("shop-remote.git")
    arrivals = tmp_path / "arrivals"
    (remote / "hooks/post-receive").write_text(f"#!/bin/sh\ncat >> '{arrivals}'\n")
    (remote / "hooks/post-receive").chmod(0o755)
    git(house.repository, "commit", "-q", "--allow-empty", "-m", "Salt the soup")
    sha = git(house.repository, "rev-parse", "HEAD")
    house.server.decide = lambda question: wire.Verdict(key=question.key, verdict="no", answer="not yet")
    house.up()

    async def ask(turn_id: int) -> str:
        house.server.ask(offer(turn_id, house.server.agents[0], "Run `git push origin main`"))
        end = await house.until(lambda: house.server.end(turn_id), "the end", seconds=90)
        assert end.state == "done", end
        return house.server.text(turn_id)

    assert "not yet" in await ask(1)
    assert not arrivals.exists()
    house.server.decide = allow
    said = await ask(2)
    assert "it arrived" in said
    [line] = arrivals.read_text().splitlines()
    assert line.split()[1:] == [sha, "refs/heads/main"]
    assert [question.subject for question in house.server.of(2, "question")] == ["push"]
    [call] = {fact.call: fact for fact in house.server.of(2, "tool_call")}.values()
    assert call.state == "done"
    assert git(house.repository, "rev-parse", "origin/main") == sha
