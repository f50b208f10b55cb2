from __future__ import annotations

import re
from datetime import datetime
from zoneinfo import ZoneInfo

import pytest
from playwright.sync_api import Page, expect

from agentroom_machine import wire
from tests.browser.conftest import Open
from tests.browser.kitchen import Kitchen, say, shows
from tests.live import until

pytestmark = pytest.mark.browser
PHONE = {"width": 390, "height": 844}
PIXEL = bytes.fromhex(
    "89504e470d0a1a0a0000000d4948445200000001000000010806000000 1f15c4890000000d49444154789c6360f8cf50"
    "0f0003860180 5a34 7d6b0000000049454e44ae426082".replace(" ", "")
)


def words(page: Page) -> str:
    """What the timeline says, without the times that go on."""
    text = page.locator("#entries").inner_text()
    return re.sub(r"\d+ (s|min)\b|working, .*", "", re.sub(r"\s+", " ", text)).strip()


def test_two_people_follow_a_turn_without_reloading(kitchen: Kitchen, open_page: Open) -> None:
    alice, bob = open_page(kitchen.alice, kitchen.path), open_page(kitchen.bob, kitchen.path, **PHONE)
    bob.locator("#body").fill("")
    bob.locator("#body").press_sequentially("@cl")
    expect(bob.get_by_role("option", name="claude")).to_be_visible()
    bob.keyboard.press("Enter")
    expect(bob.locator("#body")).to_have_value("@claude ")
    bob.locator("#body").press_sequentially("measure the page")
    bob.get_by_role("button", name="Send").click()

    expect(bob.locator(".card.turn .status")).to_have_text("waiting for alice")
    expect(alice.locator(".card.turn .status")).to_have_text("waiting for you")
    alice.get_by_role("button", name="Approve once").click()
    expect(bob.locator(".card.turn .status")).to_have_text("queued")

    kitchen.claude.run()
    for page in (alice, bob):
        expect(page.locator(".card.turn .status")).to_contain_text("working")
        expect(page.get_by_role("button", name="Stop")).to_be_visible()
    kitchen.claude.tell(
        wire.TextFact(part="a", text="I will "),
        wire.ToolCallFact(
            call="c", tool="execute", title="Run `pytest`", state="running", output="\x1b[31mF\x1b[0m <b>x</b>"
        ),
    )
    for page in (alice, bob):
        expect(page.locator(".open-steps")).to_contain_text("Run pytest")
        expect(page.locator(".open-steps .output .t-red")).to_have_text("F")
        expect(page.locator(".open-steps .output")).to_contain_text("<b>x</b>")
    kitchen.claude.tell(
        wire.TextFact(part="a", text="**measure** it."),
        wire.ToolCallFact(call="c", tool="execute", title="Run `pytest`", state="done", duration_ms=1500, output="ok"),
        wire.FileChangeFact(path="bookings/views.py", plus=9, minus=3),
    )
    kitchen.claude.produce("chart.png", PIXEL, "image/png")
    kitchen.claude.end()
    for page in (alice, bob):
        expect(page.locator(".card.turn .status")).to_contain_text("done in")
        expect(page.locator(".card.turn .prose strong")).to_have_text("measure")
        expect(page.locator(".card.turn")).to_contain_text("I will measure it.")
        expect(page.locator(".files")).to_contain_text("bookings/views.py")
        expect(page.get_by_text("1 step, 1.5 s")).to_be_visible()
        expect(page.get_by_role("button", name="Stop")).to_have_count(0)
        shows(page, "document.querySelector('.figure img')?.naturalWidth > 0")

    bob.get_by_text("1 step, 1.5 s").click()
    bob.locator(".history a", has_text="Run pytest").click()
    expect(bob.locator(".fetched .output")).to_have_text("ok")
    live = words(alice)
    alice.reload()
    assert words(alice) == live


def test_allow_always_lets_the_next_one_run_and_revoking_ends_it(kitchen: Kitchen, open_page: Open) -> None:
    alice, bob = open_page(kitchen.alice, kitchen.path), open_page(kitchen.bob, kitchen.path, **PHONE)
    say(bob, "@claude first")
    alice.get_by_role("button", name="Allow always").click()
    kitchen.claude.run()
    kitchen.claude.end()
    say(bob, "@claude second")
    expect(bob.locator(".entry", has_text="second").locator(".status")).to_have_text("queued")
    kitchen.claude.run()
    kitchen.claude.end()

    kitchen.alice.press("/grants/", "Revoke")
    say(bob, "@claude third")
    expect(bob.locator(".entry", has_text="third").locator(".status")).to_have_text("waiting for alice")
    bob.get_by_role("button", name="Cancel request").click()
    expect(bob.locator(".entry", has_text="third").locator(".status")).to_have_text("cancelled by you")


def test_declining_shows_the_note(kitchen: Kitchen, open_page: Open) -> None:
    alice, bob = open_page(kitchen.alice, kitchen.path), open_page(kitchen.bob, kitchen.path, **PHONE)
    say(bob, "@claude drop the tables")
    alice.get_by_text("Note, or limits").click()
    alice.get_by_label("Note to bob").fill("Not on a Friday.")
    alice.get_by_role("button", name="Decline", exact=True).click()

    for page, who in ((alice, "you"), (bob, "alice")):
        expect(page.locator(".card.turn .status")).to_have_text(f"declined by {who}")
        expect(page.locator(".card.turn")).to_contain_text("“Not on a Friday.”")
        expect(page.get_by_role("button", name=re.compile("^Decline"))).to_have_count(0)


def test_a_question_shows_the_exact_command_to_the_owner_alone(kitchen: Kitchen, open_page: Open) -> None:
    alice, bob = open_page(kitchen.alice, kitchen.path), open_page(kitchen.bob, kitchen.path)
    say(alice, "@claude release")
    kitchen.claude.run()
    kitchen.claude.tell(
        wire.QuestionFact(
            key=f"push-{kitchen.room}", subject="push", title="claude wants to push", short="Push to `kitchen`",
            action="git push origin main\u200b" + " " * 5000 + "; rm -rf ~",
        )
    )  # fmt: skip
    expect(bob.locator(".card.question")).to_contain_text("Push to kitchen")
    command = alice.locator(".card.question .command")
    expect(command).to_have_text("git push origin mainU+200B5,000 spaces; rm -rf ~")
    assert "rm -rf" not in bob.content()
    late = open_page(kitchen.alice, kitchen.path)
    expect(late.get_by_role("button", name="Approve this push")).to_be_visible()

    alice.get_by_role("button", name="Approve this push").click()
    for page in (alice, bob, late):
        expect(page.locator(".card.question")).to_have_count(0)
        expect(page.locator(".decided > summary")).to_contain_text("1 decision: approved by")
        expect(page.get_by_role("button", name="Approve this push")).to_have_count(0)
    kitchen.claude.end()


def test_a_restart_loses_no_word_and_says_nothing_twice(kitchen: Kitchen, open_page: Open) -> None:
    page, bob = open_page(kitchen.alice, kitchen.path), open_page(kitchen.bob, kitchen.path)
    for number in range(30):
        kitchen.bob.ask(kitchen.room, f"message {number}")
    expect(page.locator(".entry", has_text="message 29")).to_be_visible()
    page.mouse.move(600, 400)
    page.mouse.wheel(0, -900)
    shows(page, "document.scrollingElement.scrollHeight - scrollY - innerHeight > 300")
    where = page.evaluate("scrollY")

    kitchen.live.kill()
    expect(page.locator("#connection")).to_contain_text("What you write is kept.")
    page.locator("#body").fill("half a thought")
    page.locator("#body").press("Control+Enter")
    expect(page.locator("#problem")).to_contain_text("Your message was not sent")
    expect(page.locator("#body")).to_have_value("half a thought")
    kitchen.live.serve()

    expect(page.locator("#connection")).to_be_hidden(timeout=30_000)
    expect(bob.locator("#connection")).to_be_hidden(timeout=30_000)
    kitchen.bob.ask(kitchen.room, "after the restart")
    expect(page.locator("#below")).to_contain_text("1 new entry below")
    assert page.evaluate("scrollY") == where
    page.reload()
    expect(page.locator("#body")).to_have_value("half a thought")
    page.locator("#body").press("Control+Enter")
    for shown in (page, bob):
        expect(shown.locator(".entry", has_text="half a thought")).to_have_count(1)
        expect(shown.locator(".entry", has_text="after the restart")).to_have_count(1)
        assert shown.locator(".entry", has_text=re.compile(r"message \d+")).count() == 30
    expect(page.locator("#body")).to_have_value("")


def test_a_burst_while_the_page_was_away_arrives_whole(kitchen: Kitchen, open_page: Open) -> None:
    page = open_page(kitchen.alice, kitchen.path)
    page.context.set_offline(True)
    page.evaluate("dispatchEvent(new Event('offline'))")
    expect(page.locator("#connection")).to_be_visible()
    for number in range(40):
        kitchen.bob.ask(kitchen.room, f"message {number};")
    page.context.set_offline(False)
    expect(page.locator(".entry", has_text="message 39;")).to_be_visible()

    shown = page.locator(".entry .said").all_inner_texts()
    assert shown == [f"message {number};" for number in range(40)]


@pytest.mark.parametrize(("width", "height"), [(390, 844), (320, 568)])
def test_a_thumb_reaches_everything_on_a_phone(kitchen: Kitchen, open_page: Open, width: int, height: int) -> None:
    kitchen.bob.ask(kitchen.room, "@claude " + "long words " * 60 + "averyveryverylongwordwithoutanyspace" * 10)
    page = open_page(kitchen.alice, kitchen.path, width=width, height=height)

    assert page.evaluate("document.documentElement.scrollWidth") <= width
    for button in ("Approve once", "Send"):
        box = page.get_by_role("button", name=button).bounding_box()
        assert box is not None
        assert box["height"] >= 40
        page.get_by_role("button", name=button).click(trial=True)
    page.get_by_role("button", name="People and agents").click()
    expect(page.locator("#people")).to_contain_text("claude")
    page.keyboard.press("Escape")
    question = until(lambda: page.locator("form.decides").get_attribute("action"), what="the form")
    page.goto(kitchen.live.url + question.removesuffix("answer/"))
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    decide = page.get_by_role("button", name="Approve once").bounding_box()
    assert decide is not None
    assert decide["y"] + decide["height"] <= height
    page.get_by_role("button", name="Approve once").click()
    expect(page.locator("#alone")).to_contain_text("You approved it.")
    kitchen.claude.run()
    kitchen.claude.end()


def test_everything_works_without_a_script(kitchen: Kitchen, open_page: Open) -> None:
    bob = open_page(kitchen.bob, kitchen.path, java_script_enabled=False)
    bob.locator("#body").fill("@claude deploy")
    bob.get_by_role("button", name="Send").click()
    assert re.search(r"#e\d+$", bob.url)
    expect(bob.locator(".card.turn .status")).to_have_text("waiting for alice")

    alice = open_page(kitchen.alice, kitchen.path, java_script_enabled=False)
    expect(alice.locator(".entry time").last).to_contain_text("UTC")
    alice.get_by_role("button", name="Decline", exact=True).click()
    assert re.search(r"#e\d+$", alice.url)
    expect(alice.locator(".card.turn .status")).to_have_text("declined by alice")


@pytest.mark.parametrize(("zone", "stated"), [("America/Los_Angeles", "Los_Angeles"), ("Asia/Kathmandu", "GMT+5:45")])
def test_times_are_the_readers_own_and_say_so(kitchen: Kitchen, open_page: Open, zone: str, stated: str) -> None:
    kitchen.bob.ask(kitchen.room, "what time is it")
    page = open_page(kitchen.alice, kitchen.path, timezone_id=zone)
    time = page.locator(".entry .when time").last
    at = datetime.fromisoformat(time.get_attribute("datetime") or "")

    expect(time).to_have_text(f"{at.astimezone(ZoneInfo(zone)):%H:%M}")
    assert stated in (time.get_attribute("title") or "")


def test_a_removed_member_sees_nothing_more(kitchen: Kitchen, open_page: Open) -> None:
    page = open_page(kitchen.bob, kitchen.path)
    owner = open_page(kitchen.alice, kitchen.path)
    owner.locator("#people li", has_text="bob").get_by_text("Change").click()
    owner.get_by_role("button", name="Remove bob").click()
    kitchen.alice.ask(kitchen.room, "between us")

    expect(page.locator("h1")).to_have_text("There is nothing here")
    assert "between us" not in page.content()


def test_a_viewer_follows_and_has_no_composer(kitchen: Kitchen, open_page: Open) -> None:
    page = open_page(kitchen.vera, kitchen.path)
    expect(page.locator(".composer")).to_contain_text("You read this room; alice can let you write.")
    expect(page.locator("#body")).to_have_count(0)
    kitchen.bob.ask(kitchen.room, "@claude hello")

    expect(page.locator(".card.turn .status")).to_have_text("waiting for alice")
    expect(page.locator(".card.turn form")).to_have_count(0)


def test_a_page_whose_session_ended_while_it_was_away_asks_to_sign_in(kitchen: Kitchen, open_page: Open) -> None:
    guest = kitchen.live.stranger()
    guest.join(kitchen.alice.invite(kitchen.room), handle=f"guest{kitchen.room}", password="a long enough phrase 9")
    page = open_page(guest, kitchen.path)
    page.locator("#body").fill("half a thought")
    page.context.set_offline(True)
    page.evaluate("dispatchEvent(new Event('offline'))")
    expect(page.locator("#connection")).to_be_visible()
    page.context.clear_cookies()
    page.context.set_offline(False)

    page.wait_for_url("**/account/login/**", timeout=30_000)
