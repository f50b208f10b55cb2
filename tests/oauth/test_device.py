"""A program without a browser signs in: it shows a code, and the person types it somewhere else."""

from __future__ import annotations

from typing import Any

import pytest
from allauth.idp.oidc.models import Token
from django.conf import settings
from django.core.cache import cache
from django.test import Client

from agentroom import auth
from rooms.models import Connection, Consent
from tests.approvals.kitchen import Kitchen
from tests.oauth.program import DEVICE_GRANT, TOKEN, Program, browser_of
from tests.pages.reading import text

DEVICE = "/identity/o/device"


def starts(program: Program, **more: str) -> dict[str, Any]:
    answer = program.post("/identity/o/api/device/code", more)
    assert answer.status_code == 200, answer.content
    made: dict[str, Any] = answer.json()
    return made


def asks(program: Program, device: dict[str, Any]) -> Any:
    """The program looks whether it is let in; the pause between two looks is left out."""
    key = f"allauth.idp.oidc.device_code[{device['device_code']}]"
    if data := cache.get(key):
        cache.set(key, data | {"last_poll_at": 0})
    return program.post(TOKEN, {"grant_type": DEVICE_GRANT, "device_code": device["device_code"]})


def answers(browser: Client, device: dict[str, Any], **fields: str) -> Any:
    return browser.post(f"{DEVICE}?code={device['user_code']}", fields)


def test_it_waits_until_the_person_chose(kitchen: Kitchen) -> None:
    program, alice = Program.introduced("Far away"), browser_of(kitchen.alice)
    device = starts(program, resource=settings.MCP_RESOURCE)
    assert device["verification_uri_complete"] == f"{device['verification_uri']}?code={device['user_code']}"
    assert asks(program, device).json()["error"] == "authorization_pending"
    page = alice.get(f"{DEVICE}?code={device['user_code'].lower()}")
    assert f"Far away wants to sign in Does the program show this code? {device['user_code']}" in text(page)
    assert asks(program, device).json()["error"] == "authorization_pending"
    done = answers(alice, device, action="confirm", identity=f"{kitchen.claude.pk}:{kitchen.room.pk}")
    assert (done.status_code, done["Location"]) == (302, "/identity/o/device/done?answer=yes")
    made = asks(program, device).json()
    caller = auth.caller(f"Bearer {made['access_token']}")
    assert caller.seat() == kitchen.seat(kitchen.claude)
    assert caller.connection.name == "Far away"
    again = program.refreshes(made["refresh_token"]).json()
    assert auth.caller(f"Bearer {again['access_token']}").connection == caller.connection


def test_a_no_is_told(kitchen: Kitchen) -> None:
    program = Program.introduced()
    device = starts(program)
    assert answers(browser_of(kitchen.bob), device, action="deny")["Location"].endswith("answer=no")
    assert asks(program, device).json()["error"] == "access_denied"
    assert not Token.objects.exists()
    assert not Consent.objects.exists()


def test_another_site_cannot_answer_for_the_person(kitchen: Kitchen) -> None:
    device = starts(Program.introduced())
    strict = Client(enforce_csrf_checks=True)
    strict.force_login(kitchen.alice, "django.contrib.auth.backends.ModelBackend")
    assert answers(strict, device, action="confirm", identity="account").status_code == 403
    assert not Consent.objects.exists()


def test_its_pages_are_never_framed_or_kept(kitchen: Kitchen) -> None:
    device = starts(Program.introduced())
    for path in (DEVICE, f"{DEVICE}?code={device['user_code']}"):
        page = browser_of(kitchen.alice).get(path)
        assert page["X-Frame-Options"] == "DENY"
        assert "form-action 'self';" in page["Content-Security-Policy"]
        assert "no-store" in page["Cache-Control"]


@pytest.mark.parametrize("identity", ["", "nobody"])
def test_the_person_has_to_choose(identity: str, kitchen: Kitchen) -> None:
    program = Program.introduced()
    device = starts(program)
    answer = answers(browser_of(kitchen.bob), device, action="confirm", identity=identity)
    assert answer.status_code == 422
    assert asks(program, device).json()["error"] == "authorization_pending"


def test_somebody_elses_agent_is_not_to_choose(kitchen: Kitchen) -> None:
    device = starts(Program.introduced())
    bob = browser_of(kitchen.bob)
    assert "claude in" not in text(bob.get(f"{DEVICE}?code={device['user_code']}"))
    answer = answers(bob, device, action="confirm", identity=f"{kitchen.claude.pk}:{kitchen.room.pk}")
    assert answer.status_code == 422
    assert not Consent.objects.exists()


def test_an_unknown_and_an_answered_code_look_the_same(kitchen: Kitchen) -> None:
    device = starts(Program.introduced())
    answers(browser_of(kitchen.alice), device, action="confirm", identity="account")
    bob = browser_of(kitchen.bob)
    answered, unknown = (bob.get(f"{DEVICE}?code={code}") for code in (device["user_code"], "BCDF-GHJK"))
    assert (answered.status_code, unknown.status_code) == (422, 422)
    assert text(answered) == text(unknown)
    assert answers(bob, device, action="confirm", identity="account").status_code == 422
    assert Consent.objects.get().user == kitchen.alice


def test_codes_are_not_to_be_guessed_quickly(kitchen: Kitchen) -> None:
    device = starts(Program.introduced())
    bob = browser_of(kitchen.bob)
    for _ in range(settings.DOOR_ATTEMPTS):
        bob.get(f"{DEVICE}?code=BCDF-GHJK")
    assert bob.get(f"{DEVICE}?code={device['user_code']}").status_code == 422


def test_one_address_gets_so_many_codes(kitchen: Kitchen) -> None:
    program = Program.introduced()
    for _ in range(settings.DOOR_ATTEMPTS):
        starts(program)
    assert program.post("/identity/o/api/device/code", {}).status_code == 429


def test_many_codes_make_no_limit_forget_what_it_counted(kitchen: Kitchen) -> None:
    kitchen.bob.set_password("a long enough secret")
    kitchen.bob.save()

    def signs_in(password: str) -> bool:
        browser = Client()
        browser.post("/account/login/", {"login": "bob", "password": password})
        return "_auth_user_id" in browser.session

    assert not any(signs_in("guessed") for _ in range(5))
    assert not signs_in("a long enough secret")
    program = Program.introduced()
    for number in range(400):
        program.http.defaults["REMOTE_ADDR"] = f"192.0.{number // 250}.{number % 250}"
        starts(program)
    assert not signs_in("a long enough secret")


def test_no_device_signs_in_for_another_server(kitchen: Kitchen) -> None:
    program = Program.introduced()
    answer = program.post("/identity/o/api/device/code", {"resource": "https://other.example/mcp"})
    assert (answer.status_code, answer.json()["error"]) == (400, "invalid_target")


def test_a_device_code_is_good_once_and_for_its_program(kitchen: Kitchen) -> None:
    program, other = Program.introduced(), Program.introduced("Other")
    device = starts(program)
    answers(browser_of(kitchen.bob), device, action="confirm", identity="account")
    assert asks(other, device).json()["error"] == "invalid_grant"
    assert asks(program, device).status_code == 200
    assert asks(program, device).json()["error"] == "invalid_grant"
    assert Connection.objects.filter(client=program.id).count() == 1
