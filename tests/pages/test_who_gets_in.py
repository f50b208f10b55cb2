"""Every page and every form of people, rooms, agents and machines, for each of the cast."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import pytest
from django.db import transaction
from django.test import Client
from pytest_django import DjangoDbBlocker

from approvals import control
from rooms import membership
from rooms.models import Connection, Machine, Member, Room
from rooms.urls import urlpatterns
from tests.approvals.kitchen import Kitchen, make_kitchen
from tests.pages.conftest import In

CAST = ("alice", "bob", "vera", "dana", "charlie")


@dataclass(frozen=True)
class Door:
    name: str
    path: Callable[[Kitchen], str]
    expected: str
    """A status for alice, bob, vera, dana and charlie, in this order."""
    post: bool = False


def door(name: str, path: str | Callable[[Kitchen], str], expected: str, *, post: bool = False) -> Door:
    return Door(name, (lambda kitchen: path) if isinstance(path, str) else path, expected, post)


def invite(kitchen: Kitchen) -> str:
    return membership.invite(kitchen.alice, kitchen.room.pk, role="member", days=1, max_uses=1)[1]


def direct(kitchen: Kitchen) -> Room:
    return membership.direct_room(kitchen.bob, kitchen.claude.pk)


def grant(kitchen: Kitchen) -> int:
    bob = kitchen.seat(kitchen.bob)
    return control.set_grant(kitchen.alice, agent_id=kitchen.claude.pk, member_id=bob.pk, level="always").pk


DOORS = [
    door("home", "/", "200 200 200 200 200"),
    door("rail", "/rail/", "200 200 200 200 200"),
    door("account", "/account/", "200 200 200 200 200"),
    door("account_delete", "/account/delete/", "200 200 200 200 200"),
    door("room_keep", lambda k: f"/rooms/{k.room.pk}/keep/", "200 403 403 403 404"),
    door("room_delete", lambda k: f"/rooms/{k.room.pk}/delete/", "200 403 403 403 404"),
    door("room_transfer", lambda k: f"/rooms/{k.room.pk}/transfer/", "422 403 403 403 404", post=True),
    door("room_new", "/rooms/new/", "200 200 200 200 200"),
    door("room_settings", lambda k: f"/rooms/{k.room.pk}/settings/", "200 403 403 403 404"),
    door("room_settings", lambda k: f"/rooms/{k.room.pk}/settings/", "422 403 403 403 404", post=True),
    door("room_settings", lambda k: f"/rooms/{direct(k).pk}/settings/", "403 403 404 404 404"),
    door("room_invites", lambda k: f"/rooms/{k.room.pk}/invites/", "422 403 403 403 404", post=True),
    door("room_archive", lambda k: f"/rooms/{k.room.pk}/archive/", "302 403 403 403 404", post=True),
    door("room_leave", lambda k: f"/rooms/{k.room.pk}/leave/", "403 302 302 302 404", post=True),
    door("room_people", lambda k: f"/rooms/{k.room.pk}/people/", "200 200 200 200 404"),
    door("room_people", lambda k: f"/rooms/{direct(k).pk}/people/", "200 200 404 404 404"),
    door("agent_seat", lambda k: f"/rooms/{k.room.pk}/agents/", "422 422 422 422 404", post=True),
    door("direct_let_in", lambda k: f"/rooms/{direct(k).pk}/let-in/", "302 404 404 404 404", post=True),
    door("direct_decline", lambda k: f"/rooms/{direct(k).pk}/decline/", "302 404 404 404 404", post=True),
    door(
        "invite_revoke",
        lambda k: f"/invites/{membership.invite_for(invite(k)).pk}/revoke/",
        "302 404 404 404 404",
        post=True,
    ),
    door("member_remove", lambda k: f"/members/{k.seat(k.vera).pk}/remove/", "302 403 403 403 404", post=True),
    door("member_remove", lambda k: f"/members/{k.seat(k.gemini).pk}/remove/", "302 403 403 302 404", post=True),
    door("member_role", lambda k: f"/members/{k.seat(k.bob).pk}/role/", "422 403 403 403 404", post=True),
    door("memory_reset", lambda k: f"/members/{k.seat(k.claude).pk}/memory/", "302 404 404 404 404", post=True),
    door("join", lambda k: f"/join/{invite(k)}/", "302 302 302 302 200"),
    door("join", "/join/ari_never/", "404 404 404 404 404"),
    door("agent", lambda k: f"/agents/{k.claude.pk}/", "200 200 200 200 404"),
    door("agent", lambda k: f"/agents/{k.gemini.pk}/", "200 200 200 200 404"),
    door("agent_avatar", lambda k: f"/agents/{k.claude.pk}/avatar/", "404 404 404 404 404"),
    door("agent_avatar_set", lambda k: f"/agents/{k.claude.pk}/avatar/set/", "422 404 404 404 404", post=True),
    door("direct", lambda k: f"/agents/{k.claude.pk}/direct/", "200 200 200 200 404"),
    door("direct", lambda k: f"/agents/{k.claude.pk}/direct/", "302 302 403 302 404", post=True),
    door("agent_pause", lambda k: f"/agents/{k.claude.pk}/pause/", "302 404 404 404 404", post=True),
    door("agent_retire", lambda k: f"/agents/{k.claude.pk}/retire/", "302 404 404 404 404", post=True),
    door("pair", "/pair/", "200 200 200 200 200"),
    door("pair", "/pair/?code=ABCD-EFGH", "404 404 404 404 404"),
    door("machine_revoke", lambda k: f"/machines/{k.daemon.machine.pk}/revoke/", "302 404 404 404 404", post=True),
    door("grants", "/grants/", "200 200 200 200 200"),
    door("grant_revoke", lambda k: f"/grants/{grant(k)}/revoke/", "302 404 404 404 404", post=True),
    door("deputy", "/deputy/", "200 200 200 200 200"),
    door("connections", "/connections/", "200 200 200 200 200"),
    door(
        "connection_revoke",
        lambda k: f"/connections/{Connection.objects.get(machine=k.daemon.machine).pk}/revoke/",
        "302 404 404 404 404",
        post=True,
    ),
    door("sign_in_link", "/in/ars_never/", "404 404 404 404 404"),
    door("first", "/first/ars_never/", "404 404 404 404 404"),
]
OPEN = {"join", "sign_in_link", "first"}
each_door = pytest.mark.parametrize("door", DOORS, ids=[f"{n}-{door.name}" for n, door in enumerate(DOORS)])
FORMS = [door for door in DOORS if door.post]
each_form = pytest.mark.parametrize("door", FORMS, ids=[f"{n}-{door.name}" for n, door in enumerate(FORMS)])


@pytest.fixture(scope="module")
def made(django_db_setup: None, django_db_blocker: DjangoDbBlocker) -> Iterator[Kitchen]:
    """Made once, around the transaction that takes back what a test changed."""
    with django_db_blocker.unblock(), transaction.atomic():
        yield make_kitchen()
        transaction.set_rollback(True)


@pytest.fixture
def kitchen(made: Kitchen, db: None) -> Kitchen:
    return copy.deepcopy(made)


def test_every_door_is_in_the_table() -> None:
    assert {pattern.name for pattern in urlpatterns} == {door.name for door in DOORS}


@pytest.mark.parametrize("who", CAST)
@each_door
def test_each_of_the_cast_gets_what_is_theirs(kitchen: Kitchen, signed_in: In, door: Door, who: str) -> None:
    client, path = signed_in(getattr(kitchen, who)), door.path(kitchen)
    answer = client.post(path) if door.post else client.get(path)
    assert answer.status_code == int(door.expected.split()[CAST.index(who)]), answer.content.decode()[-2000:]
    if who == "charlie":
        assert "kitchen" not in answer.content.decode().replace("/tmp/kitchen", "") or door.name == "join"


@each_door
def test_without_signing_in_there_is_only_the_way_to_sign_in(kitchen: Kitchen, door: Door) -> None:
    client, path = Client(), door.path(kitchen)
    answer = client.post(path) if door.post else client.get(path)
    if door.name in OPEN:
        assert answer.status_code in (200, 404)
    else:
        assert answer.status_code == 302
        assert answer["Location"].startswith("/account/login/")


@each_form
def test_nothing_changes_without_the_forms_token(kitchen: Kitchen, door: Door) -> None:
    client, path = Client(enforce_csrf_checks=True), door.path(kitchen)
    client.force_login(kitchen.alice, "django.contrib.auth.backends.ModelBackend")
    counted = (Member.objects.filter(left_at=None).count(), Machine.objects.filter(revoked_at=None).count())
    assert client.post(path).status_code == 403
    assert (Member.objects.filter(left_at=None).count(), Machine.objects.filter(revoked_at=None).count()) == counted


@each_form
def test_looking_changes_nothing(kitchen: Kitchen, signed_in: In, door: Door) -> None:
    path = door.path(kitchen)
    counted = (Member.objects.filter(left_at=None).count(), Room.objects.filter(archived_at=None).count())
    assert signed_in(kitchen.alice).get(path).status_code in (200, 302, 403, 405)
    assert (Member.objects.filter(left_at=None).count(), Room.objects.filter(archived_at=None).count()) == counted


def test_what_is_absent_and_what_is_forbidden_look_the_same(kitchen: Kitchen, signed_in: In) -> None:
    charlie = signed_in(kitchen.charlie)
    for there, nowhere in (
        (f"/rooms/{kitchen.room.pk}/settings/", "/rooms/99999999/settings/"),
        (f"/rooms/{kitchen.room.pk}/people/", "/rooms/99999999/people/"),
        (f"/agents/{kitchen.claude.pk}/", "/agents/99999999/"),
    ):
        assert charlie.get(there).content == charlie.get(nowhere).content


def test_whoever_is_shut_out_is_out_at_once(kitchen: Kitchen, signed_in: In) -> None:
    client = signed_in(kitchen.bob)
    assert client.get("/").status_code == 200
    membership.set_active(kitchen.bob, active=False)
    assert client.get("/").status_code == 302
