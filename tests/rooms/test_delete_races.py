"""Two deletions at once: neither waits for the other for ever, and a server with people keeps an administrator."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.utils import timezone

from approvals import control
from approvals.control.accounts import LAST
from approvals.models import Turn
from rooms import membership
from rooms.errors import Invalid
from rooms.models import Room, User
from tests.approvals.kitchen import Kitchen, join, make_kitchen
from tests.rooms.test_races import at_once

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.timeout(300)]


def go(user: User) -> None:
    control.delete_account(user, rooms={}, handle=user.username, recently=True)


@pytest.mark.parametrize("round_", range(4))
def test_of_the_last_two_administrators_one_has_to_name_another(round_: int) -> None:
    membership.make_person("bob")
    root, toor = (membership.make_person(name, admin=True) for name in ("root", "toor"))
    came = at_once(lambda: go(root), lambda: go(toor))
    assert sum(one is None for one in came) == 1
    [refused] = (one for one in came if one is not None)
    assert isinstance(refused, Invalid)
    assert (refused.field, refused.detail) == ("successor", LAST)
    assert User.objects.filter(is_superuser=True, is_active=True).count() == 1


def test_of_two_administrators_who_delete_each_other_one_stays() -> None:
    root, toor = (membership.make_person(name, admin=True) for name in ("root", "toor"))
    membership.make_person("bob")

    def end(whom: User, by: User) -> None:
        control.delete_account(whom, rooms={}, handle=whom.username, recently=True, by=by)

    came = at_once(lambda: end(root, toor), lambda: end(toor, root))
    assert sum(one is None for one in came) == 1
    assert User.objects.filter(is_superuser=True, is_active=True).count() == 1


def shared(kitchen: Kitchen, owner: User, name: str) -> Room:
    """A room of this owner in which work of alice's and of dana's agents waits."""
    room = membership.create_room(owner, name=name)
    for other in (kitchen.alice, kitchen.bob, kitchen.dana):
        if other.pk != owner.pk:
            join(room, other)
    membership.add_agent(kitchen.alice, room.pk, kitchen.claude.pk)
    membership.add_agent(kitchen.dana, room.pk, kitchen.gemini.pk)
    # In the one room alice's comes first, in the other one dana's.
    first, second = ("@claude", "@gemini") if owner.pk == kitchen.alice.pk else ("@gemini", "@claude")
    for words in (first, second) * 4:
        kitchen.ask(kitchen.bob, f"{words} go", room)
    return room


@pytest.mark.parametrize("round_", range(3))
@pytest.mark.parametrize("how", ["delete", "archive", "clean"])
def test_two_owners_end_rooms_in_which_each_others_agents_sit(
    how: str, round_: int, caplog: pytest.LogCaptureFixture
) -> None:
    kitchen = make_kitchen()
    pantry, cellar = shared(kitchen, kitchen.alice, "pantry"), shared(kitchen, kitchen.dana, "cellar")

    def end(room: Room) -> None:
        if how == "delete":
            control.delete_room(room.owner, room.pk, name=room.name, recently=True)
        elif how == "clean":
            control.clean_room(room.pk, timezone.now() + timedelta(days=2))
        else:
            control.archive(room.owner, room.pk, archived=True)

    Room.objects.update(retention_days=1)
    at_once(lambda: end(pantry), lambda: end(cellar))
    assert not Turn.objects.filter(room__in=[pantry, cellar], status__in=Turn.WAITING).exists()
    assert "deadlock" not in caplog.text
