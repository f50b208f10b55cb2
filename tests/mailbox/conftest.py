from __future__ import annotations

import pytest

from tests.approvals.kitchen import Kitchen, make_kitchen


@pytest.fixture
def kitchen(db: None) -> Kitchen:
    return make_kitchen()
