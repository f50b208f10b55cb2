"""Agents' mail through the REST door: each verb, and each way in which it says no."""

from __future__ import annotations

import json
from datetime import datetime, timedelta
from typing import Any

import pytest
from django.core.cache import cache
from django.test import Client
from django.utils import timezone
from pytest_django import Settings

from agentroom import auth
from approvals import control, mailbox, turns
from approvals.models import Approval, Turn
from messaging.models import Entry, Recipient
from rooms.errors import NotFound
from rooms.models import Member
from tests.api.post import Caller, account, by_hand, in_session, revoked
from tests.approvals.kitchen import Kitchen
from tests.doors.scene import stored
from tests.mailbox.post import works

VERBS: list[tuple[str, str, Any]] = [
    ("GET", "agents", None),
    ("POST", "messages", {"to": ["codex"], "body": "please look"}),
    ("GET", "messages/1", None),
    ("POST", "messages/1/replies", {"body": "looked"}),
    ("POST", "messages/1/acknowledgements", {"status": "done"}),
    ("GET", "inbox", None),
    ("PUT", "status", {"status": "blocked"}),
    ("GET", "history", None),
    ("POST", "questions", {"action": "git push", "kind": "push"}),
]
every_verb = pytest.mark.parametrize(("method", "path", "body"), VERBS, ids=lambda value: str(value)[:20])


@pytest.fixture
def claude(kitchen: Kitchen) -> Caller:
    caller = by_hand(kitchen, kitchen.claude)
    caller.get("agents")  # the first call notes that the token is used
    return caller


@pytest.fixture
def codex(kitchen: Kitchen) -> Caller:
    return by_hand(kitchen, kitchen.codex)


def problem(answer: Any, status: int, code: str) -> dict[str, Any]:
    assert (answer.status_code, answer["Content-Type"]) == (status, "application/problem+json"), answer.content
    told: dict[str, Any] = answer.json()
    assert (told["type"], told["status"], told["code"]) == ("about:blank", status, code)
    assert told["title"]
    assert told["detail"]
    return told


def sent(answer: Any) -> int:
    assert answer.status_code == 201, answer.content
    number: int = answer.json()["number"]
    return number


# --- the verbs ---------------------------------------------------------------------------------------------------


def test_the_agents_of_the_room_are_listed_with_how_they_stand(kitchen: Kitchen, claude: Caller) -> None:
    told = claude.get("agents").json()
    assert (told["you"], told["room"]) == ("claude", kitchen.room.name)
    assert [(agent["handle"], agent["owner"]) for agent in told["agents"]] == [
        ("claude", "alice"), ("codex", "alice"), ("gemini", "dana"),
    ]  # fmt: skip
    assert "/tmp/kitchen" not in json.dumps(told)


def test_a_message_goes_there_and_what_becomes_of_it_comes_back(claude: Caller, codex: Caller) -> None:
    answer = claude.post(
        "messages", {"to": ["codex"], "subject": "Oven", "body": "please look", "topic": "oven", "ticket": "#12"}
    )
    number = sent(answer)
    assert answer["Location"] == f"/api/messages/{number}"
    [letter] = codex.get("inbox?peek=true").json()["messages"]
    assert letter["read_at"] is None
    assert (letter["number"], letter["from_handle"], letter["in_the_name_of"]) == (number, "claude", None)
    assert (letter["subject"], letter["body"], letter["topic"], letter["ticket"]) == (
        "Oven",
        "please look",
        "oven",
        "#12",
    )
    page = codex.get("inbox").json()
    assert [letter["number"] for letter in page["messages"]] == [number]
    assert (page["cursor"], page["has_more"], page["unread"]) == (number, False, 0)
    assert codex.get("inbox").json()["messages"] == []
    assert [letter["number"] for letter in codex.get("inbox?after=0").json()["messages"]] == [number]

    receipt = codex.post(f"messages/{number}/acknowledgements", {"status": "accepted", "note": "on it"})
    assert (receipt.status_code, receipt.json()["message"], receipt.json()["status"]) == (201, number, "accepted")
    reply = sent(codex.post(f"messages/{number}/replies", {"body": "looked"}))
    told = claude.get(f"messages/{number}").json()
    [delivery] = told["recipients"]
    assert (delivery["handle"], [fact["state"] for fact in delivery["facts"]]) == (
        "codex", ["stored", "read", "accepted", "answered"],
    )  # fmt: skip
    back = claude.get("inbox").json()["messages"]
    assert [(letter["kind"], letter["note"] or letter["body"], letter["parent"]) for letter in back] == [
        ("accepted", "on it", number), ("message", "looked", number),
    ]  # fmt: skip
    assert Entry.objects.get(seq=reply).topic == "oven"


def test_an_instant_names_its_offset(claude: Caller) -> None:
    at = claude.post("messages", {"to": ["codex"], "body": "x"}).json()["at"]
    assert datetime.fromisoformat(at).utcoffset() == timedelta(0)


def test_all_is_every_other_agent_and_nobody_else(kitchen: Kitchen, claude: Caller) -> None:
    number = sent(claude.post("messages", {"to": "all", "body": "hello"}))
    to = Recipient.objects.filter(seq=number).values_list("member__handle", flat=True)
    assert sorted(to) == ["codex", "gemini"]


def test_what_becomes_of_a_message_is_for_who_sent_it(kitchen: Kitchen, claude: Caller, codex: Caller) -> None:
    number = sent(claude.post("messages", {"to": ["codex"], "body": "hello"}))
    told = codex.get(f"messages/{number}").json()
    assert (told["body"], told["to"], told["recipients"]) == ("hello", ["codex"], [])
    assert codex.get("inbox?peek=true").json()["unread"] == 1, "looking at it reads nothing"


@pytest.mark.parametrize("number", [1, 999, 2**53 - 1])
def test_what_is_no_message_is_not_there(claude: Caller, number: int) -> None:
    problem(claude.get(f"messages/{number}"), 404, "not_found")


def test_a_status_is_seen_by_the_others(claude: Caller, codex: Caller) -> None:
    until = (timezone.now() + timedelta(hours=2)).isoformat()
    answer = claude.put("status", {"status": "usage_limited", "note": "weekly limit", "ticket": "#9", "until": until})
    assert (answer.status_code, answer.json()["status"]) == (200, "usage_limited")
    [seen] = [agent for agent in codex.get("agents").json()["agents"] if agent["handle"] == "claude"]
    assert (seen["state"], seen["note"], seen["ticket"]) == ("usage_limited", "weekly limit", "#9")
    told = datetime.fromisoformat(seen["until"])
    assert abs(told - datetime.fromisoformat(until)) < timedelta(seconds=1)


def test_the_room_is_read_in_pages_that_neither_skip_nor_repeat(kitchen: Kitchen, claude: Caller) -> None:
    numbers = [sent(claude.post("messages", {"to": ["codex"], "body": f"{i}"})) for i in range(5)]
    found: list[int] = []
    page = {"cursor": 0, "has_more": True}
    while page["has_more"]:
        page = claude.get(f"history?after={page['cursor']}&limit=2").json()
        assert len(page["entries"]) <= 2
        found += [entry["number"] for entry in page["entries"]]
    assert found == numbers
    assert page["cursor"] == page["latest_seq"]


def test_the_inbox_is_read_in_pages(claude: Caller, codex: Caller) -> None:
    numbers = [sent(claude.post("messages", {"to": ["codex"], "body": f"{i}"})) for i in range(3)]
    first = codex.get("inbox?limit=2").json()
    assert ([letter["number"] for letter in first["messages"]], first["has_more"], first["unread"]) == (
        numbers[:2],
        True,
        1,
    )
    rest = codex.get(f"inbox?after={first['cursor']}").json()
    assert ([letter["number"] for letter in rest["messages"]], rest["has_more"]) == (numbers[2:], False)


def test_a_question_reaches_the_owner_and_grants_nothing(kitchen: Kitchen, claude: Caller) -> None:
    answer = claude.post("questions", {"action": "git push origin oven", "kind": "push"})
    asked = Approval.objects.get(pk=answer.json()["question"])
    assert (answer.status_code, asked.subject, asked.action) == (201, "ask", "git push origin oven")
    turns.answer(kitchen.alice, asked.pk, verdict="no", note="not now")
    [letter] = claude.get("inbox").json()["messages"]
    assert (letter["kind"], letter["from_handle"], letter["body"]) == ("answer", "alice", "No. not now")


def test_a_machines_token_speaks_in_the_name_of_its_running_turn(kitchen: Kitchen, codex: Caller) -> None:
    claude = in_session(kitchen, kitchen.claude)
    turn = works(kitchen, kitchen.bob)
    number = sent(claude.post("messages", {"to": ["codex"], "body": "for bob"}))
    assert Entry.objects.get(seq=number).source_turn == turn
    [letter] = codex.get("inbox?peek=true").json()["messages"] or [{"in_the_name_of": None}]
    assert letter["in_the_name_of"] == "bob"


# --- keys ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("path", "body", "other"),
    [
        ("messages", {"to": ["codex"], "body": "once"}, {"to": ["codex"], "body": "twice"}),
        ("messages", {"to": ["codex"], "body": "once"}, {"to": ["gemini"], "body": "once"}),
        ("messages", {"to": ["codex"], "body": "once"}, {"to": ["codex"], "body": "once", "topic": "oven"}),
        ("questions", {"action": "git push", "kind": "push"}, {"action": "git push -f", "kind": "push"}),
    ],
)
def test_the_same_key_stores_once_and_never_something_else(
    claude: Caller, path: str, body: dict[str, Any], other: dict[str, Any]
) -> None:
    first = claude.post(path, body, Idempotency_Key="mine-1")
    before = stored()
    again = claude.post(path, body, Idempotency_Key="mine-1")
    assert (first.status_code, again.status_code, again.json()) == (201, 201, first.json())
    told = problem(claude.post(path, other, Idempotency_Key="mine-1"), 409, "conflict")
    assert told["errors"][0]["field"] == "Idempotency-Key"
    assert "client_id" not in told["detail"]
    assert stored() == before
    assert claude.post(path, other, Idempotency_Key="mine-2").status_code == 201


def test_a_reply_has_a_key_too(claude: Caller, codex: Caller) -> None:
    numbers = [sent(claude.post("messages", {"to": ["codex"], "body": f"{i}"})) for i in range(2)]
    first, again = (codex.post(f"messages/{numbers[0]}/replies", {"body": "ok"}, Idempotency_Key="k") for _ in range(2))
    assert sent(first) == sent(again)
    problem(codex.post(f"messages/{numbers[1]}/replies", {"body": "ok"}, Idempotency_Key="k"), 409, "conflict")


def test_two_agents_may_use_the_same_key(claude: Caller, codex: Caller) -> None:
    one = sent(claude.post("messages", {"to": ["gemini"], "body": "x"}, Idempotency_Key="k"))
    assert sent(codex.post("messages", {"to": ["gemini"], "body": "y"}, Idempotency_Key="k")) != one


@pytest.mark.parametrize("key", ["x" * 201, "two words", "é", "tab\there"])
def test_a_key_that_is_none_is_refused(claude: Caller, key: str) -> None:
    told = problem(claude.post("messages", {"to": ["codex"], "body": "x"}, Idempotency_Key=key), 422, "malformed")
    assert told["errors"][0]["field"] == "Idempotency-Key"


def test_the_same_receipt_again_is_the_same_and_another_note_is_not(claude: Caller, codex: Caller) -> None:
    number = sent(claude.post("messages", {"to": ["codex"], "body": "x"}))
    path = f"messages/{number}/acknowledgements"
    first, again = (codex.post(path, {"status": "done", "note": "here"}) for _ in range(2))
    assert first.json() == again.json()
    problem(codex.post(path, {"status": "done", "note": "there"}), 409, "conflict")


# --- who gets in --------------------------------------------------------------------------------------------------


@every_verb
def test_nobody_gets_in_without_a_token_that_counts(kitchen: Kitchen, method: str, path: str, body: Any) -> None:
    callers = [Caller(""), Caller("arc_unknown"), Caller("é€"), revoked(kitchen)]
    before = stored()
    for caller in callers:
        answer = caller.call(method, path, body)
        problem(answer, 401, "unauthorised")
        challenge = 'Bearer realm="Agentroom"' + (', error="invalid_token"' if caller.token else "")
        assert answer["WWW-Authenticate"] == challenge
    assert stored() == before


@every_verb
def test_a_browsers_session_is_no_token(kitchen: Kitchen, method: str, path: str, body: Any) -> None:
    client = Client()
    client.force_login(kitchen.alice)
    answer = client.generic(method, f"/api/{path}", json.dumps(body).encode(), content_type="application/json")
    problem(answer, 401, "unauthorised")


@every_verb
def test_an_accounts_connection_hears_what_to_do(kitchen: Kitchen, method: str, path: str, body: Any) -> None:
    caller = account(kitchen)
    caller.get("agents")
    before = stored()
    told = problem(caller.call(method, path, body), 403, "no_agent")
    assert "agent in a room" in told["detail"]
    assert stored() == before


@every_verb
def test_an_agent_that_left_is_nobody(kitchen: Kitchen, claude: Caller, method: str, path: str, body: Any) -> None:
    control.remove_member(kitchen.alice, kitchen.seat(kitchen.claude).pk)
    problem(claude.call(method, path, body), 401, "unauthorised")


@every_verb
def test_the_agent_of_a_guest_whose_time_is_over_is_nobody_at_once(
    kitchen: Kitchen, method: str, path: str, body: Any
) -> None:
    gemini = by_hand(kitchen, kitchen.gemini)
    known = auth.caller(f"Bearer {gemini.token}")
    seat = known.seat()
    over = timezone.now() - timedelta(seconds=1)
    Member.objects.filter(pk=kitchen.seat(kitchen.dana).pk).update(expires_at=over)
    problem(gemini.call(method, path, body), 401, "unauthorised")
    # Who was known a moment ago, as at /mcp, is asked for their seat at each call.
    with pytest.raises(NotFound):
        known.seat()
    with pytest.raises(NotFound):
        turns.send(seat, None, to=["claude"], body="look", client_id="k", connection="c")
    with pytest.raises(NotFound):
        mailbox.read(seat, None, peek=True)


def test_an_archived_room_takes_nothing_more(kitchen: Kitchen, claude: Caller) -> None:
    control.archive(kitchen.alice, kitchen.room.pk, archived=True)
    problem(claude.post("messages", {"to": ["codex"], "body": "x"}), 403, "refused")


def test_mail_to_others_can_be_neither_answered_nor_acknowledged(kitchen: Kitchen, claude: Caller) -> None:
    number = sent(by_hand(kitchen, kitchen.codex).post("messages", {"to": ["gemini"], "body": "secret"}))
    other = problem(claude.post(f"messages/{number}/replies", {"body": "me too"}), 404, "not_found")
    absent = problem(claude.post("messages/99999/replies", {"body": "me too"}), 404, "not_found")
    assert other["detail"].replace(str(number), "N") == absent["detail"].replace("99999", "N")
    problem(claude.post(f"messages/{number}/acknowledgements", {"status": "done"}), 404, "not_found")


# --- what does not fit --------------------------------------------------------------------------------------------


def test_an_unknown_recipient_is_named_with_who_may_be_meant_and_nothing_is_stored(claude: Caller) -> None:
    before = stored()
    told = problem(claude.post("messages", {"to": ["codex", "gemni"], "body": "x"}), 422, "invalid")
    assert "gemni" in told["detail"]
    assert "gemini" in told["detail"]
    assert told["errors"] == [{"field": "to", "detail": told["detail"]}]
    assert stored() == before


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({}, "to"),
        ([], "body"),
        (None, "body"),
        ("text", "body"),
        ({"to": "codex", "body": "x"}, "to"),
        ({"to": [], "body": "x"}, "to"),
        ({"to": ["codex"]}, "body"),
        ({"to": ["codex"], "body": ""}, "body"),
        ({"to": ["codex"], "body": "x" * 50_001}, "body"),
        ({"to": ["codex"], "body": 5}, "body"),
        ({"to": ["codex"], "body": "x", "topic": "Big Oven"}, "topic"),
        ({"to": ["codex"], "body": "x", "subject": "x" * 201}, "subject"),
        ({"to": ["codex"], "body": "x", "from": "alice"}, "from"),
    ],
)
def test_what_does_not_fit_is_named_and_nothing_is_stored(claude: Caller, body: Any, field: str) -> None:
    before = stored()
    told = problem(claude.call("POST", "messages", json.dumps(body).encode()), 422, "malformed")
    assert field in {error["field"].split(".")[0] for error in told["errors"]}
    assert stored() == before


@pytest.mark.parametrize(
    ("until", "code"),
    [("2020-01-01T00:00:00Z", "invalid"), ("2099-01-01T00:00:00", "malformed"), (4070908800, "malformed")],
)
def test_a_time_names_its_offset_and_is_to_come(claude: Caller, until: Any, code: str) -> None:
    told = problem(claude.put("status", {"status": "usage_limited", "until": until}), 422, code)
    assert told["errors"][0]["field"] == "until"


@pytest.mark.parametrize("path", ["inbox", "history"])
@pytest.mark.parametrize("query", ["limit=0", "limit=101", "limit=x", "after=-1", "after=1e3"])
def test_a_page_has_bounds(claude: Caller, path: str, query: str) -> None:
    problem(claude.get(f"{path}?{query}"), 422, "malformed")
    problem(claude.get("inbox?peek=perhaps"), 422, "malformed")


@every_verb
@pytest.mark.parametrize("name", ["limt", "", "body"])
def test_a_parameter_that_is_none_is_noticed(claude: Caller, method: str, path: str, body: Any, name: str) -> None:
    before = stored()
    answer = claude.call(method, f"{path}?{name}=1", body)
    assert problem(answer, 422, "malformed")["errors"] == [
        {"field": name or "query", "detail": "There is no such parameter."}
    ]
    assert stored() == before


@pytest.mark.parametrize("number", ["0", "-1", "x", "1.5", str(2**70)])
def test_a_number_is_a_number(claude: Caller, number: str) -> None:
    problem(claude.get(f"messages/{number}"), 422, "malformed")


@pytest.mark.parametrize(
    "raw", [b"{", b"\xff\xfe", b"nul", b"[" * 100_000, b'{"to": ["codex"], "body": "x"', b'{"to": 1%s}' % (b"0" * 99)]
)
def test_what_is_not_json_is_refused(claude: Caller, raw: bytes) -> None:
    assert problem(claude.call("POST", "messages", raw), 400, "malformed")["detail"].startswith("That is not JSON")


@pytest.mark.parametrize("content_type", ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data", ""])
def test_what_is_not_sent_as_json_is_refused(claude: Caller, content_type: str) -> None:
    raw = b'{"to": ["codex"], "body": "x"}'
    problem(claude.call("POST", "messages", raw, content_type=content_type), 415, "unsupported_type")


def test_a_charset_beside_json_does_no_harm(claude: Caller) -> None:
    raw = b'{"to": ["codex"], "body": "x"}'
    assert claude.call("POST", "messages", raw, content_type="application/json; charset=utf-8").status_code == 201


def test_a_request_that_is_too_large_is_refused(claude: Caller) -> None:
    raw = json.dumps({"to": ["codex"], "body": "x" * 1_000_001}).encode()
    problem(claude.call("POST", "messages", raw), 413, "too_large")
    largest = json.dumps({"to": ["codex"], "body": "😀" * 50_000}).encode()
    assert len(largest) > 500_000
    assert claude.call("POST", "messages", largest).status_code == 201


@pytest.mark.parametrize(
    ("raw", "shown"),
    [
        (rb'{"to": ["codex"], "body": "a\u0000b"}', "a\ufffdb"),
        (rb'{"to": ["codex"], "body": "a\ud800b"}', "a\ufffdb"),
        (b'{"to": ["codex"], "body": "a\xffb"}', "a\ufffdb"),
        (rb'{"to": ["codex"], "body": "\ud83d\ude00"}', "😀"),
    ],
)
def test_what_no_database_stores_is_cleaned_at_the_edge(
    kitchen: Kitchen, claude: Caller, codex: Caller, raw: bytes, shown: str
) -> None:
    sent(claude.call("POST", "messages", raw))
    assert shown in codex.get("inbox").json()["messages"][0]["body"].replace("?", "\ufffd")


@pytest.mark.parametrize("value", [r"\u0000", r"\ud800"])
def test_every_field_is_cleaned(claude: Caller, codex: Caller, value: str) -> None:
    def call(method: str, path: str, text: str) -> Any:
        return claude.call(method, path, text.replace("VALUE", f"x{value}").encode())

    message = '{"to": ["codex"], "body": "x", "subject": "VALUE", "ticket": "VALUE"}'
    assert call("POST", "messages", message).status_code == 201
    assert call("PUT", "status", '{"status": "blocked", "note": "VALUE", "ticket": "VALUE"}').status_code == 200
    assert call("POST", "questions", '{"action": "VALUE", "kind": "other"}').status_code == 201
    number = sent(codex.post("messages", {"to": ["claude"], "body": "x"}))
    path = f"messages/{number}/acknowledgements"
    assert call("POST", path, '{"status": "declined", "note": "VALUE"}').status_code == 201
    assert call("POST", "messages", '{"to": ["VALUE"], "body": "x"}').status_code == 422
    assert call("POST", "messages", '{"to": ["codex"], "body": "x", "topic": "VALUE"}').status_code == 422
    assert call("POST", "messages", '{"VALUE": 1}').status_code == 422


# --- the edge -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("path", "allowed"), [("messages", "POST"), ("agents", "GET"), ("status", "PUT"), ("messages/1", "GET")]
)
@pytest.mark.parametrize("method", ["GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE"])
def test_a_method_that_is_none_says_which_are(claude: Caller, method: str, path: str, allowed: str) -> None:
    if method != allowed:
        answer = claude.call(method, path)
        problem(answer, 405, "method_not_allowed")
        assert answer["Allow"] == allowed


@pytest.mark.parametrize("path", ["", "nothing", "messages/", "messages/1/2/3", "machine/nothing", "docs/x"])
def test_every_other_address_is_absent_in_words_for_programs(claude: Caller, path: str) -> None:
    problem(claude.get(path), 404, "not_found")


def test_who_calls_too_often_hears_when_to_come_again(
    kitchen: Kitchen, claude: Caller, codex: Caller, settings: Settings
) -> None:
    cache.clear()
    settings.API_CALLS_PER_MINUTE = 3
    answers = [claude.get("agents") for _ in range(10)]
    refused = [answer for answer in answers if answer.status_code == 429]
    # A minute may turn while this runs, which lets three more in.
    assert 4 <= len(refused) <= 7
    for answer in refused:
        problem(answer, 429, "too_many_calls")
        assert 1 <= int(answer["Retry-After"]) <= 60
    assert codex.get("agents").status_code == 200, "one connection's calls are not another's"


def test_no_cache_keeps_an_answer(claude: Caller) -> None:
    assert claude.get("inbox")["Cache-Control"] == "no-store"
    assert Caller("").get("inbox")["Cache-Control"] == "no-store"


def test_reading_the_inbox_starts_nobody(kitchen: Kitchen, claude: Caller, codex: Caller) -> None:
    sent(claude.post("messages", {"to": ["codex"], "body": "x"}))
    codex.get("inbox")
    assert not Turn.objects.filter(status__in=["offered", "running"]).exists()


# --- the document -------------------------------------------------------------------------------------------------


def test_the_document_is_for_everybody_and_names_nothing_of_anybody(kitchen: Kitchen) -> None:
    answer = Client().get("/api/openapi.json")
    told = answer.json()
    assert (answer.status_code, told["openapi"]) == (200, "3.1.0")
    assert not [path for path in told["paths"] if "machine" in path]
    assert "kitchen" not in answer.content.decode()


def test_each_operation_says_what_it_is_and_how_it_says_no() -> None:
    told = Client().get("/api/openapi.json").json()
    for path, operations in told["paths"].items():
        for method, operation in operations.items():
            assert operation["summary"], path
            assert operation["description"], path
            assert operation["security"] == [{"Connection": []}], path
            errors = {int(status): answer for status, answer in operation["responses"].items() if int(status) >= 400}
            assert set(errors) == {401, 403, 404, 422, 429} | ({400, 409, 413, 415} if method != "get" else set())
            assert {tuple(answer["content"]) for answer in errors.values()} == {("application/problem+json",)}
            assert "WWW-Authenticate" in errors[401]["headers"]
            assert "Retry-After" in errors[429]["headers"]
            for parameter in operation["parameters"]:
                assert parameter["description"], (path, parameter["name"])
            if "requestBody" in operation:
                name = operation["requestBody"]["content"]["application/json"]["schema"]["$ref"].rsplit("/", 1)[1]
                shape = told["components"]["schemas"][name]
                assert shape["examples"], name
                assert all(part.get("description") for part in shape["properties"].values()), name


def test_the_page_to_try_it_loads_nothing_from_elsewhere(client: Client) -> None:
    answer = client.get("/api/docs")
    page = answer.content.decode()
    assert answer.status_code == 200
    assert "http:" not in page
    assert "https:" not in page
    assert "'self'" in answer["Content-Security-Policy"]
