"""What is said to the sandboxes that Claude Code and Codex bring along, without starting them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from agentroom_machine.confine import own, secrets

ENV = {
    "SHOP_PASSWORD": "salt and pepper",
    "DATABASE_URL": "postgres://a:pepper@db/x",
    "EDITOR": "vi",
    "MY_KEY": "short",
}
OWN_RULES = '[shell_environment_policy]\nexclude = ["PANTRY_*"]\n'


def codex_settings(folder: Path, config: str) -> str:
    (folder / "codex").write_text("")
    (folder / "config.toml").write_text(config)
    env = ENV | {"CODEX_PATH": str(folder / "codex"), "CODEX_HOME": str(folder)}
    own.codex(
        env, program=folder / "codex", workdir=folder, home=folder, hide=[], found=secrets.Found(), read=[],
        wrapper=folder / "box" / "codex",
    )  # fmt: skip
    return (folder / "box" / "codex").read_text()


@pytest.mark.parametrize(("config", "kept"), [(OWN_RULES, True), ("", False), ("not TOML", False)])
def test_codex_keeps_from_its_commands_what_the_owner_and_what_we_name(tmp_path: Path, config: str, kept: bool) -> None:
    said = codex_settings(tmp_path, config)
    assert '"SHOP_PASSWORD"' in said
    assert '"DATABASE_URL"' in said
    assert "EDITOR" not in said
    assert ('"PANTRY_*"' in said) is kept


def test_claude_code_keeps_secret_variables_from_its_commands(tmp_path: Path) -> None:
    options: dict[str, Any] = {"settings": {}, "managedSettings": {"permissions": {}}}
    own.claude(options, workdir=tmp_path, home=tmp_path, hide=[], show=[], found=secrets.Found(), hosts=(), env=ENV)
    denied = {one["name"] for one in options["settings"]["sandbox"]["credentials"]["envVars"]}
    assert {"SHOP_PASSWORD", "DATABASE_URL", "ANTHROPIC_API_KEY"} <= denied
    assert not {"EDITOR", "MY_KEY"} & denied


def test_an_empty_folder_with_a_secret_name_hides_nothing_and_is_not_hidden(tmp_path: Path) -> None:
    """Codex makes such ones itself, and none of its commands would run if one were hidden and then gone."""
    (tmp_path / ".aws").mkdir()
    assert secrets.look(tmp_path).folders == []
    (tmp_path / ".aws" / "credentials").write_text("key")
    assert secrets.look(tmp_path).folders == [tmp_path / ".aws"]
