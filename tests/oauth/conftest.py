from __future__ import annotations

from collections.abc import Iterator

import pytest
from django.core.cache import cache
from pytest_django.fixtures import Settings

from tests.approvals.kitchen import Kitchen, make_kitchen


@pytest.fixture
def kitchen(db: None) -> Kitchen:
    return make_kitchen()


@pytest.fixture(autouse=True)
def secrets_are_compared_quickly(settings: Settings) -> None:
    """Every program gets a secret, and hashing one is slow on purpose."""
    settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]


@pytest.fixture(autouse=True)
def nobody_was_here_before() -> Iterator[None]:
    """Limits count in the cache."""
    cache.clear()
    yield
    cache.clear()
