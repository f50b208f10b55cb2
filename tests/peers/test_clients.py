"""Real clients of ``/mcp``: Claude Code, Codex and the MCP Inspector, added by URL, signed in, listed and called."""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.oauth.at_the_server import lets_in
from tests.peers.conftest import Room
from tests.peers.programs import CLAUDE, CODEX, PATIENCE, PEERS, Said, asked, begun, link_in, ran
from tests.peers.terminal import Terminal
from tests.ports import free_port
from tests.real_agents.model.server import Model

pytestmark = [pytest.mark.real_agents, pytest.mark.timeout(600)]

TOOL = "agents_list_live"
ADD_TO_CLAUDE = (CLAUDE, "mcp", "add", "--scope", "user", "--transport", "http", "agentroom")
ERAS = pytest.mark.parametrize("era", ["modern", "legacy"])


# --- Claude Code


def spoken(era: str) -> dict[str, str]:
    return {"MCP_PROTOCOL_NEGOTIATION": "legacy"} if era == "legacy" else {}


def claude_calls(env: Mapping[str, str], model: Model, server: str) -> Any:
    """What the tool gave, by way of a scripted model that has it called."""
    asks = {"ANTHROPIC_BASE_URL": model.url, "ANTHROPIC_API_KEY": "not-a-key", "ENABLE_TOOL_SEARCH": "false"}
    tool = f"mcp__{server}__{TOOL}"
    said = ran(
        CLAUDE, "-p", f"Use `{tool}`", "--allowedTools", tool, "--output-format", "json", "--no-session-persistence",
        env={**env, **asks},
    )  # fmt: skip
    return json.loads(json.loads(said)["result"].removeprefix("It gave: "))


@ERAS
def test_claude_code_lists_and_calls_with_a_token_from_its_environment(
    room: Room, model: Model, env: dict[str, str], era: str
) -> None:
    env |= spoken(era) | {"AGENTROOM_TOKEN": room.tokens["claude"]}
    header = "Authorization: Bearer ${AGENTROOM_TOKEN}"
    ran(*ADD_TO_CLAUDE, room.url, "--header", header, env=env)
    assert room.tokens["claude"] not in "".join(path.read_text() for path in Path(env["HOME"]).rglob("*.json"))
    assert "✔ Connected" in ran(CLAUDE, "mcp", "list", env=env)

    given = claude_calls(env, model, "agentroom")
    assert given["you"] == "claude"
    assert [agent["handle"] for agent in given["agents"]] == ["claude", "codex"]


@ERAS
def test_claude_code_signs_in_as_the_agent_that_its_person_chose(
    room: Room, model: Model, env: dict[str, str], era: str
) -> None:
    env |= spoken(era)
    ran(*ADD_TO_CLAUDE, room.url, env=env)
    assert "Needs authentication" in ran(CLAUDE, "mcp", "list", env=env)

    terminal = Terminal([str(CLAUDE), "mcp", "login", "--no-browser", "agentroom"], env=env, cwd=Path(env["HOME"]))
    try:
        link = link_in(terminal.until("paste the redirect URL", seconds=PATIENCE))
        terminal.type(lets_in(room.alice, link, room.identity("codex")))
        assert terminal.ended(seconds=PATIENCE) == 0, terminal.shown
    finally:
        terminal.close()
    assert "✔ Connected" in ran(CLAUDE, "mcp", "list", env=env)
    assert claude_calls(env, model, "agentroom")["you"] == "codex"


def test_claude_code_with_a_token_of_nobody_is_told_to_sign_in(room: Room, env: dict[str, str]) -> None:
    header = "Authorization: Bearer arc_nobody"
    ran(*ADD_TO_CLAUDE, room.url, "--header", header, env=env)
    assert "✔ Connected" not in ran(CLAUDE, "mcp", "list", env=env)


# --- Codex


def codex_calls(env: Mapping[str, str], server: str) -> tuple[list[str], Any]:
    """The names of the server's tools, and what the one gave, by way of Codex's server for programs."""
    with begun(CODEX, "app-server", env=env) as process:
        said = Said(process)
        asked(process, said, 1, "initialize", clientInfo={"name": "kitchen", "title": "Kitchen", "version": "1"})
        found = asked(process, said, 2, "mcpServerStatus/list")["data"]
        [status] = [one for one in found if one["name"] == server]
        thread = asked(process, said, 3, "thread/start", ephemeral=True)["thread"]["id"]
        called = asked(process, said, 4, "mcpServer/tool/call", threadId=thread, server=server, tool=TOOL, arguments={})
    return sorted(status["tools"]), called["structuredContent"]


def test_codex_lists_and_calls_with_a_token_from_its_environment(room: Room, env: dict[str, str]) -> None:
    env["AGENTROOM_TOKEN"] = room.tokens["codex"]
    ran(CODEX, "mcp", "add", "agentroom", "--url", room.url, "--bearer-token-env-var", "AGENTROOM_TOKEN", env=env)
    assert "Bearer token" in ran(CODEX, "mcp", "list", env=env)
    tools, given = codex_calls(env, "agentroom")
    assert {TOOL, "agents_send", "agents_read_inbox", "agents_ack"} <= set(tools)
    assert given["you"] == "codex"


def test_codex_signs_in_as_the_agent_that_its_person_chose(room: Room, env: dict[str, str]) -> None:
    with begun(CODEX, "mcp", "add", "agentroom", "--url", room.url, env=env) as process:
        said = Said(process)
        link = link_in(said.until("/identity/o/authorize?"))
        answer = httpx.get(lets_in(room.alice, link, room.identity("claude")), trust_env=False, timeout=PATIENCE)
        assert answer.status_code == 200, answer.text
        assert process.wait(PATIENCE) == 0, said.all
    assert "OAuth" in ran(CODEX, "mcp", "list", env=env)
    tools, given = codex_calls(env, "agentroom")
    assert TOOL in tools
    assert given["you"] == "claude"


# --- the Inspector


def inspector(room: Room, *words: str, env: Mapping[str, str]) -> list[str]:
    node = shutil.which("node", path=env["PATH"])
    assert node is not None
    return [node, str((PEERS / "mcp-inspector").resolve()), "--cli", room.url, "--transport", "http", *words]


def inspected(room: Room, *words: str, env: Mapping[str, str], code: int = 0) -> str:
    return ran(*inspector(room, *words, env=env), env=env, code=code)


@ERAS
def test_the_inspector_lists_and_calls_with_a_token(room: Room, env: dict[str, str], era: str) -> None:
    token = f"Authorization: Bearer {room.tokens['claude']}"
    with_token = ("--format", "json", "-q", "--protocol-era", era, "--header", token)
    listed = json.loads(inspected(room, *with_token, "--method", "tools/list", "--strict", env=env))
    assert TOOL in [tool["name"] for tool in listed["result"]["tools"]]
    called = json.loads(inspected(room, *with_token, "--method", "tools/call", "--tool-name", TOOL, env=env))
    assert called["result"]["structuredContent"]["you"] == "claude"


def test_the_inspector_without_a_token_is_sent_to_sign_in(room: Room, env: dict[str, str]) -> None:
    inspected(room, "--stored-auth-only", "--method", "tools/list", env=env, code=3)


@ERAS
def test_the_inspector_signs_in_as_the_agent_that_its_person_chose(room: Room, env: dict[str, str], era: str) -> None:
    back = f"http://127.0.0.1:{free_port()}/oauth/callback"
    how = ("--protocol-era", era, "--callback-url", back, "--format", "json")
    call = (*how, "--method", "tools/call", "--tool-name", TOOL)
    terminal = Terminal(inspector(room, *call, env=env), env=env, cwd=Path(env["HOME"]))
    try:
        terminal.until("/identity/o/authorize?", seconds=PATIENCE)
        link = link_in(terminal.until_line_end(seconds=PATIENCE))
        answer = httpx.get(lets_in(room.alice, link, room.identity("codex")), trust_env=False, timeout=PATIENCE)
        assert answer.status_code == 200, answer.text
        assert terminal.ended(seconds=PATIENCE) == 0, terminal.shown
    finally:
        terminal.close()
    assert '\\"you\\": \\"codex\\"' in terminal.shown
