"""Which servers of tools a session sees."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest

from agentroom_machine.danger import Policy
from agentroom_machine.errors import Trouble
from agentroom_machine.runtimes.launch import Launch
from agentroom_machine.runtimes.tool_servers import only_named

NOBODY = Policy()


@pytest.fixture
def claude() -> Launch:
    options = {"managedSettings": {"permissions": {"ask": ["Bash"]}}}
    return Launch("claude", ["claude-agent-acp"], {}, meta={"claudeCode": {"options": options}})


@pytest.fixture
def codex(tmp_path: Path) -> Launch:
    home = tmp_path / "codex"
    home.mkdir()
    (home / "config.toml").write_text('[mcp_servers.docs]\nurl = "https://x"\n[mcp_servers.shop]\ncommand = "x"\n')
    return Launch("codex", ["codex-acp"], {"CODEX_HOME": str(home)})


def test_claude_code_sees_only_ours_where_the_policy_names_none(claude: Launch, tmp_path: Path) -> None:
    how = only_named(claude, True, NOBODY, tmp_path)
    options = how.meta["claudeCode"]["options"]
    assert options["strictMcpConfig"] is True
    assert options["managedSettings"]["allowedMcpServers"] == [{"serverName": "room"}]
    assert options["managedSettings"]["allowManagedMcpServersOnly"] is True
    assert options["managedSettings"]["permissions"] == {"ask": ["Bash"]}
    assert "allowedMcpServers" not in claude.meta["claudeCode"]["options"]["managedSettings"]


def test_claude_code_sees_those_that_the_policy_names(claude: Launch, tmp_path: Path) -> None:
    options = only_named(claude, False, Policy(mcp_servers=("docs",)), tmp_path).meta["claudeCode"]["options"]
    assert "strictMcpConfig" not in options
    assert options["managedSettings"]["allowedMcpServers"] == [{"serverName": "docs"}]


def test_codex_leaves_out_what_nobody_named_also_from_the_repository(codex: Launch, tmp_path: Path) -> None:
    work = tmp_path / "work"
    (work / ".codex").mkdir(parents=True)
    (work / ".codex" / "config.toml").write_text('[mcp_servers.planted]\ncommand = "./x.sh"\n')
    how = only_named(codex, True, Policy(mcp_servers=("docs",)), work)
    assert how.codex_settings == ("mcp_servers.planted.enabled=false", "mcp_servers.shop.enabled=false")


def test_nobody_else_may_have_our_name(codex: Launch, tmp_path: Path) -> None:
    with pytest.raises(Trouble, match="Rename it"):
        only_named(codex, True, Policy(mcp_servers=("r*",)), tmp_path)
    Path(codex.env["CODEX_HOME"], "config.toml").write_text('[mcp_servers.room]\ncommand = "x"\n')
    with pytest.raises(Trouble, match="Rename it"):
        only_named(codex, True, NOBODY, tmp_path)


def test_gemini_is_told_the_names(tmp_path: Path) -> None:
    how = Launch("gemini", ["gemini", "--acp"], {})
    assert only_named(how, True, Policy(mcp_servers=("docs",)), tmp_path).command[-1].endswith("=room,docs")
    assert only_named(how, False, NOBODY, tmp_path).command[-1].endswith("=none")


def test_settings_that_can_not_be_read_name_nothing(codex: Launch, tmp_path: Path) -> None:
    Path(codex.env["CODEX_HOME"], "config.toml").write_text("[mcp_servers")
    assert only_named(codex, True, NOBODY, tmp_path) == dataclasses.replace(codex)
