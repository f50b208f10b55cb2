from __future__ import annotations

from datetime import timedelta

import pytest
from django.test import Client
from django.utils import timezone

from approvals import control
from messaging.models import Entry
from rooms import access, membership
from rooms.errors import Conflict, NotFound, Refused
from rooms.models import Member, Room
from tests.approvals.kitchen import Kitchen


def seats(room: Room) -> dict[str, str]:
    return dict(access.seated(room).values_list("handle", "role"))


def test_an_owner_has_their_direct_room_at_once(kitchen: Kitchen) -> None:
    room = membership.direct_room(kitchen.alice, kitchen.claude.pk)
    assert (room.kind, room.owner, room.direct_agent) == ("direct", kitchen.alice, kitchen.claude)
    assert seats(room) == {"alice": "member", "claude": "member"}
    assert membership.direct_room(kitchen.alice, kitchen.claude.pk) == room


def test_somebody_elses_agent_waits_for_its_owner(kitchen: Kitchen) -> None:
    room = membership.direct_room(kitchen.bob, kitchen.claude.pk)
    assert seats(room) == {"bob": "member", "alice": "keeper"}
    assert membership.waits_for_owner(room)
    assert list(membership.direct_requests(kitchen.alice)) == [room]
    assert not membership.direct_requests(kitchen.bob).exists()
    assert Entry.objects.filter(room=room).latest("seq").data["what"] == "direct_asked"
    assert membership.direct_room(kitchen.bob, kitchen.claude.pk) == room


def test_nothing_runs_before_the_owner_lets_it_in(kitchen: Kitchen) -> None:
    room = membership.direct_room(kitchen.bob, kitchen.claude.pk)
    assert not kitchen.ask(kitchen.bob, "@claude hello?", room).turns.exists()


def test_the_owner_lets_it_in(kitchen: Kitchen) -> None:
    room = membership.direct_room(kitchen.bob, kitchen.claude.pk)
    with pytest.raises(NotFound):
        membership.add_agent(kitchen.bob, room.pk, kitchen.claude.pk)
    membership.add_agent(kitchen.alice, room.pk, kitchen.claude.pk)
    assert seats(room) == {"bob": "member", "alice": "keeper", "claude": "member"}
    assert not membership.waits_for_owner(room)
    assert not membership.direct_requests(kitchen.alice).exists()
    turn = kitchen.ask(kitchen.bob, "hello", room).turns.get()
    assert (turn.agent, turn.status) == (kitchen.claude, "asked")


def test_the_keeper_reads_and_does_not_write(kitchen: Kitchen) -> None:
    room = membership.direct_room(kitchen.bob, kitchen.claude.pk)
    assert access.member_for(kitchen.alice, room.pk).role == "keeper"
    with pytest.raises(Refused):
        kitchen.ask(kitchen.alice, "I butt in", room)


def test_others_see_nothing_of_it(kitchen: Kitchen) -> None:
    room = membership.direct_room(kitchen.bob, kitchen.claude.pk)
    for other in (kitchen.vera, kitchen.dana, kitchen.charlie):
        with pytest.raises(NotFound):
            access.member_for(other, room.pk)


def test_without_a_shared_room_the_agent_is_absent(kitchen: Kitchen) -> None:
    with pytest.raises(NotFound):
        membership.direct_room(kitchen.charlie, kitchen.claude.pk)
    control.leave(kitchen.bob, kitchen.room.pk)
    with pytest.raises(NotFound):
        membership.direct_room(kitchen.bob, kitchen.claude.pk)
    control.remove_member(kitchen.alice, kitchen.seat(kitchen.codex).pk)
    with pytest.raises(NotFound):
        membership.direct_room(kitchen.dana, kitchen.codex.pk)


def test_a_viewer_may_not_ask_for_one(kitchen: Kitchen) -> None:
    with pytest.raises(Refused):
        membership.direct_room(kitchen.vera, kitchen.claude.pk)
    assert not Room.objects.filter(kind="direct").exists()


def test_declined_it_can_be_asked_again_a_day_later(kitchen: Kitchen) -> None:
    room = membership.direct_room(kitchen.bob, kitchen.claude.pk)
    for other in (kitchen.bob, kitchen.dana, kitchen.charlie):
        with pytest.raises(NotFound):
            control.decline_direct(other, room.pk)
    control.decline_direct(kitchen.alice, room.pk)
    assert not membership.direct_requests(kitchen.alice).exists()
    assert not membership.waits_for_owner(Room.objects.get(pk=room.pk))
    with pytest.raises(Refused, match="alice declined"):
        membership.direct_room(kitchen.bob, kitchen.claude.pk)
    Room.objects.filter(pk=room.pk).update(archived_at=timezone.now() - timedelta(days=1, seconds=1))
    assert membership.direct_room(kitchen.bob, kitchen.claude.pk) == room
    assert list(membership.direct_requests(kitchen.alice)) == [room]


def test_declined_it_is_not_deleted_or_opened_again_to_be_asked_for_sooner(kitchen: Kitchen) -> None:
    room = membership.direct_room(kitchen.bob, kitchen.claude.pk)
    control.decline_direct(kitchen.alice, room.pk)
    with pytest.raises(Refused, match="alice declined"):
        control.delete_room(kitchen.bob, room.pk, name=room.name, recently=True)
    with pytest.raises(Refused, match="alice declined"):
        control.archive(kitchen.bob, room.pk, archived=False)
    browser = Client()
    browser.force_login(kitchen.bob)
    assert browser.get(f"/rooms/{room.pk}/delete/").status_code == 403
    Room.objects.filter(pk=room.pk).update(archived_at=timezone.now() - timedelta(days=1, seconds=1))
    assert browser.get(f"/rooms/{room.pk}/delete/").status_code == 200
    control.delete_room(kitchen.bob, room.pk, name=room.name, recently=True)
    assert membership.direct_room(kitchen.bob, kitchen.claude.pk) != room


def test_who_archived_their_own_direct_room_opens_and_deletes_it_at_once(kitchen: Kitchen) -> None:
    room = membership.direct_room(kitchen.bob, kitchen.claude.pk)
    membership.add_agent(kitchen.alice, room.pk, kitchen.claude.pk)
    for archived in (True, False, True):
        control.archive(kitchen.bob, room.pk, archived=archived)
    control.delete_room(kitchen.bob, room.pk, name=room.name, recently=True)
    assert not Room.objects.filter(pk=room.pk).exists()


def test_what_was_let_in_is_not_declined(kitchen: Kitchen) -> None:
    room = membership.direct_room(kitchen.bob, kitchen.claude.pk)
    membership.add_agent(kitchen.alice, room.pk, kitchen.claude.pk)
    with pytest.raises(Conflict):
        control.decline_direct(kitchen.alice, room.pk)


def test_a_retired_agents_request_waits_for_nobody(kitchen: Kitchen) -> None:
    membership.direct_room(kitchen.bob, kitchen.claude.pk)
    control.retire_agent(kitchen.alice, kitchen.claude.pk)
    assert not membership.direct_requests(kitchen.alice).exists()


def test_the_keeper_stays_while_the_agent_does(kitchen: Kitchen) -> None:
    room = membership.direct_room(kitchen.bob, kitchen.claude.pk)
    membership.add_agent(kitchen.alice, room.pk, kitchen.claude.pk)
    keeper = Member.objects.get(room=room, user=kitchen.alice)
    with pytest.raises(Refused):
        control.remove_member(kitchen.bob, keeper.pk)
