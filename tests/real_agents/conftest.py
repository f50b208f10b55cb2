"""The scripted model, and where the real agents are."""

from __future__ import annotations

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
