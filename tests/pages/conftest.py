from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from django.core.cache import cache
from django.test import Client

from rooms.models import User
from tests.approvals.kitchen import Kitchen, make_kitchen

In = Callable[[User], Client]


@pytest.fixture
def kitchen(db: None) -> Kitchen:
    return make_kitchen()


@pytest.fixture(autouse=True)
def nobody_was_here_before() -> Iterator[None]:
    """Limits count in the cache."""
    cache.clear()
    yield
    cache.clear()


@pytest.fixture
def signed_in() -> In:
    def sign_in(user: User) -> Client:
        client = Client()
        client.force_login(user, "django.contrib.auth.backends.ModelBackend")
        return client

    return sign_in
