"""A kitchen for browsers: alice's room with her agent, bob who asks and vera who reads along."""

from __future__ import annotations

from dataclasses import dataclass

from playwright.sync_api import Page, expect

from tests.browser.wire_machine import WireMachine
from tests.live import Live, Person, until


@dataclass
class Kitchen:
    live: Live
    alice: Person
    bob: Person
    vera: Person
    room: int
    claude: WireMachine

    @property
    def path(self) -> str:
        return f"/rooms/{self.room}/"

    def fresh(self, name: str) -> Kitchen:
        """Another room with the same people and the same agent."""
        room = self.alice.make_room(name)
        self.bob.join(self.alice.invite(room))
        self.vera.join(self.alice.invite(room, role="viewer"))
        self.alice.seat_agent(room, "claude")
        return Kitchen(self.live, self.alice, self.bob, self.vera, room, self.claude)


def say(page: Page, text: str) -> None:
    page.locator("#body").fill(text)
    page.locator("#body").press("Control+Enter")
    expect(page.locator(".entry", has_text=text).last).to_be_visible()


def django(live: Live, code: str) -> None:
    """Change what no page can: the passing of time, and crowds."""
    live.manage("shell", "-c", code)


def shows(page: Page, expression: str) -> None:
    """Wait until it is true in the page; by our own polling, because the page's policy forbids ``eval``."""
    until(lambda: bool(page.evaluate(expression)), what=expression)
