"""The pages on which rooms change hands, and rooms and accounts go: what is lost first, then the button."""

from __future__ import annotations

import re
import time
from pathlib import Path
from typing import Any

import pytest
from django.test import Client

from approvals.models import AuditRecord
from rooms import membership
from rooms.models import Room, User
from tests.approvals.kitchen import Kitchen, join
from tests.pages.conftest import In
from tests.pages.reading import error_beside, text, value

SECRET = "a long enough secret"


@pytest.fixture
def kitchen(kitchen: Kitchen, settings: Any, tmp_path: Path) -> Kitchen:
    settings.MEDIA_ROOT = tmp_path
    return kitchen


def lately(client: Client, user: User) -> Client:
    """As if the person had just signed in with their password."""
    session = client.session
    session["account_authentication_methods"] = [{"method": "password", "at": time.time()}]
    session["account_authentication_methods_user"] = str(user.pk)
    session.save()
    return client


def selected(answer: Any, name: str) -> list[str]:
    """What is chosen in a select."""
    select = re.search(rf'<select[^>]*name="{name}".*?</select>', answer.content.decode(), re.S)
    assert select, name
    return re.findall(r'<option value="([^"]*)" selected', select[0])


# --- handing over


def test_a_room_is_handed_over_on_its_settings_page(kitchen: Kitchen, signed_in: In) -> None:
    alice, path = signed_in(kitchen.alice), f"/rooms/{kitchen.room.pk}/"
    page = text(alice.get(f"{path}settings/"))
    assert "Hand over" in page
    assert alice.post(f"{path}transfer/", {"to": str(kitchen.seat(kitchen.bob).pk)}).status_code in {302, 403}
    assert Room.objects.get(pk=kitchen.room.pk).owner == kitchen.alice, "who signed in long ago signs in first"
    lately(alice, kitchen.alice)
    answer = alice.post(f"{path}transfer/", {"to": str(kitchen.seat(kitchen.bob).pk)}, follow=True)
    assert "kitchen is bob’s now." in text(answer)
    assert alice.get(f"{path}settings/").status_code == 403
    assert signed_in(kitchen.bob).get(f"{path}settings/").status_code == 200


def test_only_who_may_own_it_can_be_chosen(kitchen: Kitchen, signed_in: In) -> None:
    page = signed_in(kitchen.alice).get(f"/rooms/{kitchen.room.pk}/settings/").content.decode()
    select = page[page.index('id="to"') :].partition("</select>")[0]
    assert re.findall(r"<option[^>]*>(\w+)<", select) == ["bob", "dana"]


@pytest.mark.parametrize("to", ["", "x", "²", "-1", "9" * 30])
def test_to_nobody_is_said_in_words(kitchen: Kitchen, signed_in: In, to: str) -> None:
    answer = signed_in(kitchen.alice).post(f"/rooms/{kitchen.room.pk}/transfer/", {"to": to})
    assert answer.status_code == 422
    assert "Choose to whom the room goes." in text(answer)


# --- a room


def test_the_page_says_what_is_lost_and_asks_for_the_name(kitchen: Kitchen, signed_in: In) -> None:
    kitchen.ask(kitchen.bob, "@claude bake")
    alice, path = lately(signed_in(kitchen.alice), kitchen.alice), f"/rooms/{kitchen.room.pk}/delete/"
    page = text(alice.get(path))
    assert "3 people beside you they see the room no more" in page
    assert "what waits is cancelled (1), what runs is stopped (0)" in page
    assert f"/rooms/{kitchen.room.pk}/export.md" in alice.get(path).content.decode()
    assert Room.objects.filter(pk=kitchen.room.pk).exists()
    answer = alice.post(path, {"name": "kitchn"})
    assert answer.status_code == 422
    assert "as it stands here" in error_beside(answer, "id_name")
    answer = alice.post(path, {"name": "kitchen"}, follow=True)
    assert "kitchen is deleted." in text(answer)
    for user in (kitchen.alice, kitchen.bob, kitchen.charlie):
        assert signed_in(user).get(f"/rooms/{kitchen.room.pk}/").status_code == 404


def test_without_a_recent_sign_in_it_leads_to_one_and_back_and_deletes_nothing(kitchen: Kitchen, signed_in: In) -> None:
    kitchen.alice.set_password(SECRET)
    kitchen.alice.save()
    alice, path = signed_in(kitchen.alice), f"/rooms/{kitchen.room.pk}/delete/"
    page = alice.get(path).content.decode()
    assert 'name="name"' not in page
    assert "Show that it is you" in page
    there = alice.post(path, {"name": "kitchen"})["Location"]
    assert there.startswith("/account/reauthenticate/")
    back = alice.post(there, {"password": SECRET, "next": path})
    assert back["Location"] == path
    assert Room.objects.filter(pk=kitchen.room.pk).exists()
    assert alice.post(path, {"name": "kitchen"})["Location"] == "/"
    assert not Room.objects.filter(pk=kitchen.room.pk).exists()


def test_who_has_nothing_to_sign_in_with_is_told_what_to_do(kitchen: Kitchen, signed_in: In) -> None:
    alice = signed_in(kitchen.alice)
    for path in (f"/rooms/{kitchen.room.pk}/delete/", "/account/delete/"):
        assert "Set a password" in text(alice.get(path))
        answer = alice.post(path, {"name": "kitchen", "handle": "alice"})
        assert answer.status_code == 403
        assert "Set a password" in text(answer)
    assert User.objects.get(pk=kitchen.alice.pk).is_active


def test_a_talk_of_two_has_its_own_way_there(kitchen: Kitchen, signed_in: In) -> None:
    direct = membership.direct_room(kitchen.bob, kitchen.claude.pk)
    path = f"/rooms/{direct.pk}/delete/"
    assert path in signed_in(kitchen.bob).get(f"/rooms/{direct.pk}/people/").content.decode()
    assert path not in signed_in(kitchen.alice).get(f"/rooms/{direct.pk}/people/").content.decode()
    bob = lately(signed_in(kitchen.bob), kitchen.bob)
    assert bob.post(path, {"name": direct.name})["Location"] == "/"
    assert not Room.objects.filter(pk=direct.pk).exists()


def test_the_agents_chat_has_none(kitchen: Kitchen, signed_in: In) -> None:
    chat = membership.account_chat(kitchen.bob)
    path = f"/rooms/{chat.pk}/delete/"
    assert signed_in(kitchen.bob).get(path).status_code == 403
    assert signed_in(kitchen.alice).get(path).status_code == 404


# --- an account


def test_the_page_asks_for_each_room_and_chooses_nothing(kitchen: Kitchen, signed_in: In) -> None:
    membership.create_room(kitchen.alice, name="<b>cellar</b>")
    direct = membership.direct_room(kitchen.alice, kitchen.claude.pk)
    alice = lately(signed_in(kitchen.alice), kitchen.alice)
    answer = alice.get("/account/delete/")
    page = text(answer)
    assert "<b>cellar</b>" not in answer.content.decode()
    assert direct.name in page
    assert answer.content.count(b"<li>") == answer.content.count(b"</li>")
    assert "what runs on your agents" not in page
    assert "claude, codex leave every room" in page
    for room in Room.objects.filter(owner=kitchen.alice, kind="room"):
        assert selected(answer, f"room-{room.pk}") in ([], [""])
        assert room.name in page
    assert "hand it over to bob" in page
    assert "hand it over to vera" not in page


def test_what_is_not_chosen_stands_beside_the_room_and_nothing_goes(kitchen: Kitchen, signed_in: In) -> None:
    alice = lately(signed_in(kitchen.alice), kitchen.alice)
    name = f"room-{kitchen.room.pk}"
    for choice in ("", str(kitchen.seat(kitchen.vera).pk), "x"):
        answer = alice.post("/account/delete/", {name: choice, "handle": "alice"})
        assert answer.status_code == 422
        assert error_beside(answer, f"id_{name}")
        assert value(answer, "id_handle") == "alice"
    answer = alice.post("/account/delete/", {name: "0", "handle": "alicia"})
    assert "Write alice" in error_beside(answer, "id_handle")
    assert selected(answer, name) == ["0"]
    assert User.objects.get(pk=kitchen.alice.pk).gone_at is None


def test_who_deletes_their_account_is_signed_out_and_told(kitchen: Kitchen, signed_in: In) -> None:
    alice, other = lately(signed_in(kitchen.alice), kitchen.alice), signed_in(kitchen.alice)
    bob = kitchen.seat(kitchen.bob)
    answer = alice.post("/account/delete/", {f"room-{kitchen.room.pk}": str(bob.pk), "handle": "alice"})
    assert answer.status_code == 200
    assert "Your account is deleted" in text(answer)
    assert Room.objects.get(pk=kitchen.room.pk).owner == kitchen.bob
    for client in (alice, other):
        assert client.get("/")["Location"].startswith("/account/login/")
    page = text(signed_in(kitchen.bob).get(f"/rooms/{kitchen.room.pk}/"))
    assert f"former member {kitchen.alice.pk} left: the account was deleted." in page
    assert not re.search(r"\balice\b", page)


def test_a_new_account_of_that_name_is_never_you_in_what_was_said(kitchen: Kitchen, signed_in: In) -> None:
    turn = kitchen.turn(kitchen.ask(kitchen.bob, "@gemini bake"))
    kitchen.ask(kitchen.bob, "@dana please say yes")
    dana = lately(signed_in(kitchen.dana), kitchen.dana)
    dana.post(f"/questions/{kitchen.question(turn).pk}/answer/", {"verdict": "no", "note": "never"})
    dana.post("/account/delete/", {"handle": "dana"})
    again = membership.make_person("dana")
    join(kitchen.room, again)
    page = signed_in(again).get(f"/rooms/{kitchen.room.pk}/").content.decode()
    assert 'data-me="dana"' in page
    old = page[page.index("<main") :].rpartition("dana joined by a link")[0]
    assert 'data-handle="dana"' not in old
    assert f'data-handle="former member {kitchen.dana.pk}"' in old


def test_the_last_administrator_is_asked_who_comes_after_them(kitchen: Kitchen, signed_in: In) -> None:
    root = membership.make_person("root", admin=True)
    client = lately(signed_in(root), root)
    assert "Who administers this server afterwards" in text(client.get("/account/delete/"))
    answer = client.post("/account/delete/", {"handle": "root"})
    assert "name who administers it after you" in error_beside(answer, "id_successor")
    assert client.post("/account/delete/", {"handle": "root", "successor": "bob"}).status_code == 200
    assert User.objects.get(pk=kitchen.bob.pk).is_superuser


def test_the_account_page_leads_there(kitchen: Kitchen, signed_in: In) -> None:
    assert "/account/delete/" in signed_in(kitchen.bob).get("/account/").content.decode()


# --- administration


def test_an_administrator_deletes_an_account_with_the_same_choices(kitchen: Kitchen, signed_in: In) -> None:
    root = membership.make_person("root", admin=True)
    admin, path = signed_in(root), f"/admin/rooms/user/{kitchen.alice.pk}/account/"
    assert path in admin.get("/admin/rooms/user/").content.decode()
    assert "Set a password" in text(admin.get(path))
    admin.post(path, {f"room-{kitchen.room.pk}": "0", "handle": "alice"})
    assert User.objects.get(pk=kitchen.alice.pk).gone_at is None
    lately(admin, root)
    assert admin.post(path, {"handle": "alice"}).status_code == 422
    answer = admin.post(path, {f"room-{kitchen.room.pk}": "0", "handle": "alice"}, follow=True)
    assert "The account of alice is deleted." in text(answer)
    assert not Room.objects.filter(pk=kitchen.room.pk).exists()
    assert AuditRecord.objects.filter(owner=kitchen.alice).latest("number").who == "root"
    assert path not in admin.get("/admin/rooms/user/").content.decode()
    assert admin.get(path).status_code == 404
    own = admin.get(f"/admin/rooms/user/{root.pk}/account/")
    assert own["Location"] == "/account/delete/"


def test_nobody_else_gets_to_that_page(kitchen: Kitchen, signed_in: In) -> None:
    path = f"/admin/rooms/user/{kitchen.bob.pk}/account/"
    lately_alice = lately(signed_in(kitchen.alice), kitchen.alice)
    for client in (Client(), lately_alice):
        assert client.post(path, {"handle": "bob"}).status_code in (302, 403)
    assert User.objects.get(pk=kitchen.bob.pk).gone_at is None
