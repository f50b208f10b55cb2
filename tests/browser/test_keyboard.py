"""Everything by keyboard: in an order that makes sense, and with the focus in sight."""

from __future__ import annotations

from itertools import pairwise

import pytest
from playwright.sync_api import Page, expect

from agentroom_machine import wire
from tests.browser.conftest import Open
from tests.browser.kitchen import Kitchen, say

pytestmark = pytest.mark.browser
FOCUS = """() => {
  const held = document.activeElement;
  const shown = held.closest(".box") ?? (held.matches(".hidden-text") ? held.previousElementSibling : held);
  const box = shown.getBoundingClientRect();
  const style = getComputedStyle(shown);
  const down = Math.min(box.height / 2, 20);
  const over = document.elementFromPoint(box.x + Math.min(box.width, innerWidth) / 2, box.y + down);
  return {
    name: held.getAttribute("aria-label") || held.labels?.[0]?.textContent.trim() || held.textContent.trim(),
    outlined: style.outlineStyle !== "none" && parseFloat(style.outlineWidth) >= 2,
    seen: over !== null && (shown.contains(over) || over.contains(shown)),
    part: ["nav", "main", "aside"].find((part) => held.closest(part)) ?? "body",
  };
}"""


def walk(page: Page) -> list[dict[str, object]]:
    """What the Tab key reaches from the top of the page, one after another."""
    stops: list[dict[str, object]] = []
    for _ in range(80):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement === document.body"):
            break
        stops.append(page.evaluate(FOCUS))
    return stops


@pytest.mark.parametrize("width", [1280, 320])
def test_the_tab_key_reaches_everything_and_is_always_in_sight(kitchen: Kitchen, open_page: Open, width: int) -> None:
    page = open_page(kitchen.alice, kitchen.path, width=width, height=700)
    say(page, "@claude do it")
    kitchen.claude.run()
    kitchen.claude.tell(
        wire.ToolCallFact(call="a", tool="execute", title="Run `ls`", state="done", output="x"),
        wire.QuestionFact(key="k", subject="push", title="claude wants to push", action="git push", short="push"),
    )
    expect(page.get_by_role("button", name="Approve this push")).to_be_visible()
    page.reload()  # from the top
    expect(page.get_by_role("button", name="Approve this push")).to_be_visible()
    stops = walk(page)

    assert [stop["name"] for stop in stops if not stop["outlined"]] == []
    assert [stop["name"] for stop in stops if not stop["seen"]] == []
    names = [str(stop["name"]) for stop in stops]
    order = ["Stop", "The exact action", "Approve this push", "Decline", "Send"]
    assert [name for name in names if name in order] == order
    parts = list(dict.fromkeys(stop["part"] for stop in stops if stop["part"] != "body"))
    assert parts == (["nav", "main", "aside"] if width == 1280 else ["main"])


def test_a_link_skips_to_the_content(kitchen: Kitchen, open_page: Open) -> None:
    page = open_page(kitchen.alice, "/")
    page.keyboard.press("Tab")
    skip = page.get_by_role("link", name="Skip to the content")
    expect(skip).to_be_focused()
    expect(skip).to_be_in_viewport()
    page.keyboard.press("Enter")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.closest('main') !== null")


def test_members_are_chosen_with_the_arrows(kitchen: Kitchen, open_page: Open) -> None:
    page = open_page(kitchen.alice, kitchen.path)
    text = page.locator("#body")
    text.press_sequentially("ask @")
    names = page.get_by_role("option").locator("strong").all_inner_texts()
    assert names == ["claude", "bob", "vera"]
    for key, name in (("ArrowDown", "bob"), ("ArrowDown", "vera"), ("ArrowDown", "claude"), ("ArrowUp", "vera")):
        page.keyboard.press(key)
        expect(page.get_by_role("option", selected=True)).to_contain_text(name)
        expect(text).to_have_attribute("aria-activedescendant", f"mention-{name}")
    page.keyboard.press("Escape")
    expect(page.get_by_role("listbox")).to_be_hidden()
    expect(text).to_have_value("ask @")
    expect(text).to_be_focused()
    page.keyboard.type("v")
    page.keyboard.press("Tab")
    expect(text).to_have_value("ask @vera ")


def test_headings_and_landmarks_are_in_order(kitchen: Kitchen, open_page: Open) -> None:
    room = open_page(kitchen.alice, kitchen.path)
    say(room, "@claude do it")
    kitchen.claude.run()
    kitchen.claude.tell(wire.QuestionFact(key="k2", subject="tool", title="t", action="a", short="s"))
    expect(room.locator(".card.question form")).to_have_count(1)
    question = (room.locator(".card.question form").get_attribute("action") or "").removesuffix("answer/")
    for path in (kitchen.path, "/", question):
        room.goto(kitchen.live.url + path)
        levels = room.evaluate("[...document.querySelectorAll('h1, h2, h3, h4')].map((h) => Number(h.tagName[1]))")
        main = room.evaluate(
            "[...document.querySelectorAll('main :is(h1, h2, h3, h4)')].map((h) => Number(h.tagName[1]))"
        )
        assert levels.count(1) == 1
        assert all(next_ <= level + 1 for level, next_ in pairwise(main))
        nameless = room.evaluate(
            "[...document.querySelectorAll('nav, aside, section, article')].filter((part) => part.checkVisibility()"
            " && !part.ariaLabel && !document.getElementById(part.getAttribute('aria-labelledby'))"
            " && !part.closest('nav, aside')).map((part) => part.outerHTML.slice(0, 120))"
        )
        assert nameless == []
