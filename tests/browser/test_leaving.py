"""Handing over and deleting, as people see it: on a telephone, without a script, and from the other side."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import Open
from tests.live import Live

pytestmark = [pytest.mark.browser]
FITS = "() => document.documentElement.scrollWidth <= window.innerWidth"


@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (390, "dark"), (320, "light")])
def test_the_pages_that_delete_fit_and_say_what_is_lost(live: Live, open_page: Open, width: int, scheme: str) -> None:
    alice, bob = live.person(f"alice{width}"), live.person(f"bob{width}")
    rooms = [alice.make_room(name) for name in ("kitchen", "a room with a very long name " + "o" * 50)]
    for room in rooms:
        bob.join(alice.invite(room))
    for path in (f"/rooms/{rooms[0]}/settings/", f"/rooms/{rooms[1]}/delete/", "/account/delete/"):
        page = open_page(alice, "/account/", width=width, color_scheme=scheme)
        page.goto(live.url + path)
        expect(page.get_by_role("heading", level=2).first).to_be_visible()
        assert page.evaluate(FITS), path
        page.context.close()


def test_who_has_the_room_open_sees_it_go(live: Live, open_page: Open) -> None:
    alice, bob = live.person("alice"), live.person("bob")
    kitchen = alice.make_room("kitchen")
    bob.join(alice.invite(kitchen))
    bobs = open_page(bob, f"/rooms/{kitchen}/")
    alices = open_page(alice, "/")
    alices.goto(f"{live.url}/rooms/{kitchen}/delete/")
    alices.get_by_label("Write the room’s name to confirm").fill("kitchen")
    alices.get_by_role("button", name="Delete this room for everybody").click()
    expect(alices.get_by_text("kitchen is deleted.")).to_be_visible()
    expect(bobs.get_by_text("There is nothing here").first).to_be_visible()


def test_an_account_goes_without_a_script_and_others_see_a_former_member(live: Live, open_page: Open) -> None:
    carol, dave = live.person("carol"), live.person("dave")
    pantry = carol.make_room("pantry")
    dave.join(carol.invite(pantry))
    carol.ask(pantry, "I like jam.")
    daves = open_page(dave, f"/rooms/{pantry}/")
    carols = open_page(carol, "/account/delete/", java_script_enabled=False)
    carols.get_by_label("pantry", exact=True).select_option(label="hand it over to dave")
    carols.get_by_label("Write the account’s name to confirm").fill("carol")
    carols.get_by_role("button", name="Delete my account").press("Enter")
    expect(carols.get_by_role("heading", name="Your account is deleted")).to_be_visible()
    expect(daves.get_by_text("left: the account was deleted.")).to_contain_text("former member")
    daves.reload()
    expect(daves.get_by_text("I like jam.")).to_be_visible()
    expect(daves.locator("#timeline")).not_to_contain_text("carol")
    daves.goto(f"{live.url}/rooms/{pantry}/settings/")
    expect(daves.get_by_role("heading", name="Delete", exact=True)).to_be_visible()
