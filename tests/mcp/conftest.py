from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.live import Live
from tests.mcp.peers import Kitchen, kitchen_of


@pytest.fixture(scope="module")
def kitchen(live: Live) -> Iterator[Kitchen]:
    with kitchen_of(live) as made:
        yield made
