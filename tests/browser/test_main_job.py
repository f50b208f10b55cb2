"""The main job as its two people play it: real server, real daemon, an agent that really works, two browsers."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from tests.browser.conftest import Open
from tests.browser.kitchen import say
from tests.live import Live

pytestmark = [pytest.mark.browser, pytest.mark.timeout(300)]
LONG = 60_000


def words(page: Page) -> str:
    """What the timeline says, without the times that go on."""
    text = re.sub(r"\s+", " ", page.locator("#entries").inner_text())
    # The line moves to where the reader was when the page was loaded.
    return re.sub(r"\d+(\.\d+)? (s|min)\b|Last read here ", "", text).strip()


def status(page: Page, request: str) -> Locator:
    return page.locator(".entry", has_text=request).locator(".card.turn .status")


def test_a_guest_asks_and_the_owner_has_the_last_word(live: Live, chromium: Browser, open_page: Open) -> None:
    alice = live.person("alice")
    kitchen = alice.make_room("kitchen")
    machine = live.machine()
    machine.pair(alice)
    machine.add_agent("claude", runtime="demo", workdir=machine.repository())
    machine.up()
    alice.seat_agent(kitchen, "claude")
    path = f"/rooms/{kitchen}/"

    # The owner makes a link; a stranger on a phone opens it and signs up.
    owner = open_page(alice, "/")
    owner.goto(f"{live.url}{path}settings/")
    owner.get_by_role("button", name="Make an invite link").click()
    link = owner.get_by_label("Invite link").input_value()
    guest = chromium.new_context(viewport={"width": 390, "height": 844}).new_page()
    guest.set_default_timeout(15_000)
    guest.goto(link)
    guest.get_by_label("Your name in the room").fill("bob")
    guest.get_by_label("Password").fill("a long enough secret")
    guest.get_by_role("button", name="Join kitchen").click()
    guest.wait_for_selector("#timeline[data-connection=open]")
    owner.goto(live.url + path)
    owner.wait_for_selector("#timeline[data-connection=open]")

    # The guest asks; nothing runs before the owner's word.
    first = "first: edit the program, draw a picture, push it, then delete the old builds"
    say(guest, f"@claude {first}")
    expect(status(guest, first)).to_have_text("waiting for alice")
    expect(status(owner, first)).to_have_text("waiting for you")
    expect(guest.get_by_role("button", name="Approve once")).to_have_count(0)
    assert [turn.status for turn in live.turns(kitchen)] == ["asked"]
    owner.get_by_role("button", name="Approve once").click()

    # Both see each step arrive, without reloading; work runs unasked, and what can't be taken back is asked.
    card = owner.locator(".entry", has_text=first)
    for act, command in (("push", "git push origin main"), ("deletion", "rm -rf build")):
        approve = owner.get_by_role("button", name=f"Approve this {act}")
        question = card.locator(".card.question", has=approve)
        expect(question).to_contain_text(command, timeout=LONG)
        others = guest.locator(".entry", has_text=first).locator(".card.question")
        expect(others).to_contain_text("claude asks alice", timeout=LONG)
        expect(others).to_contain_text(command)
        expect(others.get_by_role("button")).to_have_count(0)
        owner.wait_for_timeout(700)  # a press right after a question appeared answers nothing, on purpose
        approve.click()
    assert [question.subject for question in live.stored.questions(live.turn(kitchen, 1).id)] == [
        "start", "push", "delete",
    ]  # fmt: skip
    for page in (owner, guest):
        for made in ("shop.py", "sales.png"):
            expect(page.locator(".entry", has_text=first)).to_contain_text(made, timeout=LONG)
    for page in (owner, guest):
        expect(status(page, first)).to_contain_text("done in", timeout=LONG)
        expect(page.locator(".entry", has_text=first)).to_contain_text("I multiply each price")
        expect(page.locator(".entry", has_text=first).locator(".figure img")).to_have_count(1)

        expect(page.locator(".entry", has_text=first).get_by_role("button", name="Stop")).to_have_count(0)
    expect(owner.get_by_text("Undo what it changed")).to_be_visible()

    # Reloading shows the same.
    for page in (owner, guest):
        before = words(page)
        page.reload()
        page.wait_for_selector("#timeline[data-connection=open]")
        assert words(page) == before

    # Allow always: the second runs at once.
    say(guest, "@claude second: what is in this repository?")
    owner.locator(".entry", has_text="second:").get_by_role("button", name="Allow always").click()
    expect(status(guest, "second:")).to_contain_text("done in", timeout=LONG)
    say(guest, "@claude third: list it again")
    expect(status(guest, "third:")).to_contain_text("done in", timeout=LONG)
    third = live.turn(kitchen, 3)
    assert not live.stored.questions(third.id)

    # Revoked: the next one waits, and a no shows its note.
    settings = open_page(alice, "/grants/")
    settings.get_by_role("button", name=re.compile("^Revoke")).click()
    say(guest, "@claude fourth: and once more")
    expect(status(guest, "fourth:")).to_have_text("waiting for alice")
    entry = owner.locator(".entry", has_text="fourth:")
    entry.get_by_text("Note, or limits").click()
    entry.get_by_label("Note to bob").fill("Three times is enough for today.")
    entry.get_by_role("button", name="Decline", exact=True).click()
    expect(status(guest, "fourth:")).to_have_text("declined by alice")
    expect(guest.locator(".entry", has_text="fourth:")).to_contain_text("Three times is enough for today.")
    guest.context.close()
