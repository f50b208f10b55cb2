"""What a repository says in words is told to Claude Code; links lead nowhere else."""

from __future__ import annotations

from pathlib import Path

import pytest

from agentroom_machine.runtimes.notes import MOST, NAMES, notes


@pytest.fixture
def work(tmp_path: Path) -> Path:
    (tmp_path / "work" / ".claude").mkdir(parents=True)
    return tmp_path / "work"


def test_nothing_is_told_where_nothing_stands(work: Path) -> None:
    (work / "CLAUDE.md").write_text(" \n")
    (work / ".claude" / "CLAUDE.md").mkdir()
    assert notes(work) == ""


def test_each_file_is_told_under_its_name(work: Path) -> None:
    for name in NAMES:
        (work / name).write_text(f"words of {name}")
    told = notes(work)
    for name in NAMES:
        assert f"# {name} of this repository\n\nwords of {name}\n" in told


@pytest.mark.parametrize("target", ["../secret.md", ".env", "/etc/hostname", "missing.md"])
def test_a_link_to_elsewhere_or_to_another_kind_of_file_is_not_followed(work: Path, target: str) -> None:
    (work.parent / "secret.md").write_text("secret")
    (work / ".env").write_text("secret")
    (work / "CLAUDE.md").symlink_to(target)
    assert notes(work) == ""


def test_a_link_to_the_notes_for_other_agents_is(work: Path) -> None:
    (work / "AGENTS.md").write_text("Bake with rye.")
    (work / "CLAUDE.md").symlink_to("AGENTS.md")
    assert "Bake with rye." in notes(work)


def test_it_is_bounded_and_takes_broken_text(work: Path) -> None:
    (work / "CLAUDE.md").write_bytes(b"\xff" + b"x" * 2 * MOST)
    (work / "CLAUDE.local.md").write_text("y" * 2 * MOST)
    assert MOST < len(notes(work)) < MOST + 500
