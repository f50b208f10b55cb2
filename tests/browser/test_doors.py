"""The pages around the room in a real browser: passkeys, narrow screens, no JavaScript."""

from __future__ import annotations

from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.browser.conftest import Open
from tests.live import Live

pytestmark = pytest.mark.browser
LONG = "a long kitchen table"
PAGES = (
    "/", "/rooms/new/", "/pair/", "/grants/", "/deputy/", "/connections/", "/audit/", "/account/", "/account/2fa/",
)  # fmt: skip


def authenticator(page: Page) -> None:
    """A passkey in software, whose owner touches it at once."""
    session = page.context.new_cdp_session(page)
    session.send("WebAuthn.enable")
    options = {
        "protocol": "ctap2",
        "transport": "internal",
        "hasResidentKey": True,
        "hasUserVerification": True,
        "isUserVerified": True,
        "automaticPresenceSimulation": True,
    }
    session.send("WebAuthn.addVirtualAuthenticator", {"options": options})


def test_a_passkey_is_added_and_opens_the_door(chromium: Browser, live: Live) -> None:
    live.manage("person", "erin", "--password-stdin", given=f"{LONG}\n")
    page_of = f"http://localhost:{urlsplit(live.url).port}"  # passkeys belong to a name, never to a number
    context = chromium.new_context()
    page = context.new_page()
    page.set_default_timeout(15_000)
    authenticator(page)
    page.goto(f"{page_of}/account/login/")
    page.get_by_label("Name or e-mail").fill("erin")
    page.get_by_label("Password").fill(LONG)
    page.get_by_role("button", name="Sign in", exact=True).click()
    expect(page.get_by_role("heading", name="Home")).to_be_visible()
    page.goto(f"{page_of}/account/2fa/webauthn/add/")
    page.get_by_label("Password").fill(LONG)  # what guards the account asks once more
    page.get_by_role("button", name="Go on").click()
    page.get_by_label("Name, for you to tell it apart").fill("laptop")
    page.get_by_role("button", name="Add it").click()
    page.wait_for_url(lambda url: "/add/" not in url)
    page.goto(f"{page_of}/account/logout/")
    page.get_by_role("button", name="Sign out").click()
    page.goto(f"{page_of}/account/login/")
    page.get_by_role("button", name="Use a passkey").click()
    expect(page.get_by_role("heading", name="Home")).to_be_visible()
    context.close()


def test_nothing_is_wider_than_a_small_phone(open_page: Open, live: Live) -> None:
    alice = live.person("alice")
    kitchen = alice.make_room("a kitchen with an unreasonably long name that wraps")
    page = open_page(alice, "/", width=320, height=640)
    for path in (*PAGES, f"/rooms/{kitchen}/settings/", f"/rooms/{kitchen}/people/"):
        page.goto(live.url + path)
        assert page.evaluate("document.documentElement.scrollWidth") <= 320, path


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_stranger_joins_without_javascript(chromium: Browser, live: Live, scheme: str) -> None:
    alice = live.person("alice")
    kitchen = alice.make_room("kitchen")
    link = alice.invite(kitchen)
    context = chromium.new_context(
        viewport={"width": 390, "height": 844},
        java_script_enabled=False,
        color_scheme="dark" if scheme == "dark" else "light",
    )
    page = context.new_page()
    page.set_default_timeout(15_000)
    page.goto(link)
    page.get_by_label("Your name in the room").fill("alice")
    page.get_by_label("Password").fill(LONG)
    page.get_by_role("button", name="Join kitchen").click()
    expect(page.get_by_text("That name is taken. Try alice-2")).to_be_visible()
    page.get_by_label("Your name in the room").fill(f"guest-{scheme}")
    page.get_by_label("Password").fill(LONG)
    page.get_by_role("button", name="Join kitchen").click()
    expect(page.get_by_role("heading", name="kitchen", exact=True)).to_be_visible()
    page.goto(f"{live.url}/rooms/new/")
    page.get_by_label("Name of the room").fill("mine")
    page.get_by_role("button", name="Make the room").click()
    expect(page.get_by_role("heading", name="mine", exact=True)).to_be_visible()
    context.close()
