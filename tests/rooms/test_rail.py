from __future__ import annotations

from approvals import control
from rooms import membership, rail
from rooms.models import Member
from tests.approvals.kitchen import Kitchen


def test_the_rail_counts_what_is_new_to_the_reader(kitchen: Kitchen) -> None:
    kitchen.ask(kitchen.bob, "one")
    kitchen.ask(kitchen.bob, "two, @dana")
    assert [(item.name, item.unread, item.mentions) for item in rail.build(kitchen.dana).rooms] == [("kitchen", 2, 1)]
    assert [(item.name, item.unread, item.mentions) for item in rail.build(kitchen.bob).rooms] == [("kitchen", 0, 0)]
    seat = kitchen.seat(kitchen.dana)
    Member.objects.filter(pk=seat.pk).update(read_seq=10**6)
    assert rail.build(kitchen.dana).rooms[0].unread == 0


def test_a_stranger_sees_no_room_and_no_count(kitchen: Kitchen) -> None:
    kitchen.ask(kitchen.bob, "@claude start")
    seen = rail.build(kitchen.charlie)
    assert (seen.rooms, seen.direct, seen.waiting) == ([], [], 0)


def test_who_left_sees_it_no_more(kitchen: Kitchen) -> None:
    control.leave(kitchen.bob, kitchen.room.pk)
    assert rail.build(kitchen.bob).rooms == []


def test_an_archived_room_is_off_the_rail(kitchen: Kitchen) -> None:
    control.archive(kitchen.alice, kitchen.room.pk, archived=True)
    assert rail.build(kitchen.alice).rooms == []


def test_direct_rooms_are_named_after_the_agent_and_for_the_keeper_the_person(kitchen: Kitchen) -> None:
    membership.direct_room(kitchen.bob, kitchen.claude.pk)
    assert [item.name for item in rail.build(kitchen.bob).direct] == ["claude"]
    assert [item.name for item in rail.build(kitchen.alice).direct] == ["claude · bob"]


def test_what_waits_is_counted_for_whoever_decides(kitchen: Kitchen) -> None:
    kitchen.ask(kitchen.bob, "@claude @gemini start")
    membership.direct_room(kitchen.bob, kitchen.claude.pk)
    assert {user.username: rail.waiting(user) for user in (kitchen.alice, kitchen.dana, kitchen.bob)} == {
        "alice": 2,
        "dana": 1,
        "bob": 0,
    }
