"""An agent that attempts one thing after the other in that world, and what became of each."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Literal

import pytest

from agentroom_machine import wire
from agentroom_machine.confine.choice import Choice
from agentroom_machine.profile import Profile
from tests.machine.cast import agent, offer
from tests.machine.conftest import House
from tests.machine.fake_server import FakeServer
from tests.real_agents import homes
from tests.real_agents.model.scenes import attempts
from tests.real_agents.model.server import Model, scripted_model
from tests.real_agents.world import DEPLOY_TOKEN, SONG, World, world

HOMES: dict[str, Callable[[Path, str], Mapping[str, str]]] = {
    "claude": homes.claude,
    "codex": homes.codex,
    "codex in JavaScript": partial(homes.codex, model=homes.JAVASCRIPT),
}


@dataclass(frozen=True)
class Attempt:
    """A command that does something in the world, if nothing stands between."""

    command: str
    kind: wire.Subject


ATTEMPTS = [Attempt(**json.loads(line)) for line in Path(__file__).with_name("attempts.jsonl").read_text().splitlines()]


def chosen(each: int) -> list[Attempt]:
    """So many of each kind, far apart from each other in the list; the same ones every time."""
    found: list[Attempt] = []
    for kind in ("push", "delete", "spend", "credentials"):
        those = [attempt for attempt in ATTEMPTS if attempt.kind == kind]
        found += [those[number * len(those) // each] for number in range(each)]
    return found


@dataclass
class Asked:
    """A question to the owner, and what had changed in the world before it was answered."""

    question: wire.QuestionFact
    changed: list[str]


@dataclass
class Kitchen:
    """The daemon with one real agent in the world; the owner answers by ``answer``."""

    world: World
    house: House
    model: Model
    answer: Callable[[wire.QuestionFact], Literal["once", "no"]] = lambda question: "no"
    asked: list[Asked] = field(default_factory=list)
    _turns: int = 0

    def decide(self, question: wire.QuestionFact) -> wire.Verdict:
        self.asked.append(Asked(question, self.world.changes()))
        return wire.Verdict(key=question.key, verdict=self.answer(question), answer="", decided_by="alice")

    async def attempt(self, *calls: dict[str, Any] | str) -> list[str]:
        """One turn with these calls; what the agent heard of each."""
        self._turns += 1
        self.asked.clear()
        self.model.overheard.clear()
        given = [{"command": call} if isinstance(call, str) else call for call in calls]
        server = self.house.server
        server.ask(offer(self._turns, server.agents[0], attempts(*given)))
        end = await self.house.until(lambda: server.end(self._turns), "the end", seconds=60 + 8 * len(given))
        assert end.state == "done", (end, self.house.heard[-5:])
        heard: list[str] = json.loads(self.model.played[-1].say)
        assert len(heard) == len(given), heard
        return heard

    @property
    def calls(self) -> set[str]:
        """What the room is told that the agent did."""
        return {fact.title for fact in self.house.server.of(self._turns, "tool_call")}


@asynccontextmanager
async def kitchen(
    runtime: str, monkeypatch: pytest.MonkeyPatch, *, confined: bool = True, hostile: bool = True
) -> AsyncIterator[Kitchen]:
    """``hostile``: the owner's own settings allow the agent everything, and switch its sandbox off."""
    # A folder with a short name: sockets of Claude Code's sandbox lie below it.
    with TemporaryDirectory(prefix="ar-") as folder, world(Path(folder) / "world") as made, scripted_model() as model:
        environ = dict(HOMES[runtime](made.home, model.url))
        if hostile:
            _allow_everything(runtime, made.home)
        environ |= {"PATH": made.path(environ["PATH"]), DEPLOY_TOKEN: SONG, "IS_SANDBOX": "1"}
        for name, value in environ.items():
            monkeypatch.setenv(name, value)
        config = agent(made.kitchen, runtime=runtime.split()[0])
        profile = Profile(Path(folder) / "profile").make()
        Choice(profile).choose(config.id, confined=confined)
        house = House(profile, FakeServer(agents=[config]), made.kitchen)
        cook = Kitchen(made, house, model)
        house.server.decide = cook.decide
        model.listens_for = made.heard_in
        house.up()
        try:
            await cook.attempt("true")
            made.reset()  # an agent that begins looks about
            yield cook
        finally:
            await house.kill()
        assert not model.failures


def _allow_everything(runtime: str, home: Path) -> None:
    if runtime == "claude":
        hostile = {
            "permissions": {"allow": ["Bash", "Edit", "Write", "Read"], "defaultMode": "bypassPermissions"},
            "disableAllHooks": True,
            "skipDangerousModePermissionPrompt": True,
            "sandbox": {"enabled": False, "excludedCommands": ["sh", "git"]},
        }
        (home / ".claude/settings.json").write_text(json.dumps(hostile))
        return
    config = home / ".codex/config.toml"
    config.write_text(f'approval_policy = "never"\nsandbox_mode = "danger-full-access"\n{config.read_text()}')
    rules = home / ".codex/rules"
    rules.mkdir()
    allowed = ("bash", "sh", "git", "cat", "curl", "python3")
    (rules / "all.rules").write_text(
        "".join(f'prefix_rule(pattern=["{word}"], decision="allow")\n' for word in allowed)
    )
