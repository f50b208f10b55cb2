from __future__ import annotations

import re

import pytest
from django.core import mail
from django.test import Client
from django.urls import reverse
from pytest_django.fixtures import Settings

from rooms import membership
from rooms.models import Room, User
from tests.approvals.kitchen import Kitchen
from tests.pages.conftest import In
from tests.pages.reading import error_beside, text

LONG = "a long kitchen table"
FOR_STRANGERS = ("account_login", "account_request_login_code", "account_reset_password", "account_signup")
FOR_PEOPLE = (
    "account_logout", "account_change_password", "account_set_password", "account_email", "mfa_index",
    "mfa_list_webauthn", "mfa_add_webauthn", "mfa_activate_totp", "account_reauthenticate",
)  # fmt: skip


@pytest.fixture
def erin(db: None) -> User:
    return membership.make_person("erin", email="erin@example.com", password=LONG)


def clean(page: str) -> None:
    """Ours, in our look, and nothing that the content policy would stop."""
    assert "css/tokens.css" in page
    assert not re.search(r"<script(?![^>]*(\bsrc=|application/json))", page)
    assert " style=" not in page
    assert "javascript:" not in page
    assert not re.search(r"\son[a-z]+=", page)


@pytest.mark.parametrize("name", FOR_STRANGERS)
def test_the_doors_wear_the_look(db: None, name: str) -> None:
    clean(Client().get(reverse(name)).content.decode())


@pytest.mark.parametrize("name", FOR_PEOPLE)
def test_so_do_the_pages_about_oneself(erin: User, name: str) -> None:
    client = Client()
    client.post("/account/login/", {"login": "erin", "password": LONG})
    clean(client.get(reverse(name), follow=True).content.decode())


def test_one_signs_in_by_name_in_any_case_or_by_address(erin: User) -> None:
    for login in ("erin", "Erin", "erin@example.com"):
        assert Client().post("/account/login/", {"login": login, "password": LONG})["Location"] == "/"


def test_a_wrong_password_says_no_more_than_that(erin: User) -> None:
    wrong = text(Client().post("/account/login/", {"login": "erin", "password": "x" * 20}))
    nobody = text(Client().post("/account/login/", {"login": "nobody", "password": "x" * 20}))
    assert "not correct" in wrong
    assert wrong == nobody


def test_one_signs_in_by_a_code_from_the_mail(erin: User) -> None:
    client = Client()
    answer = client.post("/account/login/code/", {"email": "erin@example.com"})
    code = re.search(r"^\s*([A-Z0-9]{3,4}-?[A-Z0-9]{3,4})\s*$", str(mail.outbox[0].body), re.M)
    assert code, mail.outbox[0].body
    assert client.post(answer["Location"], {"code": code[1]})["Location"] == "/"
    assert client.session["_auth_user_id"] == str(erin.pk)


def test_a_new_password_has_twelve_characters(erin: User) -> None:
    client = Client()
    client.post("/account/login/", {"login": "erin", "password": LONG})
    short = {"oldpassword": LONG, "password1": "short", "password2": "short"}
    answer = client.post("/account/password/change/", short)
    assert "12" in error_beside(answer, "id_password1")


def test_sign_up_is_by_invite_unless_it_is_opened(db: None, settings: Settings) -> None:
    client = Client()
    given = {"username": "Frank", "email": "frank@example.com", "password1": LONG}
    assert "By invitation" in text(client.get("/account/signup/"))
    client.post("/account/signup/", given)
    assert not User.objects.exists()
    settings.SIGN_UP = "open"
    assert "Make an account" in text(client.get("/account/login/"))
    client.post("/account/signup/", given)
    frank = User.objects.get(username="frank")
    assert Room.objects.filter(owner=frank, kind="account").exists()


def test_open_sign_up_takes_no_odd_names(db: None, settings: Settings) -> None:
    settings.SIGN_UP = "open"
    for name in ("bob smith", "b\u202eob", "-bob", "b" * 33):
        answer = Client().post("/account/signup/", {"username": name, "email": "b@example.com", "password1": LONG})
        assert answer.status_code == 200
        assert error_beside(answer, "id_username")
    assert not User.objects.exists()


def test_the_page_about_oneself_leads_everywhere(kitchen: Kitchen, signed_in: In) -> None:
    page = signed_in(kitchen.bob).get("/account/").content.decode()
    for name in ("mfa_index", "account_set_password", "account_email", "connections", "grants", "deputy"):
        assert f'href="{reverse(name)}"' in page
    assert "/admin/" not in page


def test_who_came_by_a_link_chooses_a_password_before_a_passkey(kitchen: Kitchen, signed_in: In) -> None:
    bob = signed_in(kitchen.bob)
    assert "choose a password" in text(bob.get("/account/2fa/"))
    assert "Add one" not in text(bob.get("/account/2fa/"))
    bob.post("/account/password/set/", {"password1": LONG, "password2": LONG})
    assert User.objects.get(username="bob").check_password(LONG)
    kitchen.bob.refresh_from_db()
    assert "Add one" in text(signed_in(kitchen.bob).get("/account/2fa/"))


@pytest.mark.parametrize(
    "path", ["/", "/rooms/new/", "/pair/", "/grants/", "/deputy/", "/connections/", "/account/", "/nothing/"]
)
def test_our_own_pages_hold_nothing_that_the_policy_stops(kitchen: Kitchen, signed_in: In, path: str) -> None:
    answer = signed_in(kitchen.alice).get(path)
    clean(answer.content.decode())
    assert "default-src 'self'" in answer["Content-Security-Policy"]


@pytest.mark.parametrize("path", ["/", "/rooms/new/", "/pair/", "/grants/", "/deputy/", "/connections/", "/account/"])
def test_each_page_has_one_heading_and_labels_its_fields(kitchen: Kitchen, signed_in: In, path: str) -> None:
    page = signed_in(kitchen.alice).get(path).content.decode()
    assert page.count("<h1") == 1
    for found in re.finditer(r"<(?:input|select|textarea)([^>]*)>", page):
        if 'type="hidden"' in found[1]:
            continue
        field = re.search(r'id="([^"]+)"', found[1])
        assert field
        assert f'for="{field[1]}"' in page
