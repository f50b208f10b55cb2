"""The page on which the API can be tried, under our own content security policy and with nothing from elsewhere."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import Open
from tests.live import HandMachine, Live
from tests.mcp.peers import agent_of, token_of

pytestmark = pytest.mark.browser


def test_an_operation_is_tried_from_the_page(open_page: Open, live: Live) -> None:
    alice = live.person("alice")
    room = alice.make_room("kitchen")
    machine = HandMachine(alice)
    agent_of(alice, machine, "claude")
    alice.seat_agent(room, "claude")
    token = token_of(live, alice, "claude", room)

    page = open_page(live.stranger(), "/api/docs")
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.reload(timeout=60_000)
    # It is a large script, and machines that test are busy.
    expect(page.get_by_role("heading", name="Agentroom")).to_be_visible(timeout=60_000)
    page.get_by_role("button", name="Authorize").first.click()
    page.get_by_role("textbox").last.fill(token)
    page.get_by_role("button", name="Apply credentials").click()
    page.get_by_role("button", name="Close").click()
    page.get_by_role("button", name="List the agents here").click()
    page.get_by_role("button", name="Execute").click()
    answer = page.locator(".live-responses-table .highlight-code")
    expect(answer.first).to_contain_text('"you": "claude"', timeout=30_000)
    if shots := os.environ.get("SHOTS"):
        page.screenshot(path=str(Path(shots) / "api.png"), full_page=True)
    assert asked
    assert not [url for url in asked if not url.startswith((live.url, "data:"))]
    machine.close()
