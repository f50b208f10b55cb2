from __future__ import annotations

from collections.abc import Callable, Iterator
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Browser, ConsoleMessage, Page, expect, sync_playwright

from tests.browser.kitchen import Kitchen
from tests.browser.wire_machine import WireMachine
from tests.live import Live, Person

ARGUMENTS = [
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync",
]  # fmt: skip
Open = Callable[..., Page]
# Other tests keep the machine busy meanwhile, up to seconds at a time.
expect.set_options(timeout=20_000)


@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path="/usr/bin/chromium", args=ARGUMENTS)
        yield browser
        browser.close()


@pytest.fixture
def open_page(chromium: Browser, live: Live) -> Iterator[Open]:
    """Opens a person's page in a window of its own; a script error or a blocked style in any of them fails the test."""
    problems: list[str] = []

    def heard(message: ConsoleMessage) -> None:
        lost = ("ERR_CONNECTION", "WebSocket connection", "Failed to load resource", "ERR_INTERNET", "ERR_SOCKET")
        if message.type == "error" and not any(word in message.text for word in lost):
            problems.append(message.text)

    contexts = []

    def opened(person: Person, path: str, *, width: int = 1280, height: int = 900, **more: object) -> Page:
        context = chromium.new_context(viewport={"width": width, "height": height}, **more)  # type: ignore[arg-type]
        contexts.append(context)
        host = urlsplit(live.url).hostname or ""
        context.add_cookies(
            [{"name": c.name, "value": c.value or "", "domain": host, "path": "/"} for c in person.client.cookies.jar]
        )
        page = context.new_page()
        page.set_default_timeout(15_000)
        page.on("console", heard)
        page.on("pageerror", lambda error: problems.append(str(error)))
        page.goto(live.url + path)
        if more.get("java_script_enabled", True) and path.startswith("/rooms/"):
            page.wait_for_selector("#timeline[data-connection=open]")
        return page

    yield opened
    for context in contexts:
        context.close()
    assert problems == []


@pytest.fixture(scope="module")
def household(live: Live) -> Iterator[Kitchen]:
    alice, bob, vera = live.person("alice", admin=True), live.person("bob"), live.person("vera")
    claude = WireMachine(live.url, alice, "claude")
    yield Kitchen(live, alice, bob, vera, 0, claude)
    claude.close()


@pytest.fixture
def kitchen(household: Kitchen, request: pytest.FixtureRequest) -> Iterator[Kitchen]:
    fresh = household.fresh(f"kitchen {request.node.name[-60:]}")
    yield fresh
    # What a test leaves running or waiting is no other test's concern.
    if household.claude.turn:
        household.claude.end("failed", "The test ended first.")
    fresh.alice.post(f"/rooms/{fresh.room}/archive/", {"archived": "yes"})
