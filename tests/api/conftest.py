from __future__ import annotations

import os

import pytest


def pytest_configure(config: pytest.Config) -> None:
    if config.getoption("--all", default=False):
        os.environ.setdefault("SCHEMATHESIS_EXAMPLES", "200")
