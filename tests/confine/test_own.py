"""Claude Code and Codex in their own sandboxes, each with our settings: the same canaries, on a scripted model."""

from __future__ import annotations

import dataclasses
import json
import subprocess
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from agentroom_machine.confine.confinement import Confinement
from agentroom_machine.daemon import guards
from agentroom_machine.daemon.call import Call
from agentroom_machine.daemon.gatekeeper import Decision
from agentroom_machine.daemon.guards import Guards
from agentroom_machine.daemon.hook import HookAnswer, HookCall
from agentroom_machine.daemon.runtime import Runtime
from agentroom_machine.profile import Profile
from agentroom_machine.runtimes.launch import Surroundings, launch
from tests.confine.canary import SONG, House, assert_confined, assert_open, house
from tests.machine.cast import agent
from tests.real_agents import homes
from tests.real_agents.model.server import Model, scripted_model

pytestmark = [pytest.mark.real_agents, pytest.mark.timeout(180)]
HOMES: dict[str, Callable[[Path, str], Mapping[str, str]]] = {
    "claude": homes.claude,
    "codex": homes.codex,
    "codex in JavaScript": partial(homes.codex, model=homes.JAVASCRIPT),
}
EACH = pytest.mark.parametrize("name", HOMES)


class Says:
    """A turn whose owner says yes to everything."""

    def __init__(self) -> None:
        self.hooked: list[str] = []
        self.asked: list[str] = []

    def on_update(self, update: Mapping[str, Any]) -> None:
        """Not looked at here."""

    def on_alarm(self, words: str) -> None:
        raise AssertionError(words)

    async def on_hook(self, call: HookCall) -> HookAnswer:
        self.hooked.append(call.name)
        return HookAnswer(True)

    async def on_permission(self, call: Call) -> Decision:
        self.asked.append(call.title)
        return Decision(True)

    async def on_question(self, text: str, options: list[str], call: str) -> str | None:
        return None

    def known(self, call_id: str) -> tuple[str, str, Any]:
        return "", "", None


@pytest.fixture
def model() -> Iterator[Model]:
    if not homes.PROGRAMS.is_dir():
        pytest.skip("the real agents are not installed: npm ci --prefix tests/real_agents")
    with scripted_model() as model:
        yield model
    assert not model.failures


@pytest.fixture
def home(tmp_path: Path) -> Iterator[House]:
    with house(tmp_path) as made:
        subprocess.run(["git", "init", "-q", "-b", "main"], cwd=made.workdir, check=True)
        yield made


def hostile(home: House, name: str) -> None:
    """The owner's own settings allow everything and switch the runtime's sandbox off."""
    if name == "claude":
        settings = {"permissions": {"allow": ["Bash"]}, "sandbox": {"enabled": False, "excludedCommands": ["sh"]}}
        (home.home / ".claude/settings.json").write_text(json.dumps(settings))
        return
    config = home.home / ".codex/config.toml"
    config.write_text(f'approval_policy = "never"\nsandbox_mode = "danger-full-access"\n{config.read_text()}')
    rules = home.home / ".codex/rules"
    rules.mkdir()
    allowed = ("sh", "bash", "cat", "git", "curl")
    (rules / "all.rules").write_text(
        "".join(f'prefix_rule(pattern=["{word}"], decision="allow")\n' for word in allowed)
    )


async def run(home: House, name: str, environ: Mapping[str, str], command: str, *, confined: bool = True) -> Says:
    env = dict(environ) | {"IS_SANDBOX": "1"}
    config = agent(home.workdir, runtime=name.split()[0])
    how = launch(config, Surroundings(environ=env))
    alarms = Guards(Profile(home.profile).scratch / "guards")
    try:
        if confined:
            confinement = Confinement(Profile(home.profile), env)
            assert confinement.why_not(config) == ""
            how = (
                await confinement.enter(how, config, room_id=7, memory=1, cwd=home.workdir, guards=alarms.folder)
            ).launch
        how = dataclasses.replace(how, env=guards.environment(how.env, alarms.folder, how.runtime))
        turn, runtime = Says(), Runtime(how, home.workdir, "test")
        try:
            await runtime.start(None, "", {})
            runtime.turn = turn
            await runtime.prompt(f"Run `{command}`", [])
        finally:
            await runtime.close()
    finally:
        alarms.close()
    return turn


@EACH
async def test_a_command_reads_no_secret_and_reaches_no_host(home: House, model: Model, name: str) -> None:
    environ = HOMES[name](home.home, model.url)
    hostile(home, name)
    turn = await run(home, name, environ, "sh probe.sh")
    assert turn.hooked
    assert_confined(home)


@pytest.mark.parametrize("name", ["claude", "codex"])
async def test_the_same_command_gets_everything_when_nothing_confines_it(home: House, model: Model, name: str) -> None:
    environ = HOMES[name](home.home, model.url)
    if name == "codex":
        # Even unconfined it runs in Codex's sandbox, which hides no file and lets nothing be written or reached.
        await run(home, name, environ, "sh probe.sh", confined=False)
        assert SONG in home.loot
        return
    await run(home, name, environ, "sh probe.sh", confined=False)
    assert_open(home)


@EACH
async def test_a_commit_works_and_settings_and_hooks_stay_as_they_are(home: House, model: Model, name: str) -> None:
    environ = HOMES[name](home.home, model.url)
    before = (home.workdir / ".git/config").read_text()
    me = "-c user.name=a -c user.email=a@b"
    await run(
        home,
        name,
        environ,
        f"git add probe.sh && git {me} commit -qm one; git config core.pager evil; touch .git/hooks/post-commit",
    )
    assert git(home, "log", "--format=%s") == "one\n"
    assert (home.workdir / ".git/config").read_text() == before
    assert not (home.workdir / ".git/hooks/post-commit").exists()


@pytest.mark.parametrize("name", ["claude", "codex"])
async def test_a_push_inside_is_refused_with_words(home: House, model: Model, name: str) -> None:
    environ = HOMES[name](home.home, model.url)
    remote = home.root / "remote.git"
    git(home, "init", "-q", "--bare", str(remote))
    git(home, "commit", "-q", "--allow-empty", "-m", "one")
    git(home, "remote", "add", "origin", str(remote))
    await run(home, name, environ, "git push origin main > said.txt 2>&1")
    assert "Agentroom: nothing is pushed from here" in (home.workdir / "said.txt").read_text()
    assert not list((remote / "refs/heads").iterdir())


def git(home: House, *args: str) -> str:
    me = ("-c", "user.name=a", "-c", "user.email=a@b")
    return subprocess.run(["git", *me, *args], cwd=home.workdir, check=True, capture_output=True, text=True).stdout
