"""Claude Code and Codex, run by hand with the settings that ``agentroom hook`` prints, hear of their mail."""

from __future__ import annotations

import sys
from pathlib import Path

import httpx
import pytest

from tests.peers.conftest import Room
from tests.peers.programs import CLAUDE, CODEX, PATIENCE, begun, ran
from tests.real_agents import homes
from tests.real_agents.model.server import Model

pytestmark = [pytest.mark.real_agents, pytest.mark.timeout(600)]

COMMAND = {
    "claude": (CLAUDE, "-p", "--output-format", "json"),
    # Its person lets it trust the hooks in its window, which a test has not.
    "codex": (CODEX, "exec", "--skip-git-repo-check", "--dangerously-bypass-hook-trust"),
}
BOTH = pytest.mark.parametrize("program", ["claude", "codex"])


def write(room: Room, to: str, body: str) -> int:
    """The other agent writes a letter; its number."""
    by = {"claude": "codex", "codex": "claude"}[to]
    answer = httpx.post(
        f"{room.live.url}/api/messages",
        json={"to": [to], "subject": "the soup", "body": body},
        headers={"Authorization": f"Bearer {room.tokens[by]}"},
        timeout=30,
        trust_env=False,
    )
    assert answer.status_code == 201, answer.text
    return int(answer.json()["number"])


def hooked(room: Room, model: Model, env: dict[str, str], program: str, *, server: str = "") -> dict[str, str]:
    """The program's environment, its settings those that our command printed."""
    folder = Path(env["HOME"])
    env |= (homes.claude if program == "claude" else homes.codex)(folder, model.url)
    token = folder / "token"
    token.write_text(room.tokens[program])
    token.chmod(0o600)
    env["AGENTROOM_HOME"] = str(folder / "agentroom")
    url = server or room.live.url
    words = ["hook", program, "--server", url, "--token-file", str(token)]
    printed = ran(sys.executable, "-m", "agentroom_machine", *words, env=env)
    where = folder / (".claude/settings.json" if program == "claude" else ".codex/hooks.json")
    where.write_text(printed)
    return env


@BOTH
def test_at_its_start_it_hears_what_waits_once(room: Room, model: Model, env: dict[str, str], program: str) -> None:
    number = write(room, program, "Please taste the soup.")
    env = hooked(room, model, env, program)
    model.overheard.clear()
    model.listens_for = lambda said: f"Message {number}: from" in said
    ran(*COMMAND[program], "Say `hello`", env=env)
    assert model.overheard
    # At the start and with the prompt, the same letter was named once.
    assert {said.count(f"Message {number}: from") for said in model.overheard} == {1}
    assert "Please taste the soup." in model.overheard[0]
    # It was only looked at.
    [(read,)] = room.live.stored.rows("SELECT read_at FROM messaging_recipient WHERE seq = ?", number)
    assert read is None


@BOTH
def test_at_the_end_of_a_turn_it_hears_what_came_meanwhile_and_then_ends(
    room: Room, model: Model, env: dict[str, str], program: str
) -> None:
    env = hooked(room, model, env, program)
    model.overheard.clear()
    model.held.clear()
    model.go.clear()
    model.listens_for = lambda said: "Please stir the pot." in said
    with begun(*COMMAND[program], "Wait for me", env=env) as process:
        assert process.stdin is not None
        process.stdin.close()
        assert model.held.wait(PATIENCE)
        write(room, program, "Please stir the pot.")
        model.go.set()
        assert process.wait(PATIENCE) == 0
    # It went on with it once, and did not go round.
    assert len(model.overheard) == 1


@BOTH
def test_offline_it_works_as_ever(room: Room, model: Model, env: dict[str, str], program: str) -> None:
    env = hooked(room, model, env, program, server="http://127.0.0.1:9")
    assert "hello" in ran(*COMMAND[program], "Say `hello`", env=env)
