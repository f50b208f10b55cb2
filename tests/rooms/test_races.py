"""Two at once: one gets it, the other is told."""

from __future__ import annotations

import threading
from collections.abc import Callable

import pytest
from django.db import connections

from rooms import membership
from rooms.errors import RuleError
from rooms.models import Invite, Machine, Member, Room, User
from tests.rooms.test_pairing import Terminal

pytestmark = pytest.mark.django_db(transaction=True)


def at_once(*acts: Callable[[], object]) -> list[object]:
    """Do all in threads that start together; what each returned, or the rule's error."""
    results: list[object] = [None] * len(acts)
    start = threading.Barrier(len(acts))

    def run(number: int, act: Callable[[], object]) -> None:
        start.wait(10)
        try:
            results[number] = act()
        except RuleError as error:
            results[number] = error
        finally:
            connections.close_all()

    threads = [threading.Thread(target=run, args=(number, act)) for number, act in enumerate(acts)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert not any(thread.is_alive() for thread in threads)
    return results


def kitchen() -> Room:
    return membership.create_room(membership.make_person("alice"), name="kitchen")


def test_the_last_use_of_a_link_is_one_persons() -> None:
    room = kitchen()
    _, token = membership.invite(room.owner, room.pk, role="member", days=1, max_uses=1)
    people = [membership.make_person(f"guest-{number}") for number in range(6)]
    results = at_once(*(lambda person=person: membership.accept_invite(person, token) for person in people))
    assert sum(isinstance(result, Member) for result in results) == 1
    assert Invite.objects.get().uses == 1
    assert Member.objects.filter(room=room).count() == 2


def test_one_person_joins_once_however_often_they_click() -> None:
    room = kitchen()
    _, token = membership.invite(room.owner, room.pk, role="member", days=1, max_uses=9)
    bob = membership.make_person("bob")
    results = at_once(*(lambda: membership.accept_invite(bob, token) for _ in range(4)))
    assert len({result.pk for result in results if isinstance(result, Member)}) == 1
    assert Invite.objects.get().uses == 1


def test_a_name_in_a_room_is_one_persons() -> None:
    room = kitchen()
    _, token = membership.invite(room.owner, room.pk, role="member", days=1, max_uses=9)
    people = [membership.make_person(f"guest-{number}") for number in range(4)]
    results = at_once(
        *(lambda person=person: membership.accept_invite(person, token, handle="cook") for person in people)
    )
    assert sum(isinstance(result, Member) for result in results) == 1
    assert Invite.objects.get().uses == 1


def test_a_machine_belongs_to_whoever_confirmed_first() -> None:
    people = [membership.make_person(name) for name in ("alice", "bob", "charlie")]
    code = Terminal().asks().user_code
    results = at_once(*(lambda person=person: membership.confirm_pairing(person, code) for person in people))
    assert sum(isinstance(result, Machine) for result in results) == 1
    assert Machine.objects.count() == 1


def test_a_sign_in_link_and_a_first_link_are_spent_once() -> None:
    first = membership.first_link()
    names = ("alice", "bob", "charlie")
    results = at_once(
        *(lambda name=name: membership.use_first_link(first, name, "a long kitchen table") for name in names)
    )
    assert sum(isinstance(result, User) for result in results) == 1
    token = membership.sign_in_link(User.objects.get())
    results = at_once(*(lambda: membership.use_sign_in_link(token) for _ in range(4)))
    assert sum(isinstance(result, User) for result in results) == 1
