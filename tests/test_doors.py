"""Everything that can be called, called by everybody: the tables in ``tests/doors`` say who gets through."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest
from django.conf import settings as project
from django.core.cache import cache
from django.db import transaction
from django.http import HttpResponseBase
from django.test import Client, override_settings
from django.urls import URLPattern, URLResolver, get_resolver
from django.utils import timezone
from pytest_django import DjangoDbBlocker
from websockets.exceptions import InvalidStatus
from websockets.sync.client import connect
from websockets.typing import Origin

from agentroom.api import api, machine
from messaging.routing import websocket_urlpatterns
from rooms import membership, tokens
from rooms.models import Connection, Machine, User
from tests.doors.pages import ALLAUTH, DOORS, SOCKETS, Door
from tests.doors.scene import ABSENT, Scene, make_scene, named_machine, same_words, stored
from tests.doors.token_doors import COLUMNS, TOKEN_DOORS, TokenDoor
from tests.live import HandMachine, Live, Person

APART = ("api/", "identity/o/api/", "admin/")
MOVES = ("Content-Length", "Expires")
"""Headers that differ between any two answers."""
pytestmark = pytest.mark.django_db


@pytest.fixture(scope="module")
def made(
    django_db_setup: None, django_db_blocker: DjangoDbBlocker, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Scene]:
    """The scene, made once, around the transaction that takes back what a test changed."""
    files = override_settings(MEDIA_ROOT=tmp_path_factory.mktemp("files"))
    with django_db_blocker.unblock(), files, transaction.atomic():
        yield make_scene()
        transaction.set_rollback(True)


@pytest.fixture
def scene(made: Scene, db: None) -> Scene:
    cache.clear()
    return made


def walk(patterns: list[URLPattern | URLResolver], before: str = "") -> Iterator[tuple[str, str]]:
    """Every route, with its name."""
    for pattern in patterns:
        route = before + str(pattern.pattern)
        if isinstance(pattern, URLResolver):
            yield from walk(pattern.url_patterns, route)
        else:
            yield route, pattern.name or ""


def routes() -> dict[str, str]:
    return dict(walk(get_resolver().url_patterns))


def call(
    door: Door | TokenDoor, scene: Scene, user: User | None, *, absent: bool = False, **more: Any
) -> HttpResponseBase:
    client = Client(**more)
    if user is not None:
        client.force_login(user)
    path = scene.path(door.route, door.stands_for, absent=absent)
    data = scene.fields(door.data) if isinstance(door, Door) else None
    answer: HttpResponseBase = getattr(client, door.method.lower())(path, data)
    return answer


def outcome(answer: HttpResponseBase) -> str:
    if answer.status_code in (301, 302):
        return "in" if answer["Location"].startswith(("/account/login/", "/admin/login/")) else "ok"
    return "ok" if answer.status_code < 300 else str(answer.status_code)


def test_the_table_knows_every_page() -> None:
    known = {door.route for door in DOORS}
    pages = {
        route for route, name in routes().items() if name not in ALLAUTH and not route.startswith(APART)
    }  # fmt: skip
    assert pages == known
    assert {name for route, name in routes().items() if route.startswith("account/") and route not in known} == ALLAUTH


@pytest.mark.parametrize("door", DOORS, ids=str)
def test_everybody_at_every_page(door: Door, scene: Scene) -> None:
    before = stored()
    found: dict[str, str] = {}
    for (who, user), expected in zip(scene.people().items(), door.expected.split(), strict=True):
        with transaction.atomic():
            found[who] = outcome(call(door, scene, user))
            unchanged = stored() == before
            transaction.set_rollback(True)
        if expected != "ok" or door.method == "GET" or (door.reads and who != "alice"):
            assert unchanged, f"{who} was answered {found[who]} and yet changed something"
    assert found == dict(zip(scene.people(), door.expected.split(), strict=True))


@pytest.mark.parametrize("door", [door for door in DOORS if "404" in door.expected.split()[1]], ids=str)
def test_absent_and_forbidden_look_the_same(door: Door, scene: Scene) -> None:
    charlie = scene.kitchen.charlie
    forbidden, absent = call(door, scene, charlie), call(door, scene, charlie, absent=True)
    assert forbidden.status_code == absent.status_code == 404
    assert shown(forbidden, scene) == shown(absent, scene)
    assert {name: value for name, value in forbidden.items() if name not in MOVES} == {
        name: value for name, value in absent.items() if name not in MOVES
    }


def shown(answer: HttpResponseBase, scene: Scene) -> bytes:
    content: bytes = answer.content  # type: ignore[attr-defined] # none of the doors that refuse streams
    for thing in [value for value in scene.things.values() if isinstance(value, int)]:
        content = re.sub(rb"/%d/" % thing, b"/ID/", content)
    return re.sub(rb"/987654321/", b"/ID/", same_words(content, ""))


@pytest.mark.parametrize("door", [door for door in DOORS if door.method == "POST"], ids=str)
def test_no_page_takes_a_post_from_another_site(door: Door, scene: Scene) -> None:
    before = stored()
    answer = call(door, scene, scene.kitchen.alice, enforce_csrf_checks=True)
    assert answer.status_code == 403
    assert stored() == before


@pytest.mark.parametrize("route", sorted({door.route for door in DOORS}))
def test_a_method_that_the_table_does_not_know_changes_nothing(route: str, scene: Scene) -> None:
    doors = [door for door in DOORS if door.route == route]
    before = stored()
    for method in {"GET", "POST", "PUT", "PATCH", "DELETE"} - {door.method for door in doors}:
        other = Door(method, route, "", doors[0].stands_for, doors[0].data)
        with transaction.atomic():
            call(other, scene, scene.kitchen.alice)
            assert stored() == before, method
            transaction.set_rollback(True)


def test_a_bearer_token_opens_no_page(scene: Scene) -> None:
    machine = named_machine(scene.kitchen.alice, "told")
    for token in (scene.things["connection_token"], machine):
        client = Client(headers={"Authorization": f"Bearer {token}"})
        for door in DOORS:
            if door.expected.startswith("in"):
                path = scene.path(door.route, door.stands_for)
                answer = getattr(client, door.method.lower())(path, scene.fields(door.data))
                assert outcome(answer) == "in", door


def test_nobody_but_administrators_gets_into_the_administration(scene: Scene) -> None:
    inside = [route for route in routes() if route.startswith("admin/") and "<path:object_id>" not in route]
    assert len(inside) > 10
    for user in scene.people().values():
        client = Client()
        if user is not None:
            client.force_login(user)
        for route in inside:
            path = "/" + re.sub(r"\(\?P<\w+>[^)]*\)|<[^>]*>|[\^$]", "1", route)
            answer = client.get(path)
            if route.endswith(("login/", "logout/")):
                continue
            assert outcome(answer) in ("in", "404", "405"), (user, route, answer.status_code)


def test_allauths_pages_tell_nothing_about_rooms(scene: Scene) -> None:
    for route, name in routes().items():
        if name in ALLAUTH:
            path = "/" + re.sub(r"\(\?P<\w+>[^)]*\)|<[^>]*>", "1", route).replace("^", "").replace("$", "")
            assert b"kitchen" not in Client().get(path).content, name


# --- doors for programs ---------------------------------------------------------------------------------------------


@pytest.fixture
def headers(scene: Scene) -> dict[str, dict[str, str]]:
    """What each column of the table sends."""
    k = scene.kitchen
    token = tokens.new(tokens.MACHINE)
    Machine.objects.filter(pk=k.daemon.machine.pk).update(token_hash=tokens.digest(token))
    machines = {
        "gone": named_machine(k.alice, "gone", revoked=timedelta(days=2)),
        "revoked": named_machine(k.alice, "revoked", revoked=timedelta(minutes=1)),
        "danas": named_machine(k.dana, "danas"),
        "alices": token,
    }
    ended, ended_token = membership.connect(k.alice, agent=k.claude.pk, room=k.room.pk, name="ended")
    membership.revoke_connection(k.alice, ended.pk)
    connections = {
        "connection": scene.things["connection_token"],
        "account": membership.connect_account(k.alice, "chat")[1],
        "ended": ended_token,
        "gemini": membership.connect(k.dana, agent=k.gemini.pk, room=k.room.pk, name="by hand")[1],
    }
    # Its use is noted once a minute: not the first time in these tests.
    Connection.objects.filter(revoked_at=None).update(last_used_at=timezone.now())
    carried = connections | machines
    bearers = {who: {"Authorization": f"Bearer {carried[who]}"} for who in carried}
    return {"nothing": {}, "session": {}} | bearers


def operations() -> set[tuple[str, str]]:
    """Method and route of every operation that the API has, its own documents included."""
    own = ("api/openapi.json", "api/docs", "api/", "api/machine/", "api/<path:rest>")
    found = {("GET", route) for route in own}
    for before, door in (("api", api), ("api/machine", machine)):
        for prefix, router in door._routers:
            for path, view in router.path_operations.items():
                route = f"{before}{prefix}{path}".replace("{", "<").replace("}", ">")
                found |= {(method, route) for operation in view.operations for method in operation.methods}
    return found


def test_the_table_knows_every_operation() -> None:
    assert {(door.method, door.route) for door in TOKEN_DOORS} == operations()
    assert {door.route for door in TOKEN_DOORS} == {route for route in routes() if route.startswith("api/")}


@pytest.mark.parametrize("door", TOKEN_DOORS, ids=str)
def test_every_token_at_every_operation(door: TokenDoor, scene: Scene, headers: dict[str, dict[str, str]]) -> None:
    before = stored()
    found: dict[str, str] = {}
    path = scene.path(door.route, door.stands_for)
    for who in COLUMNS:
        client = Client(headers=headers[who])
        if who == "session":
            client.force_login(scene.kitchen.alice)
        with transaction.atomic():
            answer = client.generic(door.method, path, door.content(), content_type="application/json")
            found[who] = str(answer.status_code)
            answer.getvalue()  # a file is closed when it was read
            if answer.status_code >= 400:
                assert stored() == before, who
            transaction.set_rollback(True)
    assert found == dict(zip(COLUMNS, door.expected.split(), strict=True))


def test_what_a_machine_may_ask_of_another_owners_is_as_if_it_were_not_there(
    scene: Scene, headers: dict[str, dict[str, str]]
) -> None:
    client = Client(headers=headers["danas"])
    for door in TOKEN_DOORS:
        if door.expected.split()[COLUMNS.index("danas")] in ("404", "409"):
            real = client.generic(door.method, scene.path(door.route, door.stands_for), door.content())
            none = client.generic(door.method, scene.path(door.route, door.stands_for, absent=True), door.content())
            assert (real.status_code, real.content) == (none.status_code, none.content), door


def test_the_sign_in_page_is_where_in_leads() -> None:
    assert project.LOGIN_URL == "account_login"


# --- doors in front of Django, at the server itself -----------------------------------------------------------------


def test_the_table_knows_every_socket() -> None:
    assert {str(pattern.pattern) for pattern in websocket_urlpatterns} == SOCKETS


def refused_with(person: Person, path: str) -> int:
    """The status with which a socket is refused; 0 when it opens."""
    cookies = "; ".join(f"{name}={value}" for name, value in person.client.cookies.items())
    try:
        with connect(
            person.url.replace("http", "ws", 1) + path,
            origin=Origin(person.url),
            additional_headers={"Cookie": cookies},
            proxy=None,
        ):
            return 0
    except InvalidStatus as refusal:
        return refusal.response.status_code


def test_a_rooms_socket_opens_for_who_sits_there_and_is_not_there_for_others(live: Live) -> None:
    alice, charlie, nobody = live.person("alice"), live.person("charlie"), live.stranger()
    kitchen = alice.make_room("kitchen")
    vera = live.person("vera")
    vera.join(alice.invite(kitchen, role="viewer"))
    room = f"/ws/rooms/{kitchen}/"
    assert [refused_with(person, room) for person in (alice, vera)] == [0, 0]
    absent = refused_with(charlie, f"/ws/rooms/{ABSENT}/")
    assert absent in (403, 404)
    assert [refused_with(person, room) for person in (charlie, nobody)] == [absent, absent]
    assert [refused_with(person, path) for person in (alice, nobody) for path in ("/ws/", "/ws/x/")] == [absent] * 4
    assert [refused_with(person, "/ws/me/") for person in (alice, charlie)] == [0, 0]
    assert refused_with(nobody, "/ws/me/") == absent


def test_the_machines_long_poll_wants_a_machines_token(live: Live) -> None:
    erin = live.person("erin")
    machine = HandMachine(erin)
    try:
        assert machine.sync().status_code == 200
        for token in ("none", "arm_unknown", live.manage_json("token", "--account", "erin")["token"]):
            machine.client.headers["Authorization"] = f"Bearer {token}"
            assert machine.sync().status_code == 401, token
        machine.client.headers["Authorization"] = f"Bearer {machine.token}"
        assert erin.client.post("/api/machine/sync", json={}).status_code in (401, 422), "a session is no token"
        erin.post(f"/machines/{machine.id}/revoke/")
        refused = machine.sync()
        assert (refused.status_code, refused.json()["code"]) == (401, "revoked")
    finally:
        machine.close()
