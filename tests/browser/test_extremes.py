"""Nothing overflows a phone of 320 px, whatever people and agents write."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Locator, Page, expect

from agentroom_machine import wire
from tests.browser.conftest import Open
from tests.browser.kitchen import Kitchen, django
from tests.live import Person

pytestmark = pytest.mark.browser
WIDTH = 320
HANDLE = "w" * 32
WORD = "Betriebsunfallversicherungsgesellschaftsangestelltenkonto" + "xyz"  # 60 characters
HEBREW = "שלום עולם, זה טקסט ארוך מימין לשמאל עם mixed English words " * 4
COMMAND = "curl https://example.org/" + "a" * 1_000 + " | tee " + "b" * 900 + "\u202e\u200b" + " " * 40 + "; true"
WIDE = """() => {
  const edge = document.documentElement.clientWidth;
  const scrolls = (part) => {
    if (!part) return false;
    const style = getComputedStyle(part);
    if (["auto", "scroll"].includes(style.overflowX) || style.textOverflow === "ellipsis") return true;
    return scrolls(part.parentElement);
  };
  const wide = [...document.querySelectorAll("body *")]
    .filter((part) => part.getClientRects().length && part.getBoundingClientRect().right > edge + 1)
    .filter((part) => !scrolls(part.parentElement))
    .filter((part) => !part.closest("[popover]:not(:popover-open), .hidden-text"))
    .map((part) => `${part.tagName}.${part.className} ${part.textContent.slice(0, 60)}`);
  return document.documentElement.scrollWidth > edge ? ["the page", ...wide] : wide;
}"""
LONGER = """() => {
  const labels = "button, .button, .status, summary, h1, h2, h3, dt, label, small, .small";
  for (const label of document.querySelectorAll(labels)) {
    const words = [...label.childNodes].findLast((node) => node.nodeType === 3 && node.textContent.trim());
    if (words) words.textContent += "é".repeat(Math.ceil(words.textContent.trim().length * 0.35));
  }
}"""


class Crowded:
    def __init__(self, kitchen: Kitchen, guest: Person, question: str) -> None:
        self.kitchen, self.guest, self.question = kitchen, guest, question


@pytest.fixture(scope="module")
def crowded(household: Kitchen) -> Iterator[Crowded]:
    """A room in which everything is as long as it may be."""
    alice = household.alice
    room = alice.make_room(WORD + "y" * 20, about=WORD * 3)
    guest = household.live.stranger()
    guest.join(alice.invite(room), handle=HANDLE, password="a long enough phrase 9")
    alice.seat_agent(room, "claude")
    kitchen = Kitchen(household.live, alice, guest, household.vera, room, household.claude)
    guest.ask(room, "word " * 9_999)
    guest.ask(room, WORD * 30)
    guest.ask(room, HEBREW)
    guest.ask(
        room, f"| {WORD} | {WORD} |\n|---|---|\n| 1 | 2 |\n\n```\n{'x' * 3_000}\n```\n\n> {WORD * 4}\n\n- {WORD * 2}"
    )
    guest.ask(room, "a file", files=[(f"{WORD}.bin", b"x", "application/octet-stream")])
    alice.ask(room, f"@claude {WORD}")
    kitchen.claude.run()
    kitchen.claude.tell(
        wire.TextFact(part="a", text=f"{WORD * 5}\n\n`{'y' * 500}`\n\n{HEBREW}"),
        wire.PlanFact(items=[wire.PlanItem(text=WORD * 3, state="running"), wire.PlanItem(text="b", state="pending")]),
        wire.ToolCallFact(
            call="done", tool="execute", title=f"Run `{COMMAND}`"[:2000], state="done", output="z" * 9_000
        ),
        wire.ToolCallFact(call="open", tool="execute", title=WORD * 4, state="running", output="z" * 9_000),
        *(wire.FileChangeFact(path=f"{WORD}/{WORD}/{number}.py", plus=12_345, minus=67_890) for number in range(20)),
        wire.QuestionFact(
            key="long",
            subject="push",
            title=f"claude wants to push {WORD * 3}",
            short=f"push `{WORD * 3}`",
            action=COMMAND,
        ),
        wire.QuestionFact(key="declined", subject="tool", title="a", short=f"run `{WORD * 5}`", action="x"),
        wire.QuestionFact(
            key="plain", subject="question", title="q", short="q", action=WORD * 9, options=[WORD, WORD * 2]
        ),
    )
    turn = kitchen.claude.turn
    django(
        kitchen.live,
        "from approvals import turns; from approvals.models import Approval as A; from rooms.models import User;"
        f"turns.answer(User.objects.get(username='alice'), A.objects.get(turn={turn}, key='declined').pk,"
        f" verdict='no', note='{WORD * 3}')",
    )
    [(question,)] = kitchen.live.stored.rows(
        "SELECT id FROM approvals_approval WHERE turn_id = ? AND key = ?", turn, "long"
    )
    yield Crowded(kitchen, guest, f"/questions/{question}/")
    kitchen.claude.end()


def too_wide(page: Page) -> list[str]:
    """What reaches past the page's edge, and whether the page itself scrolls sideways."""
    found: list[str] = page.evaluate(WIDE)
    return found


def photograph(shown: Locator, name: str) -> None:
    """For whoever looks: AGENTROOM_SHOTS names a folder."""
    if folder := os.environ.get("AGENTROOM_SHOTS"):
        shown.screenshot(path=Path(folder) / f"{name}.png")


def unfold(page: Page) -> None:
    page.evaluate("for (const fold of document.querySelectorAll('details')) fold.open = true")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_crowded_room_fits_a_small_phone(crowded: Crowded, open_page: Open, scheme: str) -> None:
    kitchen = crowded.kitchen
    for name, person in (("alice", kitchen.alice), ("guest", crowded.guest)):
        page = open_page(person, kitchen.path, width=WIDTH, height=568, color_scheme=scheme)
        expect(page.locator(".card.question").first).to_be_attached()
        assert too_wide(page) == []
        unfold(page)
        assert too_wide(page) == []
        photograph(page.locator(".turn-group").last, f"room-{name}-{scheme}")
        page.get_by_role("button", name="People and agents").click()
        expect(page.locator("#people")).to_be_visible()
        assert too_wide(page) == []
        page.keyboard.press("Escape")
        page.get_by_role("button", name="Rooms").click()
        assert too_wide(page) == []


def test_pages_around_it_fit_as_well(crowded: Crowded, open_page: Open) -> None:
    for name, path in (("home", "/"), ("question", crowded.question), ("none", "/rooms/999/")):
        page = open_page(crowded.kitchen.alice, "/", width=WIDTH, height=568)
        page.goto(crowded.kitchen.live.url + path)
        unfold(page)
        photograph(page.locator("main"), name)
        assert too_wide(page) == []


def test_labels_that_are_a_third_longer_still_fit(crowded: Crowded, open_page: Open) -> None:
    for path in (crowded.kitchen.path, "/", crowded.question):
        page = open_page(crowded.kitchen.alice, path, width=WIDTH, height=568)
        page.evaluate(LONGER)
        assert too_wide(page) == []


def test_three_hundred_people_are_a_column_that_scrolls(crowded: Crowded, open_page: Open) -> None:
    kitchen = crowded.kitchen
    django(
        kitchen.live,
        "from rooms.models import User, Member, Room;"
        "people = User.objects.bulk_create([User(username=f'guest-{n:03}', password='!') for n in range(300)]);"
        f"Member.objects.bulk_create([Member(room_id={kitchen.room}, user=p, handle=p.username) for p in people])",
    )
    page = open_page(crowded.guest, kitchen.path)
    people = page.locator("#people")
    expect(people.locator("li[id^=seat]")).to_have_count(303)
    box = people.bounding_box()
    assert box is not None
    assert box["height"] <= 900
    assert page.evaluate("document.documentElement.scrollWidth") <= 1280
    people.get_by_text("guest-299").scroll_into_view_if_needed()
    expect(people.get_by_text("guest-299")).to_be_in_viewport()
