"""What is said to the sandboxes that Claude Code and Codex bring along, without starting them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from agentroom_machine.confine import own, secrets
from agentroom_machine.confine.confinement import Confinement
from agentroom_machine.profile import Profile
from agentroom_machine.runtimes.launch import Launch
from tests.machine.cast import agent

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


async def test_codex_sees_of_the_profile_its_worktree_and_the_alarms_of_its_session_alone(tmp_path: Path) -> None:
    profile = Profile(tmp_path / "profile").make()
    worktree, alarms = profile.worktrees / "1-7", profile.scratch / "guards" / "ar-guards-own"
    others = (profile.worktrees / "1-8", alarms.with_name("ar-guards-other"), profile.scratch / "rooms")
    for folder in (worktree, alarms, *others):
        folder.mkdir(parents=True)
    profile.journal_file.touch()
    (tmp_path / "codex").touch()
    env = {"CODEX_PATH": str(tmp_path / "codex"), "CODEX_HOME": str(tmp_path), "HOME": str(tmp_path / "home")}
    how = Launch("codex", [str(tmp_path / "codex")], env)
    confined = await Confinement(profile, env).enter(
        how, agent(worktree, runtime="codex"), room_id=7, memory=1, cwd=worktree, guards=alarms
    )
    said = Path(confined.launch.env["CODEX_PATH"]).read_text()
    assert f'"{worktree}"="write"' in said
    assert f'"{alarms}"="read"' in said
    for hidden in (*others, profile.journal_file):
        assert f'"{hidden}"="deny"' in said
    assert f'"{profile.folder}"=' not in said


def test_an_empty_folder_with_a_secret_name_hides_nothing_and_is_not_hidden(tmp_path: Path) -> None:
    """Codex makes such ones itself, and none of its commands would run if one were hidden and then gone."""
    (tmp_path / ".aws").mkdir()
    assert secrets.look(tmp_path).folders == []
    (tmp_path / ".aws" / "credentials").write_text("key")
    assert secrets.look(tmp_path).folders == [tmp_path / ".aws"]
