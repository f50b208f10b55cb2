"""The account chat through the REST door: writing, reading, waiting, and each way in which it says no."""

from __future__ import annotations

import json
from datetime import datetime, timedelta
from typing import Any
from urllib.parse import urlencode

import pytest
from django.core.cache import cache
from django.test import Client
from django.utils import timezone
from pytest_django import Settings

from agentroom_machine import wire
from messaging import chat, log
from messaging.models import Entry
from rooms import membership
from rooms.models import Connection, Member, Room, User
from tests.api.post import Caller, account, by_hand, in_session
from tests.api.test_mail import problem
from tests.approvals.kitchen import Kitchen
from tests.doors.scene import stored

VERBS: list[tuple[str, str, Any]] = [
    ("POST", "chat/messages", {"body": "The oven is free."}),
    ("GET", "chat/messages", None),
    ("GET", "chat/wait", None),
]
every_verb = pytest.mark.parametrize(("method", "path", "body"), VERBS, ids=lambda value: str(value)[:20])


@pytest.fixture
def baker(kitchen: Kitchen) -> Caller:
    """A program of alice's account."""
    caller = account(kitchen)
    caller.get("chat/messages")  # the first call notes that the token is used, and makes the chat
    return caller


@pytest.fixture
def miller(kitchen: Kitchen) -> Caller:
    """Another one, with a connection of its own."""
    return account(kitchen)


def of(user: User) -> Caller:
    return Caller(membership.connect_account(user, "chat")[1])


def sent(answer: Any) -> int:
    assert answer.status_code == 201, answer.content
    number: int = answer.json()["number"]
    return number


def say(caller: Caller, body: str, **more: Any) -> int:
    return sent(caller.post("chat/messages", {"body": body, **more}))


def bodies(answer: Any) -> list[str]:
    assert answer.status_code == 200, answer.content
    return [message["body"] for message in answer.json()["messages"]]


def read(caller: Caller, **query: Any) -> Any:
    return caller.get("chat/messages?" + urlencode(query, doseq=True))


# --- writing and reading ------------------------------------------------------------------------------------------


def test_what_one_program_writes_every_other_one_of_the_account_reads(baker: Caller, miller: Caller) -> None:
    answer = baker.post("chat/messages", {"body": "The oven is free.", "topic": "oven", "session": "night shift"})
    number = sent(answer)
    [told] = read(miller).json()["messages"]
    assert told == answer.json()
    own = Connection.objects.get(token_hash__startswith=told["connection"])
    assert (told["number"], told["account"], told["session"], told["topic"]) == (number, "alice", "night shift", "oven")
    assert (len(told["connection"]), own.kind, told["by_owner"], told["parent"]) == (8, "account", False, None)
    assert datetime.fromisoformat(told["at"]).utcoffset() == timedelta(0)


def test_what_the_owner_writes_in_the_browser_is_marked_as_theirs(kitchen: Kitchen, baker: Caller) -> None:
    seat = Member.objects.get(room=membership.account_chat(kitchen.alice))
    chat.send(seat, body="Stop baking.", client_id="k", connection=chat.BY_OWNER, by_program=False)
    [told] = read(baker).json()["messages"]
    assert (told["by_owner"], told["connection"], told["account"]) == (True, "", "alice")


def test_an_answer_keeps_the_topic_and_outlives_what_it_answers(kitchen: Kitchen, baker: Caller) -> None:
    question = say(baker, "Who bakes?", topic="oven")
    answer = baker.post("chat/messages", {"body": "I do.", "reply_to": question}).json()
    assert (answer["topic"], answer["parent"], answer["parent_removed"]) == ("oven", question, False)
    problem(baker.post("chat/messages", {"body": "I do.", "reply_to": question, "topic": "mill"}), 422, "invalid")
    log.purge(membership.account_chat(kitchen.alice).pk, question)
    [kept] = read(baker).json()["messages"]
    assert (kept["number"], kept["parent"], kept["parent_removed"]) == (answer["number"], question, True)


def test_pages_neither_skip_nor_repeat_and_what_is_left_out_stays(baker: Caller) -> None:
    for i in range(12):
        say(baker, f"{i}", topic="oven" if i % 3 else "noise", session="me" if i % 2 else "other")
    found: list[str] = []
    page: dict[str, Any] = {"cursor": 0, "has_more": True}
    while page["has_more"]:
        answer = read(baker, after=page["cursor"], limit=2, skip_topics=["noise", "none"], skip_sessions=["me"])
        assert answer.json()["cursor"] > page["cursor"]
        page = answer.json()
        found += bodies(answer)
    assert found == ["2", "4", "8", "10"]
    assert page["cursor"] == page["latest_seq"], "what was left out is passed as well"
    assert len(bodies(read(baker))) == 12


def test_another_accounts_chat_is_never_in_reach(kitchen: Kitchen, baker: Caller) -> None:
    number = say(baker, "secret")
    dana = of(kitchen.dana)
    assert bodies(read(dana)) == []
    assert bodies(read(dana, after=number - 1)) == []
    other = problem(dana.post("chat/messages", {"body": "x", "reply_to": number}), 404, "not_found")
    absent = problem(dana.post("chat/messages", {"body": "x", "reply_to": 99_999}), 404, "not_found")
    assert other["detail"].replace(str(number), "N") == absent["detail"].replace("99999", "N")


def test_what_it_answers_is_what_the_command_line_reads(baker: Caller) -> None:
    made = baker.post("chat/messages", {"body": "The oven is free.", "session": "night"})
    page = wire.ChatPage.model_validate_json(read(baker).content)
    assert page.messages == [wire.ChatMessage.model_validate_json(made.content)]
    heard = baker.get("chat/wait?after=0")
    assert wire.ChatHeard.model_validate_json(heard.content).messages == page.messages
    for shape, answer in ((wire.ChatMessage, made), (wire.ChatHeard, heard)):
        assert set(shape.model_fields) == set(answer.json())


# --- keys -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "other", [{"body": "twice"}, {"body": "once", "topic": "oven"}, {"body": "once", "reply_to": 1}]
)
def test_the_same_key_stores_once_and_never_something_else(baker: Caller, other: dict[str, Any]) -> None:
    if "reply_to" in other:
        other = other | {"reply_to": say(baker, "first")}
    first = baker.post("chat/messages", {"body": "once"}, Idempotency_Key="mine-1")
    before = stored()
    again = baker.post("chat/messages", {"body": "once"}, Idempotency_Key="mine-1")
    assert (first.status_code, again.status_code, again.json()) == (201, 201, first.json())
    told = problem(baker.post("chat/messages", other, Idempotency_Key="mine-1"), 409, "conflict")
    assert told["errors"][0]["field"] == "Idempotency-Key"
    assert stored() == before


def test_two_connections_may_use_the_same_key(baker: Caller, miller: Caller) -> None:
    one = sent(baker.post("chat/messages", {"body": "x"}, Idempotency_Key="k"))
    assert sent(miller.post("chat/messages", {"body": "x"}, Idempotency_Key="k")) != one


# --- who gets in ------------------------------------------------------------------------------------------------------


@every_verb
def test_nobody_gets_in_without_a_token_that_counts(kitchen: Kitchen, method: str, path: str, body: Any) -> None:
    ended, token = membership.connect_account(kitchen.alice, "gone")
    membership.revoke_connection(kitchen.alice, ended.pk)
    browser = Client()
    browser.force_login(kitchen.alice)
    before = stored()
    for caller in (Caller(""), Caller("arc_unknown"), Caller("é€"), Caller(token)):
        answer = caller.call(method, path, body)
        problem(answer, 401, "unauthorised")
        assert answer["WWW-Authenticate"].startswith('Bearer realm="Agentroom"')
    raw = json.dumps(body).encode()
    problem(browser.generic(method, f"/api/{path}", raw, content_type="application/json"), 401, "unauthorised")
    assert stored() == before


@every_verb
def test_an_agents_connection_hears_that_it_has_its_mail(kitchen: Kitchen, method: str, path: str, body: Any) -> None:
    for caller in (by_hand(kitchen, kitchen.claude), in_session(kitchen, kitchen.codex)):
        caller.get("agents")
        before = stored()
        told = problem(caller.call(method, path, body), 403, "no_account")
        assert "/api/inbox" in told["detail"]
        assert stored() == before


@every_verb
def test_switched_off_it_is_shut_for_programs_and_open_again_as_it_was(
    kitchen: Kitchen, baker: Caller, method: str, path: str, body: Any
) -> None:
    say(baker, "before")
    chat.switch(kitchen.alice, on=False)
    before = stored()
    told = problem(baker.call(method, path, body), 403, "switched_off")
    assert "browser" in told["detail"]
    assert stored() == before
    chat.switch(kitchen.alice, on=True)
    assert bodies(read(baker)) == ["before"]


def test_no_call_switches_it(kitchen: Kitchen, baker: Caller) -> None:
    chat.switch(kitchen.alice, on=False)
    for method in ("PUT", "PATCH", "DELETE", "POST"):
        for path in ("chat", "chat/", "chat/switch", "chat/settings", "chat/messages", "chat/wait"):
            baker.call(method, path, {"on": True, "agent_chat": True})
    assert not Room.objects.get(owner=kitchen.alice, kind=Room.Kind.ACCOUNT).agent_chat


# --- what does not fit --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({}, "body"),
        ([], "body"),
        (None, "body"),
        ({"body": ""}, "body"),
        ({"body": 5}, "body"),
        ({"body": "x" * 50_001}, "body"),
        ({"body": "x", "topic": "Big Oven"}, "topic"),
        ({"body": "x", "reply_to": True}, "reply_to"),
        ({"body": "x", "reply_to": "1"}, "reply_to"),
        ({"body": "x", "topic": "x" * 101}, "topic"),
        ({"body": "x", "topic": None}, "topic"),
        ({"body": "x", "session": "x" * 101}, "session"),
        ({"body": "x", "reply_to": 0}, "reply_to"),
        ({"body": "x", "reply_to": 2**60}, "reply_to"),
        ({"body": "x", "account": "bob"}, "account"),
        ({"body": "x", "connection": "deadbeef"}, "connection"),
        ({"body": "x", "by_owner": True}, "by_owner"),
    ],
)
def test_what_does_not_fit_is_named_and_nothing_is_stored(baker: Caller, body: Any, field: str) -> None:
    before = stored()
    told = problem(baker.call("POST", "chat/messages", json.dumps(body).encode()), 422, "malformed")
    assert field in {error["field"].split(".")[0] for error in told["errors"]}
    assert stored() == before


def test_words_that_are_only_space_are_refused(baker: Caller) -> None:
    assert problem(baker.post("chat/messages", {"body": " \n "}), 422, "invalid")["errors"][0]["field"] == "body"


@pytest.mark.parametrize("path", ["chat/messages", "chat/wait"])
@pytest.mark.parametrize(
    "query",
    ["after=-1", "after=x", f"after={2**60}", "skip_topics=Big%20Oven", "skip_topics=", "skip_sessions=",
     "skip_sessions=" + "x" * 101, "&".join(f"skip_topics=t{i}" for i in range(101)), "skip_topic=oven"],
)  # fmt: skip
def test_a_question_has_bounds(baker: Caller, path: str, query: str) -> None:
    problem(baker.get(f"{path}?{query}"), 422, "malformed")


@pytest.mark.parametrize("query", ["timeout=0", "timeout=-1", "timeout=50.1", "timeout=nan", "timeout=inf", "limit=5"])
def test_a_wait_has_bounds(baker: Caller, query: str) -> None:
    problem(baker.get(f"chat/wait?{query}"), 422, "malformed")


@pytest.mark.parametrize(
    ("raw", "content_type", "status", "code"),
    [
        (b"{", "application/json", 400, "malformed"),
        (b'{"body": "x"}', "text/plain", 415, "unsupported_type"),
        (json.dumps({"body": "x" * 1_000_001}).encode(), "application/json", 413, "too_large"),
    ],
)
def test_what_is_no_call_is_refused(baker: Caller, raw: bytes, content_type: str, status: int, code: str) -> None:
    before = stored()
    problem(baker.call("POST", "chat/messages", raw, content_type=content_type), status, code)
    assert stored() == before


def test_far_too_many_parts_are_refused_in_words(baker: Caller) -> None:
    problem(baker.get("chat/messages?" + "&".join(f"skip_topics=t{i}" for i in range(1500))), 400, "malformed")


@pytest.mark.parametrize("field", ["body", "session"])
def test_what_no_database_stores_is_cleaned(baker: Caller, field: str) -> None:
    raw = json.dumps({"body": "x"} | {field: "a\0b\ud800c"}).encode()
    sent(baker.call("POST", "chat/messages", raw))
    [told] = read(baker).json()["messages"]
    assert told[field].replace("?", "\ufffd") == "a\ufffdb\ufffdc"
    assert bodies(read(baker, skip_sessions="a\0b")) == [told["body"]]


def test_a_message_is_kept_as_it_was_written(baker: Caller) -> None:
    body = "  \x1b[2J\x1b]0;owned\x07 a\rb \u202e <script> 😀\n\n\tend"
    say(baker, body)
    assert bodies(read(baker)) == [body]


def test_who_calls_too_often_hears_when_to_come_again(baker: Caller, miller: Caller, settings: Settings) -> None:
    cache.clear()
    settings.API_CALLS_PER_MINUTE = 3
    refused = [answer for answer in (baker.get("chat/wait") for _ in range(10)) if answer.status_code == 429]
    # A minute may turn while this runs, which lets three more in.
    assert 4 <= len(refused) <= 7
    problem(refused[0], 429, "too_many_calls")
    assert read(miller).status_code == 200, "one connection's calls are not another's"


def test_time_and_numbers_go_on_after_a_clean_up(kitchen: Kitchen, baker: Caller) -> None:
    numbers = [say(baker, f"{i}") for i in range(3)]
    log.purge(membership.account_chat(kitchen.alice).pk, numbers[1])
    assert not Entry.objects.filter(seq__in=numbers[:2], room__kind=Room.Kind.ACCOUNT).exists()
    page = read(baker, after=numbers[0]).json()
    assert [message["number"] for message in page["messages"]] == numbers[2:]
    assert say(baker, "next") > numbers[2]
    assert datetime.fromisoformat(page["messages"][0]["at"]) <= timezone.now()
