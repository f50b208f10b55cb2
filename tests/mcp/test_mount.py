"""What the door answers before the protocol speaks: who calls, how, how much and how often."""

from __future__ import annotations

import json
from inspect import iscoroutinefunction
from pathlib import Path

import httpx
import pytest
from mcp.server.mcpserver.resources import FunctionResource

from agentroom.mcp import guards, server
from agentroom.mcp.bus import MOST_STREAMS
from tests.live import Live
from tests.mcp.http import META, Listening, by_socket, headers, message, post, tool_call
from tests.mcp.peers import Kitchen, account_token, kitchen_of, revoke, token_of

PING = message("tools/list")


def send(url: str, method: str, given: dict[str, str], *, raw: bytes = b"{}") -> httpx.Response:
    with httpx.Client(trust_env=False, timeout=30) as client:
        return client.request(method, f"{url}/mcp", content=raw, headers=given)


@pytest.mark.parametrize("method", ["POST", "GET", "DELETE", "OPTIONS", "PUT"])
def test_nobody_is_answered_with_where_to_sign_in_before_anything_else(kitchen: Kitchen, method: str) -> None:
    for authorization in ("", "Basic YTpi", "Bearer", "Bearer arc_unknown", "bearer arm_unknown"):
        given = {"Authorization": authorization, "Host": "evil.example", "Origin": "null"}
        answer = send(kitchen.live.url, method, given, raw=b"no JSON")
        assert answer.status_code == 401
        challenge = answer.headers["www-authenticate"]
        metadata = f"{kitchen.live.url}/.well-known/oauth-protected-resource/mcp"
        assert challenge.startswith(f'Bearer resource_metadata="{metadata}", scope="agentroom"')
        assert ("invalid_token" in challenge) == ("arc_" in authorization or "arm_" in authorization)
        assert answer.json()["jsonrpc"] == "2.0"


def test_a_browsers_session_is_no_token(kitchen: Kitchen) -> None:
    assert kitchen.people["alice"].client.post("/mcp", json=PING).status_code == 401


@pytest.mark.parametrize("method", ["GET", "DELETE", "PUT", "OPTIONS"])
def test_only_post_is_served(kitchen: Kitchen, method: str) -> None:
    token = f"Bearer {kitchen.tokens['claude']}"
    for version in ("2024-11-05", "2025-11-25", "2026-07-28"):
        given = {"Authorization": token, "MCP-Protocol-Version": version, "Accept": "text/event-stream"}
        answer = send(kitchen.live.url, method, given)
        assert (answer.status_code, answer.headers["allow"]) == (405, "POST")


def test_another_host_or_origin_is_refused(kitchen: Kitchen) -> None:
    url, token = kitchen.live.url, kitchen.tokens["claude"]
    assert post(url, token, PING).status_code == 200
    assert post(url, token, PING, Origin=url).status_code == 200
    assert post(url, token, PING, Host="evil.example").status_code == 421
    assert post(url, token, PING, Origin="https://evil.example").status_code == 403


def test_spaces_behind_a_header_are_no_part_of_it(kitchen: Kitchen) -> None:
    url, token, body = kitchen.live.url, kitchen.tokens["claude"], tool_call("agents_list_live")
    assert by_socket(url, token, body, Mcp_Name="agents_list_live \t ") == 200
    other = post(url, token, body, Mcp_Name="agents_send")
    assert (other.status_code, other.json()["error"]["code"]) == (400, -32020)


def test_errors_of_the_protocol_are_the_protocols(kitchen: Kitchen) -> None:
    url, token = kitchen.live.url, kitchen.tokens["claude"]

    def error(answer: httpx.Response) -> tuple[int, int]:
        return answer.status_code, answer.json()["error"]["code"]

    assert error(post(url, token, PING, raw=b"{")) == (400, -32700)
    assert error(post(url, token, PING, raw=b"[]")) == (400, -32600)
    assert error(post(url, token, message("no/such"))) == (404, -32601)
    future = {"io.modelcontextprotocol/protocolVersion": "2031-01-01"}
    newer = message("tools/list", _meta=META | future)
    assert error(post(url, token, newer, MCP_Protocol_Version="2031-01-01")) == (400, -32022)
    assert error(post(url, token, PING, MCP_Protocol_Version="2031-01-01")) == (400, -32020)
    assert error(post(url, token, message("resources/read", uri="agentroom://inbox/5"), Mcp_Name="agentroom://inbox/5"))[
        1
    ] == -32602  # fmt: skip
    assert post(url, token, PING, Accept="text/html").status_code == 406


def test_a_request_that_is_too_large_is_refused_and_the_largest_letter_fits(kitchen: Kitchen) -> None:
    url, token = kitchen.live.url, kitchen.tokens["claude"]
    letter = tool_call("agents_send", to=["codex"], subject="", body="\N{OK HAND SIGN}" * 50_000)
    sent = post(url, token, letter).json()["result"]
    assert not sent["isError"], sent
    large = post(url, token, PING, raw=b" " * (guards.MAX_BODY + 1))
    assert (large.status_code, large.json()["error"]["code"]) == (413, -32600)

    def pieces() -> object:
        for _ in range(40):
            yield b" " * 50_000

    with httpx.Client(trust_env=False, timeout=30) as client:
        chunked = client.post(f"{url}/mcp", content=pieces(), headers=headers(token, PING))  # type: ignore[arg-type]
    assert chunked.status_code == 413


@pytest.mark.parametrize("version", ["2026-07-28", "2025-11-25"])
def test_broken_text_is_cleaned_before_anybody_parses_it(kitchen: Kitchen, version: str) -> None:
    url = kitchen.live.url
    body = tool_call("agents_send", to=["codex"], subject="S", body="BODY")
    raw = json.dumps(body).encode().replace(b"BODY", rb"nul\u0000 half\ud83d whole\ud83d\ude00 back\\u0000 " + b"\xff")
    answer = post(url, kitchen.tokens["claude"], body, raw=raw, MCP_Protocol_Version=version)
    assert answer.status_code == 200, answer.text
    stored = kitchen.live.entries(kitchen.room, "message")[-1].body
    assert stored == "nul\ufffd half\ufffd whole\U0001f600 back\\u0000 \ufffd"


def test_cleaning_leaves_sound_json_as_it_is() -> None:
    for text in (
        "",
        "a\\b",
        '"\\',
        "\ud83d\ude00".encode("utf-16", "surrogatepass").decode("utf-16"),
        "é\n\t",
        "\\u0000",
    ):
        for ascii_only in (True, False):
            raw = json.dumps({"k": text}, ensure_ascii=ascii_only).encode()
            assert guards.sound(raw) == raw
    assert guards.sound(rb'"\udc00\ud800"') == rb'"\ufffd\ufffd"'
    assert guards.sound(rb'"\\\u0000"') == rb'"\\\ufffd"'
    assert guards.sound(b'"\xed\xa0\x80"').decode() == '"\ufffd\ufffd\ufffd"'
    assert guards.sound(b'"\\') == b'"\\'


def test_an_allowance_is_earned_back() -> None:
    allowance = guards.Allowance()
    assert [allowance.take("claude", a_minute=2, now=0.0) for _ in range(3)] == [0, 0, 30]
    assert allowance.take("codex", a_minute=2, now=0.0) == 0
    assert allowance.take("claude", a_minute=2, now=29.0) == 1
    assert allowance.take("claude", a_minute=2, now=30.0) == 0
    assert allowance.take("claude", a_minute=2, now=30.0) == 30
    assert [allowance.take("claude", a_minute=2, now=9999.0) for _ in range(3)] == [0, 0, 30]


def test_who_calls_too_often_hears_when_to_come_again(tmp_path: Path) -> None:
    with Live.start(tmp_path, MCP_CALLS_PER_MINUTE="3") as live, kitchen_of(live) as kitchen:
        answers = [post(live.url, kitchen.tokens["claude"], PING) for _ in range(4)]
        assert [answer.status_code for answer in answers] == [200, 200, 200, 429]
        assert 1 <= int(answers[-1].headers["retry-after"]) <= 20
        assert "Wait" in answers[-1].json()["error"]["message"]
        assert post(live.url, kitchen.tokens["codex"], PING).status_code == 200, "another connection has its own"


# --- whose it is ----------------------------------------------------------------------------------------------------


def test_a_revoked_token_ends_at_once_for_tools_and_soon_at_the_door(kitchen: Kitchen) -> None:
    live, alice = kitchen.live, kitchen.people["alice"]
    token = token_of(live, alice, "codex", kitchen.room)
    body = tool_call("agents_list_live")
    assert not post(live.url, token, body).json()["result"]["isError"]
    before = live.entries(kitchen.room)
    revoke(live, alice, token)
    after = post(live.url, token, tool_call("agents_send", to=["claude"], subject="", body="Still here."))
    assert after.status_code == 401 or after.json()["result"]["isError"]
    assert live.entries(kitchen.room) == before


def test_a_call_that_was_cut_off_is_stored_once_when_it_is_repeated(kitchen: Kitchen) -> None:
    live, token = kitchen.live, kitchen.tokens["claude"]
    for number in range(5):
        body = tool_call(
            "agents_send", to=["codex"], subject="", body=f"Cut {number}.", idempotency_key=f"cut-{number}"
        )
        by_socket(live.url, token, body, hang_up=True)
        again = [post(live.url, token, body).json()["result"] for _ in range(2)]
        assert not again[0]["isError"], again
        assert again[0]["structuredContent"] == again[1]["structuredContent"]
    stored = [entry.body for entry in live.entries(kitchen.room, "message") if entry.body.startswith("Cut ")]
    assert stored == [f"Cut {number}." for number in range(5)]


def test_the_token_reaches_neither_the_log_nor_an_answer(kitchen: Kitchen) -> None:
    live, token = kitchen.live, kitchen.tokens["claude"]
    assert token not in post(live.url, token, tool_call("agents_reply", message=10**6, body=token[:8])).text
    assert token not in post(live.url, token, message("no/such")).text
    assert token not in live.folder.joinpath("server.log").read_text(errors="replace")


# --- listening ------------------------------------------------------------------------------------------------------

INBOX = "agentroom://inbox"


def test_who_listens_is_told_of_their_own_inbox_and_of_no_other(kitchen: Kitchen) -> None:
    url, tokens = kitchen.live.url, kitchen.tokens
    with Listening(url, tokens["codex"], INBOX) as codex, Listening(url, tokens["gemini"], INBOX) as gemini:
        for stream in (codex, gemini):
            first = stream.next()
            assert first is not None
            assert first["method"] == "notifications/subscriptions/acknowledged"
        for addressee in ("codex", "gemini"):
            letter = tool_call("agents_send", to=[addressee], subject="", body="Look.")
            assert not post(url, tokens["claude"], letter).json()["result"]["isError"]
        for stream in (codex, gemini):
            told = stream.next()
            assert told is not None
            assert told["method"] == "notifications/resources/updated"
            assert told["params"]["uri"] == INBOX
            assert told["params"]["_meta"]["io.modelcontextprotocol/subscriptionId"] == 1
            assert "Look" not in json.dumps(told)
        read = message("resources/read", uri=INBOX)
        state = json.loads(post(url, tokens["codex"], read, Mcp_Name=INBOX).json()["result"]["contents"][0]["text"])
        assert state["unread"] >= 1
        # What gemini hears next is that gemini read, not that codex did.
        post(url, tokens["codex"], tool_call("agents_read_inbox"))
        post(url, tokens["gemini"], tool_call("agents_read_inbox"))
        assert gemini.next() is not None
        state = json.loads(post(url, tokens["gemini"], read, Mcp_Name=INBOX).json()["result"]["contents"][0]["text"])
        assert state["unread"] == 0


def test_nobody_listens_to_another_uri(kitchen: Kitchen) -> None:
    for uri in ("agentroom://inbox/2", "agentroom://inboxes", "file:///etc/passwd"):
        with Listening(kitchen.live.url, kitchen.tokens["claude"], INBOX, uri) as refused:
            error = json.loads(refused.response.read())["error"]
            assert (error["code"], error["data"]) == (-32602, {"uri": uri})
    account = account_token(kitchen.people["bob"])
    with Listening(kitchen.live.url, account, INBOX) as refused:
        assert json.loads(refused.response.read())["error"]["code"] == -32602
    with Listening(kitchen.live.url, account, toolsListChanged=True) as silent:
        assert silent.next() is not None


def test_the_stream_of_a_revoked_connection_ends(kitchen: Kitchen) -> None:
    live, alice = kitchen.live, kitchen.people["alice"]
    token = token_of(live, alice, "codex", kitchen.room)
    with Listening(live.url, token, INBOX) as stream:
        assert stream.next() is not None
        revoke(live, alice, token)
        last = stream.next()
        assert last is not None
        assert last["result"]["resultType"] == "complete"
        assert stream.next() is None


def test_only_so_many_streams_for_one_connection(kitchen: Kitchen) -> None:
    token = token_of(kitchen.live, kitchen.people["alice"], "codex", kitchen.room)
    streams = [Listening(kitchen.live.url, token, INBOX) for _ in range(MOST_STREAMS)]
    try:
        assert all(stream.next() for stream in streams)
        with Listening(kitchen.live.url, token, INBOX) as refused:
            assert "listens" in json.loads(refused.response.read())["error"]["message"]
    finally:
        for stream in streams:
            stream.close()


def test_every_tool_and_resource_is_a_coroutine() -> None:
    """A plain function called by an older client keeps Daphne from ever ending."""
    for made in server.servers().values():
        assert all(tool.is_async for tool in made._tool_manager.list_tools())
        resources = made._resource_manager.list_resources()
        assert all(isinstance(found, FunctionResource) and iscoroutinefunction(found.fn) for found in resources)
