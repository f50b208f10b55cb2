from __future__ import annotations

import os
from collections.abc import Iterator

import pytest
from django.core.cache import cache
from django.db import transaction
from pytest_django import DjangoDbBlocker

from tests.approvals.kitchen import Kitchen, make_kitchen


def pytest_configure(config: pytest.Config) -> None:
    if config.getoption("--all", default=False):
        os.environ.setdefault("SCHEMATHESIS_EXAMPLES", "200")


@pytest.fixture(scope="module")
def made(django_db_setup: None, django_db_blocker: DjangoDbBlocker) -> Iterator[Kitchen]:
    """The kitchen, made once, around the transaction that takes back what a test changed."""
    with django_db_blocker.unblock(), transaction.atomic():
        yield make_kitchen()
        transaction.set_rollback(True)


@pytest.fixture
def kitchen(made: Kitchen, db: None) -> Kitchen:
    cache.clear()
    return made
