"""A room's owner sets how long it keeps entries, in a browser that runs no script."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import Open
from tests.live import Live

pytestmark = pytest.mark.browser


def shot(page: Page, name: str) -> None:
    if shots := os.environ.get("SHOTS"):
        for scheme in ("light", "dark"):
            page.emulate_media(color_scheme=scheme)
            page.screenshot(path=str(Path(shots) / f"{name}-{scheme}.png"), full_page=True)


@pytest.mark.parametrize("width", [1280, 390])
def test_what_goes_is_said_and_a_copy_is_taken_before_it_is_confirmed(open_page: Open, live: Live, width: int) -> None:
    alice = live.person("alice")
    room = alice.make_room("kitchen")
    page = open_page(alice, f"/rooms/{room}/settings/", width=width, height=844, java_script_enabled=False)
    shot(page, f"settings-{width}")
    keep = page.get_by_role("region", name="Keep")
    keep.get_by_label("Keep entries for, in days").fill("30")
    keep.get_by_role("button", name="Save").click()
    expect(page.get_by_role("heading", name="Keep 30 days")).to_be_visible()
    expect(page.get_by_text("Nothing goes now")).to_be_visible()
    shot(page, f"confirm-{width}")
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    with page.expect_download() as got:
        page.get_by_role("link", name="JSON Lines").click()
    lines = Path(got.value.path()).read_text().splitlines()
    assert json.loads(lines[0])["number"] == 1
    page.get_by_role("button", name="Keep 30 days").click()
    expect(page.get_by_label("Keep entries for, in days")).to_have_value("30")
    # Longer, or for good, takes nothing: it is taken at once.
    page.get_by_role("region", name="Keep").get_by_label("Keep entries for, in days").fill("")
    page.get_by_role("region", name="Keep").get_by_role("button", name="Save").click()
    expect(page.get_by_role("region", name="Keep")).to_contain_text("sets no limit")
    # Everybody in the room finds the copy beside its people.
    page.goto(f"{live.url}/rooms/{room}/")
    expect(page.get_by_text("Take a copy")).to_have_count(1)


def test_a_number_that_does_not_fit_is_explained(open_page: Open, live: Live) -> None:
    alice = live.person("alice")
    room = alice.make_room("kitchen")
    page = open_page(alice, f"/rooms/{room}/settings/", width=390, height=844, java_script_enabled=False)
    keep = page.get_by_role("region", name="Keep")
    page.locator("#keep-days").evaluate("field => field.removeAttribute('min')")
    keep.get_by_label("Keep entries for, in days").fill("0")
    keep.get_by_role("button", name="Save").click()
    expect(page.get_by_text("greater than or equal to 1")).to_be_visible()
    shot(page, "keep-wrong")
