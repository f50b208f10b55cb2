"""Approving a push with a touch: from the room to the passkey, back to the question, and only then decided."""

from __future__ import annotations

from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Browser, Page, expect

from agentroom_machine import wire
from tests.browser.test_doors import authenticator
from tests.browser.wire_machine import WireMachine
from tests.live import Live, Person

pytestmark = pytest.mark.browser
LONG = "a long kitchen table"


def signed_in(page: Page, host: str) -> None:
    page.goto(f"{host}/account/login/")
    page.get_by_label("Name or e-mail").fill("erin")
    page.get_by_label("Password").fill(LONG)
    page.get_by_role("button", name="Sign in", exact=True).click()
    expect(page.get_by_role("heading", name="Home")).to_be_visible()


def add_passkey(page: Page, host: str) -> None:
    page.goto(f"{host}/account/2fa/webauthn/add/")
    page.get_by_label("Password").fill(LONG)
    page.get_by_role("button", name="Go on").click()
    page.get_by_label("Name, for you to tell it apart").fill("laptop")
    page.get_by_role("button", name="Add it").click()
    page.wait_for_url(lambda url: "/add/" not in url)


def wants_to_push(live: Live, erin: Person) -> tuple[WireMachine, int]:
    """erin's agent runs for her in her room, and puts a push to her."""
    room = erin.make_room("kitchen")
    claude = WireMachine(live.url, erin, "claude")
    erin.seat_agent(room, "claude")
    erin.ask(room, "@claude release it")
    claude.run()
    claude.tell(
        wire.QuestionFact(
            key="push", subject="push", title="claude wants to push", action="git push origin main", short="Push"
        )
    )
    return claude, room


def test_a_push_is_approved_with_a_touch_and_a_press(chromium: Browser, live: Live) -> None:
    erin = live.person("erin")
    claude, room = wants_to_push(live, erin)
    erin.press("/account/password/set/", "Set Password", {"password1": LONG, "password2": LONG})
    host = f"http://localhost:{urlsplit(live.url).port}"  # passkeys belong to a name, never to a number
    context = chromium.new_context(viewport={"width": 390, "height": 844})
    page = context.new_page()
    page.set_default_timeout(15_000)
    authenticator(page)
    signed_in(page, host)
    add_passkey(page, host)

    page.goto(f"{host}/rooms/{room}/")
    card = page.locator(".question.own")
    expect(card).to_contain_text("asks for your passkey")
    card.get_by_role("button", name="Approve this push").click()
    page.get_by_role("button", name="Touch your passkey").click()
    expect(page.get_by_role("heading", name="A question for you")).to_be_visible()
    question = live.stored.questions(claude.turn)[-1]
    assert not question.verdict, "the touch itself decides nothing"
    expect(page.locator(".question.own")).not_to_contain_text("asks for your passkey")
    page.get_by_role("button", name="Approve this push").click()
    expect(page.get_by_text("You approved it.")).to_be_visible()
    assert live.stored.questions(claude.turn)[-1].verdict == "once"
    claude.close()
    context.close()
