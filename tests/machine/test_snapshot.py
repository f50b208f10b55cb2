import subprocess
from pathlib import Path

import pytest

from agentroom_machine.daemon.files import produced, save
from agentroom_machine.daemon.redact import Redactor
from agentroom_machine.daemon.snapshot import differences, take
from agentroom_machine.daemon.workspace import NoWorkspace, prepare
from tests.machine.cast import agent


def git(folder: Path, *args: str) -> None:
    subprocess.run(["git", *args], cwd=folder, check=True, capture_output=True)


@pytest.fixture(params=["repository", "folder"])
def work(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    folder = tmp_path / "work"
    folder.mkdir()
    (folder / "a.txt").write_text("one\ntwo\n")
    (folder / "b.txt").write_text("bee\n")
    if request.param == "repository":
        git(folder, "init", "-q")
        git(folder, "config", "user.email", "alice@example.com")
        git(folder, "config", "user.name", "alice")
        git(folder, "add", ".")
        git(folder, "commit", "-qm", "first")
    return folder


def test_a_shells_edits_are_seen(work: Path) -> None:
    before = take(work)
    (work / "a.txt").write_text("one\n2\n3\n")
    (work / "b.txt").unlink()
    (work / "new.txt").write_text("new\n")
    found = {str(item.path): (item.change, item.old, item.new) for item in differences(before)}
    assert found == {
        "a.txt": ("changed", "one\ntwo\n", "one\n2\n3\n"),
        "b.txt": ("deleted", "bee\n", ""),
        "new.txt": ("created", "", "new\n"),
    }


def test_a_file_that_was_only_touched_is_no_change(work: Path) -> None:
    before = take(work)
    (work / "a.txt").write_text("one\ntwo\n")
    assert differences(before) == []


def test_what_was_changed_before_the_turn_is_not_counted(work: Path) -> None:
    (work / "a.txt").write_text("one\ntwo\nthree\n")
    before = take(work)
    (work / "a.txt").write_text("one\ntwo\nthree\nfour\n")
    (found,) = differences(before)
    assert found.old == "one\ntwo\nthree\n"


def test_looking_runs_nothing_that_the_repository_names(tmp_path: Path) -> None:
    work = tmp_path / "work"
    work.mkdir()
    git(work, "init", "-q")
    (work / "a.txt").write_text("one\n")
    (work / ".gitattributes").write_text("*.txt filter=evil diff=evil\n")
    git(work, "add", ".")
    git(work, "-c", "user.email=a@example.com", "-c", "user.name=a", "commit", "-qm", "first")
    ran = tmp_path / "ran"
    for key in ("core.fsmonitor", "filter.evil.clean", "filter.evil.smudge", "diff.evil.textconv", "diff.external"):
        git(work, "config", key, f"touch {ran}; cat")
    hook = work / ".git" / "hooks" / "post-checkout"
    hook.write_text(f"#!/bin/sh\ntouch {ran}\n")
    hook.chmod(0o755)
    before = take(work)
    (work / "a.txt").write_text("two\n")
    assert [str(item.path) for item in differences(before)] == ["a.txt"]
    prepare(agent(work, worktree_per_room=True), 7, tmp_path / "trees")
    assert not ran.exists()


def test_ignored_files_stay_unseen(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q")
    (tmp_path / ".gitignore").write_text("out/\n")
    before = take(tmp_path)
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "x.png").write_bytes(b"png")
    (tmp_path / "y.png").write_bytes(b"png")
    assert [str(item.path) for item in differences(before)] == ["y.png"]


def test_produced_pictures_leave_and_secrets_stay(work: Path, tmp_path: Path) -> None:
    (tmp_path / "outside.png").write_bytes(b"outside")
    before = take(work)
    (work / "plot.png").write_bytes(b"\x89PNG\0")
    (work / "link.png").symlink_to(tmp_path / "outside.png")
    (work / "id_card.png").write_bytes(b"x")
    (work / "t.csv").write_text("user,password=hunter2222\n")
    (work / "code.py").write_text("x = 1\n")
    files, words = produced(work, differences(before), Redactor())
    assert [(item.fact.name, item.fact.content_type, item.fact.size) for item in files] == [
        ("plot.png", "image/png", 5)
    ]
    assert words == ["t.csv holds something that looks like a secret; it stays on the machine."]


def test_an_attached_file_keeps_only_the_last_part_of_its_name(tmp_path: Path) -> None:
    assert save(tmp_path, "../../etc/passwd", b"1").parent == tmp_path
    first, second = save(tmp_path, "a.txt", b"1"), save(tmp_path, "a.txt", b"2")
    assert (first.read_bytes(), second.name) == (b"1", "a-2.txt")
    assert save(tmp_path, "a.txt", b"1") == first


def test_a_room_gets_a_worktree_of_its_own_and_gets_it_back(tmp_path: Path) -> None:
    work = tmp_path / "work"
    work.mkdir()
    git(work, "init", "-q")
    git(work, "-c", "user.email=a@example.com", "-c", "user.name=a", "commit", "-qm", "first", "--allow-empty")
    config = agent(work, worktree_per_room=True)
    first = prepare(config, 7, tmp_path / "trees")
    assert first != work
    assert prepare(config, 7, tmp_path / "trees") == first
    assert prepare(config, 8, tmp_path / "trees") != first
    assert prepare(agent(work), 7, tmp_path / "trees") == work.resolve()


def test_a_missing_working_directory_is_said_with_what_mends_it(tmp_path: Path) -> None:
    with pytest.raises(NoWorkspace, match="agentroom agents edit claude --workdir"):
        prepare(agent(tmp_path / "none"), 7, tmp_path)
