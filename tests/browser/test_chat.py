"""The account chat on an open page: live, whole and in order, on a phone and by keyboard."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from threading import Thread

import httpx
import pytest
from playwright.sync_api import Page, Route, expect

from tests.browser.conftest import Open
from tests.browser.test_extremes import WIDE
from tests.browser.test_keyboard import walk
from tests.live import Live, Person

pytestmark = pytest.mark.browser


@dataclass
class Chat:
    """Somebody with a chat of their own, and a program that is connected to it."""

    live: Live
    owner: Person
    program: httpx.Client

    def say(self, body: str, **more: str | int) -> int:
        reply = self.program.post("/api/chat/messages", json={"body": body, **more})
        assert reply.status_code == 201, reply.text
        return int(reply.json()["number"])

    @property
    def room(self) -> int:
        query = "SELECT r.id FROM rooms_room r JOIN rooms_user u ON u.id = r.owner_id WHERE r.kind = ? AND username = ?"
        [(room,)] = self.live.stored.rows(query, "account", self.owner.handle)
        return int(room)

    def flood(self, count: int) -> None:
        code = (
            "from messaging import log; from messaging.models import Entry; from rooms.models import Member\n"
            f"seat = Member.objects.get(room={self.room})\n"
            "log.append(seat.room_id, *(log.New(Entry.Kind.MESSAGE, author=seat, body=f'm{n}', connection='connection:"
            f"0a1b2c3d', topic=f't{{n % 7}}') for n in range({count})))"
        )
        self.live.manage("shell", "-c", code)

    def stored(self) -> list[tuple[int, str]]:
        return [(entry.seq, entry.body) for entry in self.live.stored.entries(self.room) if entry.kind == "message"]


@pytest.fixture
def chat(live: Live, request: pytest.FixtureRequest) -> Iterator[Chat]:
    handle = "p" + re.sub(r"[^a-z0-9]", "", request.node.name)[-28:]
    owner = live.person(handle)
    made = owner.press("/connections/", "Make the token", {"identity": "account", "name": "laptop"})
    found = re.search(r"arc_[\w-]+", made.html)
    assert found
    headers = {"Authorization": f"Bearer {found[0]}"}
    with httpx.Client(base_url=live.url, headers=headers, timeout=40, trust_env=False) as program:
        yield Chat(live, owner, program)


def opened(chat: Chat, open_page: Open, path: str = "/chat/", **more: object) -> Page:
    page = open_page(chat.owner, path, **more)
    page.wait_for_selector("#timeline[data-connection=open]")
    return page


def shown(page: Page) -> list[tuple[int, str]]:
    """The messages on the page, in its order."""
    found: list[tuple[int, str]] = page.evaluate(
        "[...document.querySelectorAll('#entries > .entry')]"
        ".map((one) => [Number(one.dataset.seq), one.querySelector('.said').textContent.trim()])"
    )
    return [(number, body) for number, body in found]


def test_what_a_program_says_appears_by_itself(chat: Chat, open_page: Open) -> None:
    page = opened(chat, open_page)
    expect(page.get_by_text("No messages yet")).to_be_visible()
    number = chat.say("The **tests** pass.", topic="ci", session="builder")
    said = page.locator(f"#e{number}")
    expect(said.locator("strong", has_text="tests")).to_be_visible()
    expect(said.locator("header")).to_contain_text("calls itself builder")
    expect(page.get_by_text("No messages yet")).to_be_hidden()
    topics = page.locator("#people")
    expect(topics.get_by_role("link", name=re.compile("^ci"))).to_contain_text("1 message")
    chat.say("Again.", reply_to=number)
    expect(topics.get_by_role("link", name=re.compile("^ci"))).to_contain_text("2 messages")
    live = page.locator("#entries").inner_text()
    page.reload()
    assert page.locator("#entries").inner_text() == live


def test_a_page_of_one_topic_and_a_hidden_topic_stay_so_while_others_write(chat: Chat, open_page: Open) -> None:
    chat.say("first", topic="ci")
    chat.say("noise", topic="noise")
    page = opened(chat, open_page)
    page.get_by_role("button", name="Hide the topic noise").click()
    expect(page.locator(".entry", has_text="noise")).to_have_count(0)
    page.wait_for_selector("#timeline[data-connection=open]")
    only = opened(chat, open_page, "/chat/?topic=ci")
    for body, topic in (("more noise", "noise"), ("of another", "general"), ("second", "ci")):
        chat.say(body, topic=topic)
    expect(only.locator(".entry", has_text="second")).to_be_visible()
    assert [body for _, body in shown(only)] == ["first", "second"]
    expect(page.locator(".entry", has_text="second")).to_be_visible()
    assert [body for _, body in shown(page)] == ["first", "of another", "second"]
    page.get_by_role("button", name="Show the topic noise again").click()
    expect(page.locator(".entry", has_text="more noise")).to_be_visible()
    assert shown(page) == chat.stored()


def test_nothing_is_lost_or_doubled_by_a_page_that_comes_back_in_the_middle(chat: Chat, open_page: Open) -> None:
    page = opened(chat, open_page)
    chat.say("before")
    expect(page.locator(".entry", has_text="before")).to_be_visible()
    page.context.set_offline(True)
    page.evaluate("dispatchEvent(new Event('offline'))")
    expect(page.locator("#connection")).to_be_visible()
    for number in range(20):
        chat.say(f"away {number}")

    def go_on() -> None:
        for number in range(60):
            chat.say(f"meanwhile {number}")

    writer = Thread(target=go_on)
    writer.start()
    page.context.set_offline(False)
    writer.join()
    # It comes back after a while, the longer it was away; and the machine may do much else.
    expect(page.locator(".entry", has_text="meanwhile 59")).to_be_visible(timeout=40_000)
    assert shown(page) == chat.stored()
    assert len(shown(page)) == 81


def test_a_thousand_at_once_to_a_slow_page_are_what_is_stored(chat: Chat, open_page: Open) -> None:
    page = opened(chat, open_page)
    devtools = page.context.new_cdp_session(page)
    devtools.send("Emulation.setCPUThrottlingRate", {"rate": 6})
    chat.flood(1000)
    expect(page.locator("#e1000")).to_be_attached(timeout=60_000)
    devtools.send("Emulation.setCPUThrottlingRate", {"rate": 1})
    assert 50 < len(shown(page)) <= 1000
    assert shown(page) == chat.stored()[-len(shown(page)) :]
    while page.locator("#earlier a").count():
        before = len(shown(page))
        # Not by the mouse: what loads by itself once it is in sight moves all that is under it.
        page.locator("#earlier a").dispatch_event("click")
        expect(page.locator("#entries > .entry").nth(before)).to_be_attached()
    assert shown(page) == chat.stored()


def test_a_page_that_is_too_far_behind_is_drawn_anew_once_it_can_be(chat: Chat, open_page: Open) -> None:
    page = opened(chat, open_page)
    page.locator("#body").fill("half a thought")
    page.context.set_offline(True)
    page.evaluate("dispatchEvent(new Event('offline'))")
    chat.flood(2100)
    asked: list[str] = []

    def fails_at_first(route: Route) -> None:
        asked.append(route.request.url)
        if len(asked) == 1:
            route.fulfill(status=503, body="Busy.")
            return
        answer = route.fetch()
        # What is said while the page is on its way is not on it, and must not be lost by it.
        chat.say("said meanwhile")
        page.wait_for_timeout(500)
        route.fulfill(response=answer)

    page.route(chat.live.url + "/chat/", fails_at_first)
    page.context.set_offline(False)
    expect(page.locator(".entry", has_text="said meanwhile")).to_be_visible()
    assert len(asked) == 2
    assert shown(page) == chat.stored()[-len(shown(page)) :]
    expect(page.locator("#body")).to_have_value("half a thought")
    chat.say("and after")
    expect(page.locator(".entry", has_text="and after")).to_be_visible()


def test_earlier_messages_that_do_not_load_say_so_and_come_when_asked_again(chat: Chat, open_page: Open) -> None:
    chat.flood(80)
    page = opened(chat, open_page)
    assert len(shown(page)) < 80
    page.route(re.compile("/chat/earlier/"), lambda route: route.fulfill(status=503, body="Busy."), times=1)
    page.locator("#earlier a").dispatch_event("click")
    expect(page.locator("#earlier a")).to_have_text("This did not load. Try again")
    page.locator("#earlier a").dispatch_event("click")
    expect(page.locator("#entries > .entry")).to_have_count(80)
    expect(page.locator("#earlier")).to_have_count(0)


def test_the_owner_writes_and_answers_by_keyboard(chat: Chat, open_page: Open) -> None:
    number = chat.say("Which branch?", topic="git", session="builder")
    page = opened(chat, open_page)
    page.get_by_role("link", name=f"Answer message {number}").focus()
    page.keyboard.press("Enter")
    expect(page.locator("#answering")).to_contain_text(f"Answers message {number} in its topic, git.")
    expect(page.get_by_label("Topic", exact=True)).to_be_hidden()
    page.keyboard.type("main")
    page.keyboard.press("Enter")
    answer = page.locator(".entry", has_text="main")
    expect(answer.locator(".answers")).to_contain_text(f"answers message {number} by laptop: Which branch?")
    expect(answer.locator("header")).to_contain_text("you, in the browser")
    expect(page.locator("#answering")).to_be_hidden()
    page.get_by_label("Topic", exact=True).fill("plan")
    page.locator("#body").fill("Then begin.")
    page.locator("#body").press("Enter")
    expect(page.locator(".entry", has_text="Then begin.").locator("header")).to_contain_text("plan")
    expect(page.locator("#body")).to_have_value("")
    read = chat.program.get("/api/chat/messages", params={"after": number}).json()["messages"]
    assert [(one["body"], one["topic"], one["by_owner"]) for one in read] == [
        ("main", "git", True),
        ("Then begin.", "plan", True),
    ]


def test_what_the_owner_writes_from_a_page_that_leaves_it_out_leads_to_it(chat: Chat, open_page: Open) -> None:
    chat.say("first", topic="ci")
    page = opened(chat, open_page, "/chat/?topic=ci")
    page.get_by_label("Topic", exact=True).fill("plan")
    page.locator("#body").fill("elsewhere")
    page.locator("#body").press("Enter")
    page.wait_for_url("**/chat/?topic=plan")
    expect(page.locator(".entry", has_text="elsewhere")).to_be_visible()
    page.goto(chat.live.url + "/chat/?q=first")
    page.locator("#body").fill("from the search")
    page.locator("#body").press("Enter")
    expect(page.locator(".entry", has_text="from the search")).to_be_visible()


def test_what_is_refused_stays_in_the_composer(chat: Chat, open_page: Open) -> None:
    page = opened(chat, open_page)
    page.get_by_label("Topic", exact=True).fill("Not A Topic")
    page.locator("#body").fill("half a thought")
    page.locator("#body").press("Enter")
    expect(page.locator("#problem")).to_contain_text("A topic is 1 to 100 of a-z")
    expect(page.locator("#body")).to_have_value("half a thought")
    page.get_by_label("Topic", exact=True).fill("a/topic")
    page.locator("#body").press("Enter")
    expect(page.locator(".entry", has_text="half a thought")).to_have_count(1)


@pytest.mark.parametrize("width", [390, 320])
def test_nothing_is_wider_than_a_phone(chat: Chat, open_page: Open, width: int) -> None:
    number = chat.say("word " * 30 + "w" * 400, topic="t" * 100, session="s" * 100)
    chat.say("| a | b |\n|-|-|\n" + "| " + "x" * 300 + " | y |\n\n```\n" + "c" * 300 + "\n```", reply_to=number)
    page = opened(chat, open_page, width=width, height=700)
    for path in ("/chat/", "/chat/?topic=" + "t" * 100, f"/chat/?reply={number}", "/chat/?q=word", "/chat/settings/"):
        page.goto(chat.live.url + path)
        assert page.evaluate(WIDE) == [], path
    page.goto(chat.live.url + "/chat/")
    page.get_by_role("button", name="Topics and programs").click()
    expect(page.get_by_role("button", name="Hide the topic " + "t" * 100)).to_be_in_viewport(ratio=1)
    assert page.evaluate(WIDE) == []


@pytest.mark.parametrize("width", [1280, 320])
def test_the_tab_key_reaches_everything_and_is_always_in_sight(chat: Chat, open_page: Open, width: int) -> None:
    number = chat.say("hello", topic="ci")
    page = opened(chat, open_page, width=width, height=700)
    stops = walk(page)
    assert [stop["name"] for stop in stops if not stop["outlined"]] == []
    assert [stop["name"] for stop in stops if not stop["seen"]] == []
    names = [str(stop["name"]) for stop in stops]
    order = ["Search", "All of the topic ci", f"Answer message {number}", f"Blank message {number}", "Topic", "Send"]
    assert [name for name in names if name in order] == order


def test_it_works_without_a_script(chat: Chat, open_page: Open) -> None:
    number = chat.say("Which branch?", topic="git")
    page = open_page(chat.owner, "/chat/", java_script_enabled=False)
    page.get_by_role("link", name=f"Answer message {number}").click()
    page.get_by_label("Message to your programs").fill("main")
    page.get_by_role("button", name="Send").click()
    expect(page.locator(".entry", has_text="main").locator(".answers")).to_contain_text("Which branch?")
    page.get_by_role("button", name="Hide the topic git").click()
    expect(page.get_by_text("Every topic is hidden.")).to_be_visible()
    page.get_by_role("button", name="Show the topic git again").click()
    page.get_by_role("button", name="Search").first.click()
    page.get_by_label("Words").fill("branch")
    page.locator("#search").get_by_role("button", name="Search").click()
    expect(page.get_by_text("1 message with branch")).to_be_visible()
    page.goto(chat.live.url + "/chat/settings/")
    page.get_by_role("button", name="Switch agent chat off").click()
    expect(page.get_by_role("button", name="Allow agent chat")).to_be_visible()
    refused = chat.program.post("/api/chat/messages", json={"body": "hm"})
    assert (refused.status_code, refused.json()["code"]) == (403, "switched_off")
