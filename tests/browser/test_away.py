"""A machine that does not answer writes no entry: open pages notice by themselves, and only while somebody looks."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.utils import timezone
from playwright.sync_api import Page, expect

from tests.browser.conftest import Open
from tests.browser.kitchen import Kitchen, django, say

pytestmark = pytest.mark.browser


def went_away(kitchen: Kitchen) -> None:
    seen = (timezone.now() - timedelta(minutes=5)).isoformat()
    django(kitchen.live, f"from rooms.models import Machine; Machine.objects.update(last_seen_at='{seen}')")


def with_a_clock(page: Page) -> Page:
    """The page's own time can be wound forward from here on."""
    page.clock.install()
    page.reload()
    return page


def test_the_room_says_that_a_running_turn_is_out_of_sight(kitchen: Kitchen, open_page: Open) -> None:
    bob = with_a_clock(open_page(kitchen.bob, kitchen.path, width=390, height=844))
    vera = with_a_clock(open_page(kitchen.vera, kitchen.path))
    alice = with_a_clock(open_page(kitchen.alice, kitchen.path))
    say(alice, "@claude measure")
    kitchen.claude.run()
    for page in (alice, bob, vera):
        expect(page.locator(".card.turn .status")).to_contain_text("working")

    went_away(kitchen)
    for page in (alice, bob, vera):
        page.clock.fast_forward(15_000)
        expect(page.locator(".card.turn .status")).to_contain_text("offline since")
        expect(page.locator(".away")).to_contain_text("What claude did last is not known yet.")
        expect(page.locator("#people .status", has_text="offline")).to_have_count(1)
    expect(alice.get_by_role("button", name="Close", exact=True)).to_be_visible()
    expect(bob.get_by_role("button", name="Close", exact=True)).to_have_count(0)

    alice.get_by_role("button", name="Stop", exact=True).click()
    expect(alice.locator(".card.turn .status")).to_have_text("stop recorded, waiting for the machine")
    expect(alice.locator(".away")).to_contain_text("The stop is recorded, waiting for the machine.")
    kitchen.claude.sync()
    for page in (alice, bob, vera):
        page.clock.fast_forward(15_000)
        expect(page.locator(".away")).to_be_hidden()
        expect(page.locator(".card.turn .status")).to_contain_text("stopping")
    kitchen.claude.end("stopped")


def test_the_owner_closes_a_turn_whose_machine_never_came_back(kitchen: Kitchen, open_page: Open) -> None:
    alice = open_page(kitchen.alice, kitchen.path)
    say(alice, "@claude measure")
    kitchen.claude.run()
    expect(alice.locator(".card.turn .status")).to_contain_text("working")
    went_away(kitchen)
    alice.reload()
    alice.get_by_role("button", name="Close", exact=True).click()
    expect(alice.locator(".card.turn .status")).to_have_text("interrupted, outcome unknown")
    expect(alice.locator(".away")).to_be_hidden()
    kitchen.claude.forget()


def test_home_notices_as_well_and_asks_nothing_while_it_is_hidden(kitchen: Kitchen, open_page: Open) -> None:
    kitchen.claude.sync()
    home = with_a_clock(open_page(kitchen.alice, "/"))
    expect(home.locator("#home")).to_contain_text("connected")
    asked: list[str] = []
    home.on("request", lambda request: asked.append(request.url))
    home.evaluate("Object.defineProperty(document, 'hidden', { get: () => true, configurable: true })")
    went_away(kitchen)
    home.clock.fast_forward(15_000)
    home.evaluate("fetch('/healthz')")  # whatever was asked before it has been heard by now
    assert [url for url in asked if url == home.url] == []

    home.evaluate("delete document.hidden; document.dispatchEvent(new Event('visibilitychange'))")
    expect(home.locator("#home")).to_contain_text("last seen")
    expect(home.locator("#home .status", has_text="offline")).to_have_count(1)
    assert asked.count(home.url) == 1
