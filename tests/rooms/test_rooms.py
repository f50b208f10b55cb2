from __future__ import annotations

import pytest

from messaging.models import Entry
from rooms import membership
from rooms.errors import Invalid, NotFound, Refused
from rooms.models import Member, Room, User
from tests.approvals.kitchen import Kitchen


def said(room: Room) -> list[str]:
    return list(Entry.objects.filter(room=room).order_by("seq").values_list("body", flat=True))


def test_whoever_makes_a_room_owns_it_and_sits_in_it(db: None) -> None:
    alice = membership.make_person("alice")
    room = membership.create_room(alice, name="  the \n kitchen ", about="Booking")
    assert (room.owner, room.name, room.about, room.kind) == (alice, "the kitchen", "Booking", "room")
    seat = Member.objects.get(room=room)
    assert (seat.user, seat.role, seat.handle) == (alice, "member", "alice")
    assert said(room) == ["alice made this room."]


@pytest.mark.parametrize("name", ["", "   ", "\u200b\u202e", "\0", "\u200d"])
def test_a_room_needs_a_name_that_can_be_seen(db: None, name: str) -> None:
    with pytest.raises(Invalid) as refused:
        membership.create_room(membership.make_person("alice"), name=name)
    assert refused.value.field == "name"


def test_a_name_cannot_hide_or_reorder_anything(db: None) -> None:
    room = membership.create_room(membership.make_person("alice"), name="kit\u202echen\u200b\x1b[2J", about="a\0b")
    assert (room.name, room.about) == ("kitchen[2J", "ab")


def test_a_name_too_long_is_refused(db: None) -> None:
    alice = membership.make_person("alice")
    with pytest.raises(Invalid, match="80"):
        membership.create_room(alice, name="x" * 81)
    with pytest.raises(Invalid, match="200"):
        membership.create_room(alice, name="x", about="y" * 201)


def test_the_owner_renames_and_the_room_hears_it_once(kitchen: Kitchen) -> None:
    membership.rename(kitchen.alice, kitchen.room.pk, name="galley", about="Boats")
    membership.rename(kitchen.alice, kitchen.room.pk, name="galley", about="Ships")
    kitchen.room.refresh_from_db()
    assert (kitchen.room.name, kitchen.room.about) == ("galley", "Ships")
    assert said(kitchen.room).count("alice renamed the room from kitchen to galley.") == 1


def test_only_the_owner_renames(kitchen: Kitchen) -> None:
    with pytest.raises(Refused):
        membership.rename(kitchen.bob, kitchen.room.pk, name="bobs", about="")
    with pytest.raises(NotFound):
        membership.rename(kitchen.charlie, kitchen.room.pk, name="charlies", about="")
    with pytest.raises(NotFound):
        membership.rename(kitchen.alice, 10**9, name="nothing", about="")


def test_a_direct_room_and_an_account_chat_keep_their_names(kitchen: Kitchen) -> None:
    direct = membership.direct_room(kitchen.alice, kitchen.claude.pk)
    for room in (direct, membership.account_chat(kitchen.alice)):
        with pytest.raises(Refused):
            membership.rename(kitchen.alice, room.pk, name="other", about="")


def test_each_account_has_one_chat_from_the_start(db: None) -> None:
    alice = membership.make_person("alice")
    assert Room.objects.filter(owner=alice, kind="account").count() == 1
    assert membership.account_chat(alice) == membership.account_chat(User.objects.get(pk=alice.pk))
    assert Room.objects.filter(owner=alice, kind="account").count() == 1
