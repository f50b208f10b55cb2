"""What an open page says and keeps when something on the way to the server, or the server itself, fails."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from playwright.sync_api import Page, Route, WebSocketRoute, expect

from agentroom_machine import wire
from tests.browser.conftest import Open
from tests.browser.kitchen import Kitchen, say
from tests.browser.test_chat import Chat, chat, opened, shown
from tests.live import until

__all__ = ["chat"]
pytestmark = pytest.mark.browser
CONTROLS = re.compile(r"/turns/\d+/controls/")


def signed_out(page: Page) -> None:
    """As another tab, or time, does it: this page has not heard of it."""
    page.context.clear_cookies(name="sessionid")


def first(times: int, then: Callable[[Route], None] = lambda route: route.continue_()) -> Callable[[Route], None]:
    """Answers so many times that the server is busy."""
    asked: list[str] = []

    def handler(route: Route) -> None:
        asked.append(route.request.url)
        if len(asked) <= times:
            route.fulfill(status=503, body="Busy.")
        else:
            then(route)

    return handler


def asks(kitchen: Kitchen, key: str) -> None:
    action = f"git push origin {key}"
    kitchen.claude.tell(wire.QuestionFact(key=key, subject="push", title="t", action=action, short=f"Push {key}"))


def test_words_that_a_signed_out_page_sends_are_kept_and_it_says_so(kitchen: Kitchen, open_page: Open) -> None:
    page = open_page(kitchen.alice, kitchen.path)
    page.locator("#body").fill("half a thought")
    signed_out(page)
    page.locator("#body").press("Control+Enter")
    expect(page.locator("#problem")).to_contain_text("You are signed out here.")
    expect(page.locator("#body")).to_have_value("half a thought")
    assert "half a thought" in page.evaluate("JSON.stringify(localStorage)")


def test_an_answer_by_a_signed_out_page_says_that_it_was_not_taken(kitchen: Kitchen, open_page: Open) -> None:
    say(open_page(kitchen.bob, kitchen.path), "@claude measure")
    page = open_page(kitchen.alice, kitchen.path)
    signed_out(page)
    page.get_by_role("button", name="Approve once").click()
    expect(page.locator("#toasts")).to_contain_text("You are signed out here.")
    expect(page.locator("#compose")).to_be_attached()
    expect(page.get_by_role("button", name="Approve once")).to_be_visible()


def test_the_forms_of_a_question_come_though_the_server_was_busy_at_first(kitchen: Kitchen, open_page: Open) -> None:
    page = open_page(kitchen.alice, kitchen.path)
    say(page, "@claude release")
    kitchen.claude.run()
    expect(page.get_by_role("button", name="Stop")).to_be_visible()
    page.route(CONTROLS, first(2))
    asks(kitchen, "main")
    expect(page.get_by_role("button", name="Approve this push")).to_be_visible()


def test_a_draft_whose_first_try_arrived_after_all_keeps_no_other_words_back(kitchen: Kitchen, open_page: Open) -> None:
    page = open_page(kitchen.alice, kitchen.path)

    def arrives_and_is_not_answered(route: Route) -> None:
        route.fetch()
        route.abort()

    page.route(re.compile("/messages/$"), arrives_and_is_not_answered, times=1)
    page.locator("#body").fill("hello")
    page.locator("#body").press("Control+Enter")
    expect(page.locator("#problem")).to_contain_text("the server did not answer")
    page.reload()
    expect(page.locator("#body")).to_have_value("hello")
    page.locator("#body").press("Control+Enter")
    expect(page.locator("#body")).to_have_value("")
    expect(page.locator(".entry", has_text="hello")).to_have_count(1)

    page.route(re.compile("/messages/$"), arrives_and_is_not_answered, times=1)
    page.locator("#body").fill("once more")
    page.locator("#body").press("Control+Enter")
    expect(page.locator("#problem")).to_contain_text("the server did not answer")
    page.reload()
    page.locator("#body").fill("next thing")
    page.locator("#body").press("Control+Enter")
    expect(page.locator(".entry", has_text="next thing")).to_have_count(1)
    expect(page.locator(".entry", has_text="once more")).to_have_count(1)
    expect(page.locator("#problem")).to_be_hidden()


def test_two_tabs_with_the_same_draft_may_both_send(kitchen: Kitchen, open_page: Open) -> None:
    page = open_page(kitchen.alice, kitchen.path)
    page.locator("#body").fill("a thought")
    other = page.context.new_page()
    other.goto(kitchen.live.url + kitchen.path)
    expect(other.locator("#body")).to_have_value("a thought")
    other.locator("#body").press("Control+Enter")
    expect(other.locator(".entry", has_text="a thought")).to_have_count(1)
    page.locator("#body").press("End")
    page.locator("#body").press_sequentially(" and more")
    page.locator("#body").press("Control+Enter")
    expect(page.locator(".entry", has_text="a thought and more")).to_have_count(1)
    expect(page.locator("#problem")).to_be_hidden()


def test_an_answer_in_the_chat_is_still_one_after_a_reload(chat: Chat, open_page: Open) -> None:
    number = chat.say("Which branch?", topic="git")
    page = opened(chat, open_page)
    page.get_by_role("link", name=f"Answer message {number}").click()
    page.locator("#body").fill("main")
    page.reload()
    expect(page.locator("#answering")).to_contain_text(f"Answers message {number} in its topic, git.")
    page.locator("#body").press("Enter")
    expect(page.locator(".entry", has_text="main").locator(".answers")).to_contain_text("Which branch?")


def test_a_message_that_is_blanked_leaves_no_hole_in_what_is_shown(chat: Chat, open_page: Open) -> None:
    chat.flood(80)
    page = opened(chat, open_page)
    before = shown(page)
    other = opened(chat, open_page, "/chat/?at=3")
    other.get_by_role("link", name="Blank message 3", exact=True).click()
    other.get_by_role("button", name=re.compile("^Blank")).click()
    chat.say("and then")
    expect(page.locator(".entry", has_text="and then")).to_be_visible()
    assert shown(page)[: len(before)] == before
    page.locator("#earlier a").dispatch_event("click")
    expect(page.locator("#earlier")).to_have_count(0)
    assert [seq for seq, _ in shown(page)] == [seq for seq, _ in chat.stored()]


def test_what_happens_while_earlier_messages_load_is_not_lost(chat: Chat, open_page: Open) -> None:
    chat.flood(80)
    page = opened(chat, open_page)

    def late(route: Route) -> None:
        answer = route.fetch()
        chat.say("meanwhile")
        page.wait_for_timeout(500)
        route.fulfill(response=answer)

    page.route(re.compile("/chat/earlier/"), late)
    page.locator("#earlier a").dispatch_event("click")
    expect(page.locator(".entry", has_text="meanwhile")).to_be_visible()
    expect(page.locator("#earlier")).to_have_count(0)
    assert shown(page) == chat.stored()


def test_a_half_written_answer_outlives_a_page_that_is_drawn_anew(kitchen: Kitchen, open_page: Open) -> None:
    page = open_page(kitchen.alice, kitchen.path)
    say(page, "@claude release")
    kitchen.claude.run()
    asked = wire.QuestionFact(key="q", subject="question", title="Which one?", action="Which one?", short="Which one?")
    kitchen.claude.tell(asked)
    page.locator(".card.question textarea, .card.question input[type=text]").first.fill("the left one, be")
    page.context.set_offline(True)
    page.evaluate("dispatchEvent(new Event('offline'))")
    code = (
        "from messaging import log; from messaging.models import Entry; from rooms.models import Member\n"
        f"seat = Member.objects.get(room={kitchen.room}, user__username='bob')\n"
        "log.append(seat.room_id, *(log.New(Entry.Kind.TEXT, author=seat, body='x', parent_seq=1, data={'part': 'p'})"
        " for n in range(2100)))"
    )
    kitchen.live.manage("shell", "-c", code)
    with page.expect_response(lambda reply: reply.url.endswith(kitchen.path)):
        page.context.set_offline(False)
        page.evaluate("dispatchEvent(new Event('online'))")
    page.wait_for_timeout(500)
    field = page.locator(".card.question textarea, .card.question input[type=text]").first
    expect(field).to_have_value("the left one, be")


def test_a_double_click_fetches_earlier_steps_once(kitchen: Kitchen, open_page: Open) -> None:
    page = open_page(kitchen.alice, kitchen.path)
    say(page, "@claude measure")
    kitchen.claude.run()
    for number in range(60):
        call = wire.ToolCallFact(call=f"c{number}", tool="execute", title=f"Step {number}.", state="done", output="ok")
        kitchen.claude.tell(call)
    kitchen.claude.end()
    page.reload()
    page.locator(".history > summary").click()

    def slowly(route: Route) -> None:
        page.wait_for_timeout(400)
        route.continue_()

    page.route(re.compile("/steps/"), slowly)
    page.locator(".history .earlier-steps a").dblclick()
    expect(page.locator(".history li", has_text="Step 0.")).to_have_count(1)
    numbers = page.evaluate("[...document.querySelectorAll('.history li[data-seq]')].map((row) => row.dataset.seq)")
    assert len(numbers) == len(set(numbers)) == 60


def test_a_page_of_one_topic_marks_nothing_else_as_read(chat: Chat, open_page: Open) -> None:
    chat.say("first", topic="ci")
    page = opened(chat, open_page, "/chat/?topic=ci")
    chat.say("elsewhere", topic="plan")
    chat.say("second", topic="ci")
    expect(page.locator(".entry", has_text="second")).to_be_visible()
    page.mouse.move(400, 400)
    page.wait_for_timeout(1_500)
    [(read,)] = chat.live.stored.rows("SELECT read_seq FROM rooms_member WHERE room_id = ?", chat.room)
    assert read == 0
    page.goto(chat.live.url + "/chat/")
    page.bring_to_front()

    def all_read() -> bool:
        return chat.live.stored.rows("SELECT read_seq FROM rooms_member WHERE room_id = ?", chat.room) == [(3,)]

    until(all_read, what="the reading line at the last message")


def test_a_question_page_hears_what_came_while_it_opened(kitchen: Kitchen, open_page: Open) -> None:
    page = open_page(kitchen.alice, kitchen.path)
    say(page, "@claude release")
    kitchen.claude.run()
    asks(kitchen, "one")
    expect(page.get_by_role("button", name="Approve this push")).to_be_visible()
    [(question,)] = kitchen.live.stored.rows("SELECT max(id) FROM approvals_approval")
    page.get_by_role("button", name="Approve this push").click()
    expect(page.locator(".decided > summary")).to_contain_text("1 decision")
    alone = page.context.new_page()

    def late(socket: WebSocketRoute) -> None:
        asks(kitchen, "two")
        socket.connect_to_server()

    alone.route_web_socket(re.compile("/ws/me/"), late)
    alone.goto(f"{kitchen.live.url}/questions/{question}/")
    expect(alone.get_by_role("link", name="The next question")).to_be_visible()


def test_a_question_page_whose_session_ended_leads_to_the_sign_in(kitchen: Kitchen, open_page: Open) -> None:
    say(open_page(kitchen.bob, kitchen.path), "@claude measure")
    [(question,)] = kitchen.live.stored.rows("SELECT max(id) FROM approvals_approval")
    page = open_page(kitchen.alice, f"/questions/{question}/")
    expect(page.get_by_role("button", name="Approve once")).to_be_visible()
    page.context.set_offline(True)
    page.evaluate("dispatchEvent(new Event('offline'))")
    signed_out(page)
    page.context.set_offline(False)
    page.evaluate("dispatchEvent(new Event('online'))")
    page.wait_for_url("**/account/login/**", timeout=40_000)
