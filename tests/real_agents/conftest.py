"""The scripted model, and a folder for the agents to work in."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.real_agents.homes import PROGRAMS
from tests.real_agents.model.server import Model, scripted_model


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    here = Path(__file__).parent
    for item in items:
        if here in item.path.parents:
            item.add_marker("real_agents")


@pytest.fixture(autouse=True)
def _agents_are_installed() -> None:
    if not PROGRAMS.is_dir():
        pytest.skip("the real agents are not installed: npm ci --prefix tests/real_agents")


@pytest.fixture
def model() -> Iterator[Model]:
    with scripted_model() as model:
        yield model
    assert not model.failures


@pytest.fixture
def kitchen(tmp_path: Path) -> Path:
    """A git repository with one file."""
    folder = tmp_path / "kitchen"
    folder.mkdir()
    (folder / "menu.txt").write_text("soup\nbread\n")
    for command in (
        ["init", "-q", "-b", "main"],
        ["config", "user.email", "alice@example.org"],
        ["config", "user.name", "Alice"],
        ["add", "."],
        ["commit", "-q", "-m", "Write the menu"],
    ):
        subprocess.run(["git", *command], cwd=folder, check=True)
    return folder
