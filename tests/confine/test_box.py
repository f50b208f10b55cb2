"""A box around a whole process: what it shows, what it hides, and the one way out."""

from __future__ import annotations

import asyncio
import dataclasses
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from agentroom_machine.confine import support
from agentroom_machine.confine.confinement import Confinement
from agentroom_machine.profile import Profile
from agentroom_machine.runtimes.launch import Launch
from tests.confine.canary import SONG, House, assert_confined, assert_open, house
from tests.machine.cast import agent


@pytest.fixture
def home(tmp_path: Path) -> Iterator[House]:
    with house(tmp_path) as made:
        yield made


@dataclasses.dataclass
class Ran:
    code: int
    output: str


async def run(
    home: House,
    command: str,
    *,
    runtime: str = "demo",
    environ: dict[str, str] | None = None,
    room: int = 7,
    memory: int = 1,
) -> Ran:
    """Runs a shell command as an agent of that runtime would be run, in its box."""
    env = {"PATH": "/usr/bin:/bin", "HOME": str(home.home), **(environ or {})}
    profile = Profile(home.profile)
    how = Launch(runtime, ["/bin/sh", "-c", command], env)
    confined = await Confinement(profile, env).enter(
        how, agent(home.workdir, runtime=runtime), guards=home.root, room_id=room, memory=memory, cwd=home.workdir
    )
    try:
        process = await asyncio.create_subprocess_exec(
            *confined.launch.command,
            cwd=home.workdir,
            env=confined.launch.env,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        )
        output, _ = await process.communicate()
    finally:
        await confined.close()
    assert process.returncode is not None
    return Ran(process.returncode, output.decode())


def test_this_machine_can_confine() -> None:
    assert support.missing() == ""


async def test_a_command_reads_no_secret_and_reaches_no_host(home: House) -> None:
    await run(home, "sh probe.sh")
    assert_confined(home)


def test_the_same_command_gets_everything_when_nothing_confines_it(home: House) -> None:
    subprocess.run(["sh", "probe.sh"], cwd=home.workdir, check=True, env=os.environ | {"PATH": "/usr/bin:/bin"})
    assert_open(home)


async def test_only_the_working_directory_and_the_system_are_there(home: House) -> None:
    ran = await run(home, "ls -A / ~; touch /usr/x ~/../y /etc/z; echo kept > ~/mine; cat /etc/shadow")
    assert "old_root" not in ran.output
    assert "pantry" not in ran.output
    assert "kitchen" in ran.output
    assert not (home.home / "mine").exists()
    assert "/etc/shadow: Permission denied" in ran.output
    assert "Read-only file system" in ran.output


async def test_a_room_keeps_its_own_home_and_another_begins_empty(home: House) -> None:
    await run(home, "echo saffron > ~/word")
    assert "saffron" in (await run(home, "cat ~/word")).output
    for room, memory in ((8, 1), (7, 2)):
        assert "No such file" in (await run(home, "cat ~/word", room=room, memory=memory)).output


async def test_a_commit_works_and_settings_and_hooks_stay_as_they_are(home: House) -> None:
    git(home, "init", "-q", ".")
    git(home, "remote", "add", "origin", "https://alice:hunter2secret@example.org/kitchen.git")
    before = (home.workdir / ".git/config").read_text()
    ran = await run(
        home,
        "git add probe.sh && git -c user.name=a -c user.email=a@b commit -qm one && git log --format=%s;"
        "cat .git/config; git config core.pager evil; echo evil > .git/hooks/post-commit;"
        "mv .git .git2; rm -rf .git/hooks",
    )
    assert "one" in ran.output
    assert "https://example.org/kitchen.git" in ran.output
    assert "hunter2secret" not in ran.output
    assert (home.workdir / ".git/config").read_text() == before
    assert not (home.workdir / ".git/hooks/post-commit").exists()
    assert not (home.workdir / ".git2").exists()


async def test_a_worktree_commits_into_its_repository_and_a_forged_pointer_opens_nothing(home: House) -> None:
    main = home.home / "pantry"
    git(home, "init", "-q", ".", at=main)
    git(home, "-c", "user.name=a", "-c", "user.email=a@b", "commit", "-q", "--allow-empty", "-m", "zero", at=main)
    home.script.rename(home.root / "probe.sh")
    for path in list(home.workdir.rglob("*"))[::-1]:
        path.rmdir() if path.is_dir() else path.unlink()
    git(home, "worktree", "add", "-q", str(home.workdir), at=main)
    ran = await run(home, "echo 1 > a && git add a && git -c user.name=a -c user.email=a@b commit -qm one && git log")
    assert "one" in ran.output, ran.output
    (home.workdir / ".git").write_text(f"gitdir: {home.home}/.ssh\n")
    assert SONG not in (await run(home, f"cat {home.home}/.ssh/id_ed25519")).output


async def test_secrets_of_the_environment_stay_out(home: House) -> None:
    ran = await run(home, "env", environ={"DEPLOY_TOKEN": "canary-of-the-environment", "EDITOR": "vi"})
    assert "canary-of-the-environment" not in ran.output
    assert "EDITOR=vi" in ran.output


async def test_a_runtime_sees_its_own_key_and_no_other(home: House) -> None:
    keys = {"GEMINI_API_KEY": "gemini-canary", "OPENAI_API_KEY": "openai-canary"}
    ran = await run(home, "env", runtime="gemini", environ=keys)
    assert "gemini-canary" in ran.output
    assert "openai-canary" not in ran.output


async def test_a_model_on_this_machine_is_reached_and_nothing_beside_it(home: House) -> None:
    """The host of the canaries plays the model; a second one is not allowed."""
    with house(home.root / "other") as other:
        address = {"GOOGLE_GEMINI_BASE_URL": f"http://127.0.0.1:{home.port}"}
        script = (
            f"curl -s --max-time 5 --http0.9 http://127.0.0.1:{home.port}/;"
            f"curl -s --max-time 5 --http0.9 http://127.0.0.1:{other.port}/;"
            f"curl -sS --noproxy '' --max-time 5 -p -x $HTTPS_PROXY http://127.0.0.1:{other.port}/; echo ended"
        )
        ran = await run(home, script, runtime="gemini", environ=address)
        assert (home.host.calls, other.host.calls) == (1, 0), ran.output
    assert "ended" in ran.output
    assert "403" in ran.output


def git(home: House, *args: str, at: Path | None = None) -> None:
    env = {"PATH": "/usr/bin:/bin", "HOME": str(home.home)}
    subprocess.run(["git", *args], cwd=at or home.workdir, check=True, env=env, capture_output=True)


async def test_the_masks_can_t_be_taken_away(home: House) -> None:
    ran = await run(
        home,
        "umount .env; mv .env x; rm -f .env; ln -f .env y; chmod 777 .env; cat .env y x;"
        "unshare -Urm sh -c 'umount .env; cat .env; mount -t tmpfs none /tmp && cat .env'; echo ended",
    )
    assert "ended" in ran.output
    assert SONG not in ran.output
    assert SONG in (home.workdir / ".env").read_text()
