"""Git's alarms in an agent's session."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from agentroom_machine.daemon import guards, push
from agentroom_machine.daemon.guards import Guards


@pytest.fixture
def alarms(tmp_path: Path) -> Iterator[Guards]:
    made = Guards(tmp_path / "guards")
    yield made
    made.close()


@pytest.fixture
def kitchen(tmp_path: Path) -> Path:
    subprocess.run(["git", "init", "-q", "--bare", "-b", "main", str(tmp_path / "remote.git")], check=True)
    subprocess.run(["git", "init", "-q", "-b", "main", str(tmp_path / "kitchen")], check=True)
    folder = tmp_path / "kitchen"
    bare_git(folder, "remote", "add", "origin", str(tmp_path / "remote.git"))
    bare_git(folder, "commit", "-q", "--allow-empty", "-m", "Begin")
    bare_git(folder, "push", "-q", "-u", "origin", "main")
    bare_git(folder, "commit", "-q", "--allow-empty", "-m", "Salt the soup")
    return folder


def bare_git(folder: Path, *args: str) -> str:
    config = ("-c", "user.name=claude", "-c", "user.email=claude@example.org")
    done = subprocess.run(["git", *config, *args], cwd=folder, check=True, capture_output=True, text=True)
    return done.stdout.strip()


def guarded(alarms: Guards, folder: Path, command: str, runtime: str = "codex") -> subprocess.CompletedProcess[str]:
    env = guards.environment(os.environ | {"GIT_AUTHOR_NAME": "c", "GIT_AUTHOR_EMAIL": "c@d"}, alarms.folder, runtime)
    env |= {"GIT_COMMITTER_NAME": "c", "GIT_COMMITTER_EMAIL": "c@d"}
    return subprocess.run(["sh", "-c", command], cwd=folder, env=env, capture_output=True, text=True, check=False)


def there(folder: Path) -> str:
    return bare_git(folder.parent / "remote.git", "rev-parse", "main")


@pytest.mark.parametrize(
    "command",
    ["git push", "git push origin main", "cd . && git push --force", "git -C . push origin HEAD:main",
     "git -c alias.x=push x", "git push --no-verify", "git push ../remote.git main",
     "python3 -c 'import os; exit(os.system(\"git push\") >> 8)'"],
)  # fmt: skip
def test_a_push_is_refused_with_words(alarms: Guards, kitchen: Path, command: str) -> None:
    before = there(kitchen)
    for runtime in ("codex", "claude"):
        done = guarded(alarms, kitchen, command, runtime)
        assert done.returncode != 0
        assert "Agentroom: nothing is pushed from here" in done.stderr
    assert there(kitchen) == before


def test_an_address_that_no_rule_rewrites_meets_the_hook(alarms: Guards, kitchen: Path) -> None:
    before = there(kitchen)
    bare_git(kitchen, "config", "remote.origin.pushurl", str(kitchen.parent / "remote.git"))
    done = guarded(alarms, kitchen, "git push origin main")
    assert done.returncode != 0
    assert "Agentroom: nothing is pushed from here" in done.stderr
    assert there(kitchen) == before


@pytest.mark.parametrize("path", ["", "tools/hooks"])
def test_the_repository_s_own_hooks_still_run(alarms: Guards, kitchen: Path, path: str) -> None:
    folder = kitchen / (path or ".git/hooks")
    folder.mkdir(parents=True, exist_ok=True)
    if path:
        bare_git(kitchen, "config", "core.hooksPath", path)
    hook = folder / "commit-msg"
    hook.write_text('#!/bin/sh\ngrep -q soup "$1" || { echo "say soup" >&2; exit 1; }\n')
    hook.chmod(0o755)
    refused = guarded(alarms, kitchen, "git commit -q --allow-empty -m 'Add bread'")
    assert refused.returncode != 0
    assert "say soup" in refused.stderr
    assert guarded(alarms, kitchen, "git commit -q --allow-empty -m 'More soup'").returncode == 0


def test_other_commands_of_git_work_as_ever(alarms: Guards, kitchen: Path) -> None:
    done = guarded(
        alarms, kitchen, "git status -s && git log --oneline && git fetch -q && git checkout -q -b x && git gc -q"
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_the_agent_s_git_says_what_became_of_an_approved_push(alarms: Guards, kitchen: Path) -> None:
    plan = push.resolve("git push origin main", kitchen)
    assert plan is not None
    before = there(kitchen)
    alarms.answer(plan, push.PushResult("done", "", {"refs/heads/main": ""}))
    said = guarded(alarms, kitchen, plan.command)
    assert said.returncode == 0, said.stderr
    assert "main -> main" in said.stderr
    assert there(kitchen) == before  # only Agentroom itself pushes
    assert bare_git(kitchen, "rev-parse", "origin/main") == plan.refs[0].sha
    alarms.forget()
    bare_git(kitchen, "commit", "-q", "--allow-empty", "-m", "More")
    assert guarded(alarms, kitchen, plan.command).returncode != 0


def test_and_why_it_failed(alarms: Guards, kitchen: Path) -> None:
    plan = push.resolve("git push origin main", kitchen)
    assert plan is not None
    alarms.answer(plan, push.PushResult("failed", "", {"refs/heads/main": "[rejected] (fetch\nfirst)"}))
    said = guarded(alarms, kitchen, plan.command)
    assert said.returncode != 0
    assert "(fetch first)" in said.stderr


def test_a_result_is_given_only_for_the_very_commit(alarms: Guards, kitchen: Path) -> None:
    plan = push.resolve("git push origin main", kitchen)
    assert plan is not None
    alarms.answer(plan, push.PushResult("done", "", {"refs/heads/main": ""}))
    bare_git(kitchen, "commit", "-q", "--allow-empty", "-m", "Slip this in")
    assert guarded(alarms, kitchen, "git push origin main").returncode != 0


def test_a_removal_over_there_is_answered_too(alarms: Guards, kitchen: Path) -> None:
    plan = push.resolve("git push --delete origin old", kitchen)
    assert plan is not None
    alarms.answer(plan, push.PushResult("done", "", {"refs/heads/old": ""}))
    assert guarded(alarms, kitchen, plan.command).returncode == 0
