"""Undoing what a turn did to its working directory."""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from pathlib import Path

import pytest

from agentroom_machine.daemon import restore, shelf
from agentroom_machine.daemon.restore import NoSnapshot, Snapshots


@pytest.fixture
def work(tmp_path: Path) -> Path:
    folder = tmp_path / "kitchen"
    (folder / "recipes").mkdir(parents=True)
    (folder / "build").mkdir()
    (folder / "empty").mkdir()
    (folder / "soup.txt").write_text("leek\n")
    (folder / "recipes/bread.txt").write_text("flour\n")
    (folder / "build/old.bin").write_bytes(bytes(range(256)))
    (folder / ".env").write_text("KEY=1\n")
    (folder / "latest").symlink_to("soup.txt")
    (folder / "cook.sh").write_text("#!/bin/sh\n")
    (folder / "cook.sh").chmod(0o755)
    (folder / ".gitignore").write_text("build/\n.env\n")
    return folder


@pytest.fixture
def snapshots(tmp_path: Path) -> Snapshots:
    return Snapshots(tmp_path / "profile" / "snapshots")


def git(folder: Path, *args: str) -> str:
    config = ("-c", "user.name=claude", "-c", "user.email=claude@example.org")
    done = subprocess.run(["git", *config, *args], cwd=folder, check=True, capture_output=True, text=True)
    return done.stdout.strip()


def picture(folder: Path) -> dict[str, tuple[int, bytes | str]]:
    """Everything that is there, and what it holds."""
    found: dict[str, tuple[int, bytes | str]] = {}
    for path in sorted(folder.rglob("*")):
        if ".git" in path.relative_to(folder).parts:
            continue
        held = str(path.readlink()) if path.is_symlink() else path.read_bytes() if path.is_file() else ""
        found[path.relative_to(folder).as_posix()] = (path.lstat().st_mode, held)
    return found


def test_whatever_a_turn_did_is_undone(snapshots: Snapshots, work: Path) -> None:
    before = picture(work)
    assert snapshots.take(1, work)
    shutil.rmtree(work / "build")
    shutil.rmtree(work / "empty")
    (work / ".env").unlink()
    (work / "soup.txt").write_text("tomato\n")
    (work / "latest").unlink()
    (work / "latest").symlink_to("/etc/passwd")
    (work / "recipes/bread.txt").rename(work / "recipes/cake.txt")
    (work / "cook.sh").chmod(0o644)
    (work / "new/deep").mkdir(parents=True)
    (work / "new/deep/file").write_text("new\n")
    changed = {one.path: one.change for one in snapshots.settle(1)}
    assert changed == {
        ".env": "deleted", "build": "deleted", "build/old.bin": "deleted", "cook.sh": "changed", "empty": "deleted",
        "latest": "changed", "new": "created", "new/deep": "created", "new/deep/file": "created",
        "recipes/bread.txt": "deleted", "recipes/cake.txt": "created", "soup.txt": "changed",
    }  # fmt: skip
    outcome = snapshots.undo(1)
    assert not outcome.conflicts
    assert not outcome.lost
    assert picture(work) == before
    assert "new/deep/file" in outcome.removed
    assert ".env" in outcome.restored


def test_what_somebody_changed_since_is_left_and_named(snapshots: Snapshots, work: Path) -> None:
    snapshots.take(1, work)
    (work / "soup.txt").write_text("tomato\n")
    (work / "new.txt").write_text("new\n")
    (work / ".env").unlink()
    (work / "cook.sh").write_text("echo cooked\n")
    snapshots.settle(1)
    (work / "soup.txt").write_text("tomato and basil\n")
    (work / "new.txt").write_text("mine now\n")
    (work / ".env").write_text("KEY=2\n")
    outcome = snapshots.undo(1)
    assert sorted(outcome.conflicts) == [".env", "new.txt", "soup.txt"]
    assert outcome.restored == ["cook.sh"]
    assert (work / "soup.txt").read_text() == "tomato and basil\n"
    assert (work / ".env").read_text() == "KEY=2\n"


def test_what_is_touched_or_back_already_is_no_conflict(snapshots: Snapshots, work: Path) -> None:
    before = picture(work)
    snapshots.take(1, work)
    (work / "soup.txt").write_text("tomato\n")
    (work / "cook.sh").unlink()
    snapshots.settle(1)
    os.utime(work / "soup.txt")
    (work / "cook.sh").write_text("#!/bin/sh\n")
    (work / "cook.sh").chmod(0o755)
    assert not snapshots.undo(1).conflicts
    assert picture(work) == before
    again = snapshots.undo(1)
    assert (again.restored, again.removed, again.conflicts) == ([], [], [])


def test_a_turn_that_changed_nothing_has_nothing_to_undo(snapshots: Snapshots, work: Path) -> None:
    snapshots.take(1, work)
    os.utime(work / "soup.txt")
    (work / "recipes/bread.txt").write_text("flour\n")
    assert snapshots.settle(1) == []


def test_an_undo_follows_no_link_out_of_the_working_directory(snapshots: Snapshots, work: Path, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "bread.txt").write_text("mine\n")
    snapshots.take(1, work)
    shutil.rmtree(work / "recipes")
    (work / "recipes").symlink_to(outside)
    snapshots.settle(1)
    snapshots.undo(1)
    assert (outside / "bread.txt").read_text() == "mine\n"
    assert (work / "recipes/bread.txt").read_text() == "flour\n"
    snapshots.take(2, work)
    (work / "recipes/bread.txt").unlink()
    snapshots.settle(2)
    (work / "recipes").rmdir()
    (work / "recipes").symlink_to(outside)
    assert "recipes/bread.txt" in snapshots.undo(2).conflicts
    assert (outside / "bread.txt").read_text() == "mine\n"


def test_a_commit_and_a_branch_are_undone_and_the_work_goes_back_with_them(snapshots: Snapshots, work: Path) -> None:
    git(work, "init", "-q", "-b", "main")
    git(work, "add", ".")
    git(work, "commit", "-q", "-m", "Begin")
    head = git(work, "rev-parse", "HEAD")
    before = picture(work)
    snapshots.take(1, work)
    git(work, "checkout", "-q", "-b", "other")
    (work / "soup.txt").write_text("tomato\n")
    git(work, "commit", "-qam", "Tomato")
    git(work, "branch", "-D", "main")
    snapshots.settle(1)
    git(work, "status")
    outcome = snapshots.undo(1)
    assert not outcome.conflicts
    assert ".git" in outcome.restored
    assert picture(work) == before
    assert git(work, "rev-parse", "HEAD") == head
    assert git(work, "branch", "--format=%(refname:short)") == "main"
    assert git(work, "status", "--short") == ""
    git(work, "fsck", "--strict")


def test_commits_made_since_keep_the_repository_as_it_is(snapshots: Snapshots, work: Path) -> None:
    git(work, "init", "-q", "-b", "main")
    git(work, "commit", "-q", "--allow-empty", "-m", "Begin")
    snapshots.take(1, work)
    git(work, "commit", "-q", "--allow-empty", "-m", "The agent's")
    snapshots.settle(1)
    git(work, "commit", "-q", "--allow-empty", "-m", "Alice's")
    outcome = snapshots.undo(1)
    assert outcome.conflicts == [".git"]
    assert git(work, "log", "-1", "--format=%s") == "Alice's"


def test_a_repository_that_was_removed_comes_back_whole(snapshots: Snapshots, work: Path) -> None:
    git(work, "init", "-q", "-b", "main")
    git(work, "add", ".")
    git(work, "commit", "-q", "-m", "Begin")
    snapshots.take(1, work)
    shutil.rmtree(work / ".git")
    assert "deleted" in {one.change for one in snapshots.settle(1)}
    snapshots.undo(1)
    assert git(work, "log", "--format=%s") == "Begin"
    git(work, "fsck", "--strict")


def test_looking_at_a_repository_is_no_change(snapshots: Snapshots, work: Path) -> None:
    git(work, "init", "-q", "-b", "main")
    git(work, "add", ".")
    git(work, "commit", "-q", "-m", "Begin")
    snapshots.take(1, work)
    os.utime(work / "soup.txt", (1, 1))
    git(work, "status")
    assert snapshots.settle(1) == []


def test_what_is_too_large_is_not_kept_and_the_undo_says_so(
    snapshots: Snapshots, work: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shelf, "BIGGEST", 100)
    assert not snapshots.take(1, work)
    (work / "build/old.bin").unlink()
    (work / "soup.txt").unlink()
    changed = snapshots.settle(1)
    assert [one.path for one in changed if not one.restorable] == ["build/old.bin"]
    outcome = snapshots.undo(1)
    assert outcome.lost == ["build/old.bin"]
    assert outcome.restored == ["soup.txt"]


def test_storage_is_bounded_and_old_turns_go(
    snapshots: Snapshots, work: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(restore, "KEEP_TURNS", 3)
    for turn in range(1, 8):
        snapshots.take(turn, work)
        (work / "soup.txt").write_text(f"soup number {turn}\n")
        snapshots.settle(turn)
    kept = list((tmp_path / "profile").rglob("copies/??/*"))
    assert len(kept) <= len([path for path in work.rglob("*") if path.is_file()]) + 3
    with pytest.raises(NoSnapshot):
        snapshots.undo(4)
    assert snapshots.undo(7).restored == ["soup.txt"]
    assert (work / "soup.txt").read_text() == "soup number 6\n"


def test_a_store_that_is_full_keeps_no_more(snapshots: Snapshots, work: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shelf, "MOST_BYTES", 300)
    (work / "big").write_bytes(b"x" * 400)
    assert not snapshots.take(1, work)
    (work / "big").unlink()
    assert [one.restorable for one in snapshots.settle(1)] == [False]


def test_a_snapshot_outlives_the_daemon(work: Path, tmp_path: Path) -> None:
    Snapshots(tmp_path / "s").take(1, work)
    (work / "soup.txt").unlink()
    assert [one.path for one in Snapshots(tmp_path / "s").settle(1)] == ["soup.txt"]
    assert [one.path for one in Snapshots(tmp_path / "s").settle(1)] == ["soup.txt"]
    assert Snapshots(tmp_path / "s").undo(1).restored == ["soup.txt"]


def test_the_second_snapshot_copies_only_what_changed(snapshots: Snapshots, tmp_path: Path) -> None:
    folder = tmp_path / "large"
    for n in range(20):
        (folder / f"{n}").mkdir(parents=True)
        for m in range(100):
            (folder / f"{n}/{m}").write_text(f"{n} {m}\n" * 20)
    snapshots.take(1, folder)
    began = time.perf_counter()
    (folder / "3/3").write_text("changed\n")
    snapshots.take(2, folder)
    assert time.perf_counter() - began < 2
    copies = list((tmp_path / "profile").rglob("copies/??/*"))
    assert len(copies) == 2001
