"""The scripted model alone is enough for the real agents to work: no account, no internet."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.real_agents import homes
from tests.real_agents.driver import agent
from tests.real_agents.kitchen import repository
from tests.real_agents.model.server import Model


@pytest.fixture
def kitchen(tmp_path: Path) -> Path:
    return repository(tmp_path / "kitchen")


@dataclass(frozen=True)
class Runtime:
    program: str
    mode: str
    env: Mapping[str, str]


@pytest.fixture(params=["claude", "codex", "codex in JavaScript"])
def runtime(request: pytest.FixtureRequest, tmp_path: Path, model: Model) -> Runtime:
    home = tmp_path / "home"
    if request.param == "claude":
        return Runtime("claude-agent-acp", "default", homes.claude(home, model.url))
    kind = homes.PLAIN_TOOLS if request.param == "codex" else homes.JAVASCRIPT
    return Runtime("codex-acp", "workspace-write", homes.codex(home, model.url, model=kind))


async def test_it_speaks_runs_edits_and_draws(runtime: Runtime, kitchen: Path) -> None:
    async with agent(runtime.program, mode=runtime.mode, env=runtime.env, folder=kitchen) as cook:
        session = await cook.begin()
        assert (await cook.ask(session, "Say `good evening`")).text == "good evening"

        heard = await cook.ask(session, "Run `echo $((6 * 7)) > sum.txt; cat sum.txt`")
        assert "It printed:" in heard.text
        assert "42" in heard.text
        assert (kitchen / "sum.txt").read_text() == "42\n"

        heard = await cook.ask(session, "Change `bread` to `fresh bread` in `menu.txt`")
        assert (kitchen / "menu.txt").read_text() == "soup\nfresh bread\n"
        assert any(path.endswith("menu.txt") for path, *_ in heard.diffs)

        await cook.ask(session, "Draw `plate.png`")
        assert (kitchen / "plate.png").read_bytes().startswith(b"\x89PNG")


async def test_it_remembers_after_its_process_was_restarted(runtime: Runtime, kitchen: Path) -> None:
    async with agent(runtime.program, mode=runtime.mode, env=runtime.env, folder=kitchen) as cook:
        session = await cook.begin()
        await cook.ask(session, "Remember the word saffron")
    async with agent(runtime.program, mode=runtime.mode, env=runtime.env, folder=kitchen) as cook:
        await cook.resume(session)
        assert (await cook.ask(session, "Which word was it?")).text == "The word was saffron."


async def test_a_new_session_remembers_nothing(runtime: Runtime, kitchen: Path) -> None:
    async with agent(runtime.program, mode=runtime.mode, env=runtime.env, folder=kitchen) as cook:
        await cook.ask(await cook.begin(), "Remember the word saffron")
        assert (await cook.ask(await cook.begin(), "Which word was it?")).text == "I remember no word."


async def test_claude_asks_a_plain_question_and_hears_the_answer(model: Model, tmp_path: Path, kitchen: Path) -> None:
    """Codex has a tool for it too, which answers that it is not available in this mode."""
    env = homes.claude(tmp_path / "home", model.url)
    async with agent("claude-agent-acp", mode="default", env=env, folder=kitchen) as cook:
        heard = await cook.ask(await cook.begin(), "Ask `Which soup?` with `leek, tomato`")
        assert heard.questions == ["Which soup?"]
        assert "tomato" in heard.text
