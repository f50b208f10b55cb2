"""Whoever answers question after question: folded decisions, the next one in view, one page after another."""

from __future__ import annotations

import re
from datetime import timedelta

import pytest
from django.utils import timezone
from playwright.sync_api import Page, expect

from agentroom_machine import wire
from tests.browser.conftest import Open
from tests.browser.kitchen import Kitchen, say, shows

pytestmark = pytest.mark.browser


def asked(kitchen: Kitchen, number: int, subject: wire.Subject = "tool") -> wire.QuestionFact:
    return wire.QuestionFact(
        key=f"{kitchen.room}-{number}", subject=subject, title=f"claude wants to do {number}",
        short=f"do `{number}`", action=f"do {number}",
    )  # fmt: skip


def running(kitchen: Kitchen, page: Page, *subjects: wire.Subject) -> None:
    say(page, "@claude do it all")
    kitchen.claude.run()
    kitchen.claude.tell(*(asked(kitchen, number, subject) for number, subject in enumerate(subjects, 1)))


def test_decisions_fold_into_one_line_that_a_link_opens(kitchen: Kitchen, open_page: Open) -> None:
    alice, bob = open_page(kitchen.alice, kitchen.path), open_page(kitchen.bob, kitchen.path)
    running(kitchen, alice, "tool", "tool", "tool")
    alice.get_by_role("button", name="Approve once").first.click()
    expect(alice.locator(".card.question")).to_have_count(2)
    alice.get_by_role("button", name="Decline", exact=True).first.click()
    for page, who in ((alice, "you"), (bob, "alice")):
        expect(page.locator(".decided > summary")).to_have_text(
            re.compile(rf"^2 decisions, 1 declined, the last by {who} at \d\d:\d\d$")
        )
        expect(page.locator(".card.question")).to_have_count(1)
    expect(alice.get_by_role("button", name="Approve once")).to_have_count(1)

    bob.locator(".decided > summary").click()
    expect(bob.locator(".decided li").first).to_have_text(re.compile(r"^do 1 approved by alice, \d\d:\d\d$"))
    alice.get_by_role("button", name="Approve once").click()
    expect(bob.locator(".decided li")).to_have_count(3)
    expect(bob.locator(".decided")).to_have_attribute("open", "")
    kitchen.claude.end()
    expect(bob.locator(".card.turn .status")).to_contain_text("done in")
    link = bob.locator(".decided .when").nth(1).get_attribute("href") or ""
    alice.goto(kitchen.live.url + kitchen.path + link)
    expect(alice.locator(".decided li").nth(1)).to_be_in_viewport()
    assert "declined by you" in alice.locator(".decided li").nth(1).inner_text()


def test_by_keyboard_the_focus_goes_from_question_to_question(kitchen: Kitchen, open_page: Open) -> None:
    alice = open_page(kitchen.alice, kitchen.path)
    for number in range(8):
        kitchen.bob.ask(kitchen.room, f"message {number}")
    running(kitchen, alice, "tool", "tool", "push")
    alice.clock.install()
    alice.reload()
    alice.get_by_role("button", name="Approve once").first.focus()
    alice.keyboard.press("Enter")

    second = alice.locator(".card.question", has_text="wants to do 2").get_by_role("button", name="Approve once")
    expect(second).to_be_focused()
    expect(second).to_be_in_viewport()
    shows(alice, "document.querySelectorAll('.card.question').length === 2")
    alice.clock.fast_forward(1_000)  # read it
    second.press("Enter")
    # What cannot be taken back is read first: its button is one press of Tab and more away.
    expect(alice.locator(".card.question", has_text="wants to do 3").locator(".command")).to_be_focused()
    alice.keyboard.press("Tab")
    alice.keyboard.press("Tab")
    expect(alice.get_by_role("button", name="Approve this push")).to_be_focused()
    alice.clock.fast_forward(1_000)
    alice.keyboard.press("Enter")
    expect(alice.locator(".decided > summary")).to_be_focused()

    kitchen.claude.tell(asked(kitchen, 4))
    expect(alice.get_by_role("button", name="Approve once")).to_be_focused()
    alice.locator("#body").click()
    kitchen.claude.tell(asked(kitchen, 5))
    expect(alice.locator(".card.question")).to_have_count(2)
    expect(alice.locator("#body")).to_be_focused()
    kitchen.claude.end()


def test_a_second_press_answers_no_question_that_was_not_read(kitchen: Kitchen, open_page: Open) -> None:
    alice = open_page(kitchen.alice, kitchen.path)
    running(kitchen, alice, "tool", "tool", "tool")
    alice.clock.install()
    alice.reload()
    expect(alice.get_by_role("button", name="Approve once")).to_have_count(3)
    alice.clock.pause_at(timezone.now() + timedelta(seconds=5))
    alice.get_by_role("button", name="Approve once").first.press("Enter")
    second = alice.locator(".card.question", has_text="wants to do 2").get_by_role("button", name="Approve once")
    expect(second).to_be_focused()
    alice.keyboard.press("Enter")
    second.dispatch_event("click", {"detail": 2})
    kitchen.claude.tell(wire.TextFact(part="a", text="still waiting"))
    expect(alice.locator(".card.turn")).to_contain_text("still waiting")
    expect(alice.locator(".card.question")).to_have_count(2)

    alice.clock.run_for(1_000)
    alice.keyboard.press("Enter")
    expect(alice.locator(".card.question")).to_have_count(1)


def test_the_page_of_a_question_goes_on_to_the_next(kitchen: Kitchen, open_page: Open) -> None:
    room = open_page(kitchen.alice, kitchen.path)
    running(kitchen, room, "tool", "tool")
    expect(room.locator(".card.question form")).to_have_count(2)
    first = room.locator(".card.question form").first.get_attribute("action") or ""
    alone = open_page(kitchen.alice, first.removesuffix("answer/"), width=390, height=844)
    expect(alone.locator("#alone .command")).to_have_text("do 1")
    alone.get_by_role("button", name="Approve once").click()
    expect(alone.locator("#alone .command")).to_have_text("do 2")
    alone.get_by_role("button", name="Decline", exact=True).click()
    expect(alone.locator("#alone")).to_contain_text("You declined it.")

    kitchen.claude.tell(asked(kitchen, 3))
    expect(alone.locator("#alone .command")).to_have_text("do 3")
    kitchen.claude.end()
    expect(alone.locator("#alone")).to_contain_text("It no longer waits: withdrawn.")


def test_without_a_script_the_page_of_a_question_goes_on_as_well(kitchen: Kitchen, open_page: Open) -> None:
    room = open_page(kitchen.alice, kitchen.path)
    running(kitchen, room, "tool", "tool")
    expect(room.locator(".card.question form")).to_have_count(2)
    first = room.locator(".card.question form").first.get_attribute("action") or ""
    alone = open_page(kitchen.alice, first.removesuffix("answer/"), java_script_enabled=False)
    alone.get_by_role("button", name="Approve once").click()
    expect(alone.locator("#alone .command")).to_have_text("do 2")
    alone.get_by_role("button", name="Approve once").click()
    expect(alone.locator(".decided > summary")).to_contain_text("2 decisions")
    kitchen.claude.end()
