"""Where nobody looks, a skip is a lie: in CI (``CI=true``) a skipped test of these kinds fails.

Tests marked ``postgres`` are left out on another database, which isn't a skip: that stack runs apart.
"""

from __future__ import annotations

import os
from collections.abc import Generator

import pytest

NEVER_SKIPPED = ("browser", "real_agents", "postgres")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if os.environ.get("DATABASE_URL", "").startswith("postgres"):
        return
    elsewhere = [item for item in items if item.get_closest_marker("postgres")]
    if elsewhere:
        config.hook.pytest_deselected(items=elsewhere)
        items[:] = [item for item in items if item not in elsewhere]


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    if report.skipped and in_ci() and any(map(item.get_closest_marker, NEVER_SKIPPED)):
        report.outcome = "failed"
        report.longrepr = f"skipped in CI: {report.longrepr}"
    return report


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(
    collector: pytest.Collector,
) -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    report = yield
    if report.skipped and in_ci():
        report.outcome = "failed"
        report.longrepr = f"a whole module skipped in CI: {report.longrepr}"
    return report


def in_ci() -> bool:
    return os.environ.get("CI") == "true"
