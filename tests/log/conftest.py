from __future__ import annotations

import pytest

from rooms import membership
from rooms.models import Member, Room


@pytest.fixture
def alice(db: None) -> Member:
    """Alice's seat in the kitchen."""
    owner = membership.make_person("alice")
    room = membership.create_room(owner, name="kitchen")
    return Member.objects.select_related("room").get(room=room, user=owner)


@pytest.fixture
def room(alice: Member) -> Room:
    return alice.room
