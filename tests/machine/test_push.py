"""A lone push that the owner approved: exactly as shown, once, and nothing of the repository's runs."""

from __future__ import annotations

import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest

from agentroom_machine.daemon import push

AGENT = ("-c", "user.name=claude", "-c", "user.email=claude@example.org")


@dataclass
class Kitchen:
    """A repository in which an agent worked, and the bare remote that others share."""

    folder: Path
    remote: Path

    def git(self, *args: str) -> str:
        done = subprocess.run(["git", *AGENT, *args], cwd=self.folder, check=True, capture_output=True, text=True)
        return done.stdout.strip()

    def commit(self, words: str = "Salt the soup") -> str:
        self.git("commit", "-q", "--allow-empty", "-m", words)
        return self.git("rev-parse", "HEAD")

    def there(self, name: str = "refs/heads/main") -> str:
        """What stands in the remote."""
        done = subprocess.run(
            ["git", "rev-parse", "--verify", "-q", name], cwd=self.remote, capture_output=True, text=True, check=False
        )
        return done.stdout.strip()

    def plan(self, command: str) -> push.PushPlan:
        plan = push.resolve(command, self.folder)
        assert plan is not None
        return plan


@pytest.fixture
def kitchen(tmp_path: Path) -> Kitchen:
    kitchen = Kitchen(tmp_path / "kitchen", tmp_path / "remote.git")
    kitchen.folder.mkdir()
    subprocess.run(["git", "init", "-q", "--bare", "-b", "main", str(kitchen.remote)], check=True)
    kitchen.git("init", "-q", "-b", "main")
    kitchen.git("remote", "add", "origin", str(kitchen.remote))
    kitchen.commit("Begin")
    kitchen.git("push", "-q", "-u", "origin", "main")
    return kitchen


@pytest.mark.parametrize(
    "command",
    ["git push", "git push origin", "git push origin main", "git push -u origin HEAD", "git push origin main:main",
     "git push origin HEAD:refs/heads/main", "git push --no-verify origin 'main'"],
)  # fmt: skip
def test_a_lone_push_is_shown_and_done_exactly_so(kitchen: Kitchen, command: str) -> None:
    sha = kitchen.commit()
    plan = kitchen.plan(command)
    assert kitchen.there() != sha
    assert plan.url == str(kitchen.remote)
    assert [ref.spec for ref in plan.refs] == [f"{sha}:refs/heads/main"]
    assert sha in plan.shown()
    assert str(kitchen.remote) in plan.shown()
    assert "Salt the soup" in plan.shown()
    result = push.run(plan)
    assert (result.state, result.refs) == ("done", {"refs/heads/main": ""})
    assert kitchen.there() == sha
    push.note(plan, kitchen.folder)
    assert kitchen.git("rev-parse", "origin/main") == sha


def test_what_was_committed_after_the_question_is_not_pushed(kitchen: Kitchen) -> None:
    sha = kitchen.commit()
    plan = kitchen.plan("git push")
    kitchen.commit("Slip this in")
    push.run(plan)
    assert kitchen.there() == sha


def test_the_question_shows_the_commit_itself_not_what_was_put_in_its_place(kitchen: Kitchen) -> None:
    innocent = kitchen.git("rev-parse", "HEAD")
    sha = kitchen.commit("Poison the soup")
    kitchen.git("replace", sha, kitchen.git("commit-tree", "HEAD^{tree}", "-p", innocent, "-m", "Salt the soup"))
    plan = kitchen.plan("git push origin main")
    assert plan.refs[0].sha == sha
    assert "Poison the soup" in plan.shown()
    assert "Salt the soup" not in plan.shown()


def test_a_commit_under_another_ones_name_is_not_pushed(kitchen: Kitchen) -> None:
    objects = kitchen.folder / ".git/objects"
    innocent, sha = kitchen.commit("Salt the soup"), kitchen.commit("Poison the soup")
    forged = objects / sha[:2] / sha[2:]
    forged.chmod(0o644)
    forged.write_bytes((objects / innocent[:2] / innocent[2:]).read_bytes())
    assert push.resolve("git push origin main", kitchen.folder) is None


def test_a_change_of_the_remote_after_the_question_changes_nothing(kitchen: Kitchen, tmp_path: Path) -> None:
    sha = kitchen.commit()
    plan = kitchen.plan("git push origin main")
    kitchen.git("remote", "set-url", "origin", str(tmp_path / "elsewhere.git"))
    assert push.run(plan).state == "done"
    assert kitchen.there() == sha


def test_another_branch_a_tag_and_a_removal(kitchen: Kitchen) -> None:
    sha = kitchen.commit()
    kitchen.git("tag", "v1")
    assert push.run(kitchen.plan("git push origin HEAD:soup v1")).state == "done"
    assert kitchen.there("refs/heads/soup") == sha
    assert kitchen.there("refs/tags/v1") == sha
    plan = kitchen.plan("git push --delete origin soup")
    assert "removes refs/heads/soup there" in plan.shown()
    push.run(plan)
    assert kitchen.there("refs/heads/soup") == ""
    assert kitchen.there("refs/tags/v1") == sha


def test_a_push_that_would_lose_commits_fails_unless_it_says_so(kitchen: Kitchen) -> None:
    kitchen.commit()
    push.run(kitchen.plan("git push"))
    kitchen.git("reset", "-q", "--hard", "HEAD~1")
    sha = kitchen.commit("Start over")
    refused = push.run(kitchen.plan("git push origin main"))
    assert refused.state == "failed"
    assert "non-fast-forward" in refused.refs["refs/heads/main"]
    assert kitchen.there() != sha
    forced = kitchen.plan("git push --force origin main")
    assert "what is there may be lost" in forced.shown()
    assert push.run(forced).state == "done"
    assert kitchen.there() == sha


def test_a_forged_list_of_descent_loses_no_commits(kitchen: Kitchen) -> None:
    objects = kitchen.folder / ".git/objects"
    kitchen.commit()
    push.run(kitchen.plan("git push"))
    there = kitchen.there()
    sha = kitchen.git("commit-tree", "HEAD^{tree}", "-m", "Start over")
    as_if = kitchen.git("commit-tree", "HEAD^{tree}", "-p", there, "-m", "Start over")
    kitchen.git("reset", "-q", "--hard", sha)
    kitchen.commit("Salt it")
    commit = objects / sha[:2] / sha[2:]
    honest = commit.read_bytes()
    commit.chmod(0o644)
    commit.write_bytes((objects / as_if[:2] / as_if[2:]).read_bytes())
    kitchen.git("commit-graph", "write", "--reachable")
    commit.write_bytes(honest)
    assert push.run(kitchen.plan("git push origin main")).state == "failed"
    assert kitchen.there() == there


def test_a_careful_force_fails_when_somebody_else_pushed_meanwhile(kitchen: Kitchen) -> None:
    kitchen.git("commit", "-q", "--amend", "--allow-empty", "-m", "Begin again")
    plan = kitchen.plan("git push --force-with-lease origin main")
    other = kitchen.git("commit-tree", "HEAD^{tree}", "-m", "Somebody else")
    kitchen.git("push", "-q", "-f", str(kitchen.remote), f"{other}:refs/heads/main")
    assert push.run(plan).state == "failed"
    assert kitchen.there() == other


@pytest.mark.parametrize(
    "command",
    ["git push; true", "git commit && git push", "git push | cat", "git push origin $(cat x)", "GIT_SSH=evil git push",
     "git -c core.sshCommand=evil push", "git -C . push", "env git push", "/usr/bin/git push", "git push origin ma*",
     "git push --receive-pack=evil origin main", "git push --all", "git push --mirror", "git push --tags",
     "git push -o ci.skip", "git push origin main --exec=evil", "git push ext::evil main", "git push . main",
     "git push ../x main", "git push origin nothing", "git push origin 'a b'", "git push --repo=x", "git\npush",
     "git push origin main\nrm x", "git push 'ssh://-oProxyCommand=evil/x' main", "git push git://example.org/x main",
     "git push -- -x", "git pull", "git push origin main:refs/pull/1", "git push origin HEAD:../../x"],
)  # fmt: skip
def test_whatever_is_more_than_a_lone_push_stays_confined(kitchen: Kitchen, command: str) -> None:
    assert push.resolve(command, kitchen.folder) is None


@pytest.mark.parametrize(
    "setting",
    [("url.https://evil.example/.insteadOf", "https://"), ("url.x:.pushInsteadOf", "/"),
     ("remote.origin.mirror", "true"), ("remote.origin.push", "refs/heads/*:refs/heads/*"),
     ("remote.origin.vcs", "evil"), ("remote.origin.receivepack", "evil"), ("push.default", "matching")],
)  # fmt: skip
def test_settings_that_would_make_it_another_push_leave_it_confined(kitchen: Kitchen, setting: tuple[str, str]) -> None:
    kitchen.git("config", *setting)
    assert push.resolve("git push", kitchen.folder) is None


def test_nothing_that_the_repository_names_is_run(kitchen: Kitchen, tmp_path: Path) -> None:
    """Hooks, monitors, helpers, pagers, signers and programs for ssh, all planted by an agent."""
    trap = tmp_path / "sprung"
    program = tmp_path / "trap.sh"
    program.write_text(f"#!/bin/sh\necho $0 $* >> '{trap}'\n")
    program.chmod(0o755)
    sha = kitchen.commit()
    for name in ("pre-push", "reference-transaction", "post-update", "pre-auto-gc", "post-index-change"):
        (kitchen.folder / ".git/hooks" / name).unlink(missing_ok=True)
        (kitchen.folder / ".git/hooks" / name).symlink_to(program)
    programs = (
        "core.fsmonitor", "core.sshCommand", "credential.helper", "core.pager", "gpg.program", "diff.external",
        "core.gitProxy", "core.askPass", "core.editor", "remote.origin.uploadpack",
    )  # fmt: skip
    for setting in programs:
        kitchen.git("config", setting, str(program))
    for setting in ("push.gpgSign", "log.showSignature", "core.untrackedCache"):
        kitchen.git("config", setting, "true")
    trap.unlink(missing_ok=True)
    plan = kitchen.plan("git push origin main")
    assert push.run(plan).state == "done"
    push.note(plan, kitchen.folder)
    assert kitchen.there() == sha
    assert not trap.exists(), trap.read_text()


def test_a_remote_that_an_agent_could_have_made_is_none(kitchen: Kitchen) -> None:
    subprocess.run(["git", "init", "-q", "--bare", str(kitchen.folder / "own.git")], check=True)
    assert push.resolve(f"git push {kitchen.folder}/own.git main", kitchen.folder) is None


def test_a_repository_elsewhere_or_with_borrowed_commits_is_not_pushed(kitchen: Kitchen, tmp_path: Path) -> None:
    diary = tmp_path / "diary"
    kitchen.git("clone", "-q", str(kitchen.remote), str(diary))
    work = tmp_path / "work"
    work.mkdir()
    (work / ".git").write_text(f"gitdir: {diary}/.git\n")
    assert push.resolve("git push origin main", work) is None
    (kitchen.folder / ".git/objects/info/alternates").write_text(f"{diary}/.git/objects\n")
    assert push.resolve("git push origin main", kitchen.folder) is None


@pytest.mark.parametrize(
    "place",
    ["objects", "objects/pack", "objects/info", "objects/{ab}", "refs", "refs/heads", "refs/heads/p", "packed-refs",
     "HEAD", "logs", "p"],
)  # fmt: skip
def test_what_leads_out_of_the_repository_by_a_link_is_not_pushed(kitchen: Kitchen, tmp_path: Path, place: str) -> None:
    """Everything but settings and hooks can be written inside."""
    diary = tmp_path / "diary"
    kitchen.git("clone", "-q", str(kitchen.remote), str(diary))
    subprocess.run(["git", *AGENT, "commit", "-q", "--allow-empty", "-m", "Dear diary"], cwd=diary, check=True)
    plan = kitchen.plan("git push origin main")
    own = kitchen.folder / ".git" / place.format(ab=plan.refs[0].sha[:2])
    if own.exists():
        own.rename(tmp_path / "aside")
    own.symlink_to(diary / ".git" / place.replace("heads/p", "heads").replace("{ab}", "pack"))
    for command in ("git push origin main", "git push origin p/main:menu", "git push origin p:menu"):
        assert push.resolve(command, kitchen.folder) is None
    result = push.run(plan)
    assert result.state == "failed"
    assert "lead elsewhere" in result.output
    assert kitchen.there("refs/heads/menu") == ""


def test_a_folder_that_calls_another_one_its_own_is_not_pushed(kitchen: Kitchen, tmp_path: Path) -> None:
    diary = tmp_path / "diary"
    kitchen.git("clone", "-q", str(kitchen.remote), str(diary))
    plan = kitchen.plan("git push origin main")
    (kitchen.folder / ".git/commondir").write_text(f"{diary}/.git\n")
    assert push.resolve("git push origin main", kitchen.folder) is None
    assert push.run(plan).state == "failed"
    (kitchen.folder / ".git/commondir").unlink()
    disguised = kitchen.folder / "soup"
    kitchen.git("init", "-q", "--bare", str(disguised))
    kitchen.git("-C", str(disguised), "config", "core.bare", "false")
    kitchen.git("-C", str(disguised), "config", "core.worktree", str(kitchen.folder))
    assert push.resolve("git push origin main", disguised) is None


def test_links_among_the_hooks_keep_nothing_from_being_pushed(kitchen: Kitchen, tmp_path: Path) -> None:
    (kitchen.folder / ".git/hooks/pre-commit").symlink_to(tmp_path / "checks.sh")
    assert push.run(kitchen.plan("git push origin main")).state == "done"


def test_a_worktree_is_pushed_when_its_repository_is_among_the_known_ones(kitchen: Kitchen, tmp_path: Path) -> None:
    tree = tmp_path / "tree"
    kitchen.git("worktree", "add", "-q", "-b", "room", str(tree))
    assert push.resolve("git push origin room", tree) is None
    plan = push.resolve("git push origin room", tree, [kitchen.folder])
    assert plan is not None
    assert push.run(plan).state == "done"
    assert kitchen.there("refs/heads/room")


def test_passwords_in_addresses_are_not_shown(kitchen: Kitchen) -> None:
    kitchen.git("remote", "set-url", "origin", "https://alice:hunter2@example.org/kitchen.git")
    plan = kitchen.plan("git push origin main")
    assert "hunter2" not in plan.shown()
    assert "alice:…@example.org" in plan.shown()


def test_a_push_that_hangs_ends_unknown(kitchen: Kitchen, monkeypatch: pytest.MonkeyPatch) -> None:
    hook = kitchen.remote / "hooks/pre-receive"
    hook.write_text("#!/bin/sh\nsleep 60\n")
    hook.chmod(0o755)
    kitchen.commit()
    monkeypatch.setattr(push, "TIME", 1.0)
    result = push.run(kitchen.plan("git push"))
    assert result.state == "unknown"
    assert "not known" in result.output


def test_the_owner_s_own_rewriting_of_addresses_is_shown_and_done(
    kitchen: Kitchen, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / ".gitconfig").write_text(
        f'[url "{tmp_path}/"]\n\tpushInsteadOf = https://example.org/\n[url "nowhere:"]\n\tinsteadOf = {tmp_path}\n'
    )
    sha = kitchen.commit()
    plan = kitchen.plan("git push https://example.org/remote.git main")
    assert plan.url == str(kitchen.remote)
    assert push.run(plan).state == "done"
    assert kitchen.there() == sha
