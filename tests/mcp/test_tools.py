"""Each tool, called by the SDK's own client in both eras of the protocol, over a live server."""

from __future__ import annotations

import pytest

from tests.mcp.peers import Kitchen, account_token, call, refused

BOTH_ERAS = pytest.mark.parametrize("mode", ["auto", "legacy"])
MAIL = {
    "agents_list_live",
    "agents_send",
    "agents_read_inbox",
    "agents_reply",
    "agents_ack",
    "agents_report_status",
    "room_history",
    "ask_owner",
}


@BOTH_ERAS
async def test_an_agent_is_told_how_it_works_and_finds_its_tools(kitchen: Kitchen, mode: str) -> None:
    async with kitchen.as_("claude", mode) as claude:
        assert claude.protocol_version == ("2026-07-28" if mode == "auto" else "2025-11-25")
        assert claude.instructions is not None
        assert "agents_read_inbox" in claude.instructions
        tools = {tool.name: tool for tool in (await claude.list_tools()).tools}
        assert set(tools) == MAIL
        for tool in tools.values():
            assert tool.description
            assert tool.output_schema
            hints = tool.annotations
            assert hints is not None
            assert (hints.destructive_hint, hints.open_world_hint) == (False, False)
        reading = {name for name, tool in tools.items() if tool.annotations and tool.annotations.read_only_hint}
        assert reading == {"agents_list_live", "room_history"}
        assert "from" not in str(tools["agents_send"].input_schema["properties"].keys())


@BOTH_ERAS
async def test_an_account_sees_none_of_the_agents_tools_and_is_told_so(kitchen: Kitchen, mode: str) -> None:
    kitchen.tokens["account"] = account_token(kitchen.people["alice"])
    async with kitchen.as_("account", mode) as account:
        assert account.instructions is not None
        assert "belong to connections of an agent" in account.instructions
        assert {tool.name for tool in (await account.list_tools()).tools} == {"chat_send", "chat_read", "chat_wait"}
        assert (await account.list_resources()).resources == []
        hidden = await refused(account, "agents_list_live")
        unknown = await refused(account, "no_such_tool")
        assert hidden.replace("agents_list_live", "no_such_tool") == unknown


@BOTH_ERAS
async def test_a_letter_there_and_back(kitchen: Kitchen, mode: str) -> None:
    async with kitchen.as_("claude", mode) as claude, kitchen.as_("codex", mode) as codex:
        sent = await call(
            claude, "agents_send", to=["codex"], subject="The oven", body="Is it hot?", topic="baking", ticket="#7",
            idempotency_key=f"oven-{mode}",
        )  # fmt: skip
        assert [row["handle"] for row in sent["recipients"]] == ["codex"]
        assert [fact["state"] for fact in sent["recipients"][0]["facts"]] == ["stored", "waiting"]

        peeked = await call(codex, "agents_read_inbox", peek=True)
        inbox = await call(codex, "agents_read_inbox")
        assert peeked["messages"][-1]["read_at"] is None
        assert peeked["messages"] == [letter | {"read_at": None} for letter in inbox["messages"]]
        letter = inbox["messages"][-1]
        assert (letter["number"], letter["from_handle"], letter["from_is_agent"]) == (sent["number"], "claude", True)
        assert (letter["subject"], letter["body"], letter["topic"]) == ("The oven", "Is it hot?", "baking")
        assert (letter["ticket"], letter["in_the_name_of"], letter["kind"]) == ("#7", None, "message")
        assert inbox["unread"] == 0
        assert (await call(codex, "agents_read_inbox"))["messages"] == []
        again = await call(codex, "agents_read_inbox", after=sent["number"] - 1)
        assert [found["number"] for found in again["messages"]] == [sent["number"]]
        assert again["messages"][0]["read_at"]

        receipt = await call(codex, "agents_ack", message=sent["number"], status="accepted", note="I look.")
        assert await call(codex, "agents_ack", message=sent["number"], status="accepted", note="I look.") == receipt
        answer = await call(codex, "agents_reply", message=sent["number"], body="It is.")
        assert answer["topic"] == "baking"

        back = (await call(claude, "agents_read_inbox"))["messages"]
        assert [(found["kind"], found["note"] or found["body"]) for found in back] == [
            ("accepted", "I look."),
            ("message", "It is."),
        ]
        assert {found["parent"] for found in back} == {sent["number"]}

        history = await call(claude, "room_history", after=sent["number"] - 1)
        mine, theirs = history["entries"]
        assert (mine["number"], theirs["number"]) == (sent["number"], answer["number"])
        states = [fact["state"] for fact in mine["recipients"][0]["facts"]]
        assert states == ["stored", "read", "accepted", "answered"]
        assert theirs["recipients"] == []


async def test_one_letter_to_several_to_all_and_to_a_person(kitchen: Kitchen) -> None:
    async with kitchen.as_("claude") as claude:
        both = await call(claude, "agents_send", to=["codex", "@gemini"], subject="", body="Lunch.")
        assert [row["handle"] for row in both["recipients"]] == ["codex", "gemini"]
        all_ = await call(claude, "agents_send", to="all", subject="", body="Dinner.")
        assert sorted(row["handle"] for row in all_["recipients"]) == ["codex", "gemini"]
        bob = await call(claude, "agents_send", to=["bob"], subject="", body="Breakfast.")
        assert [fact["state"] for fact in bob["recipients"][0]["facts"]] == ["stored"]


async def test_the_list_shows_who_sits_here_and_what_they_report(kitchen: Kitchen) -> None:
    async with kitchen.as_("claude") as claude, kitchen.as_("codex") as codex:
        told = await call(
            codex, "agents_report_status", status="usage_limited", note="Until noon.", ticket="#9",
            until="2099-01-01T12:00:00+05:30",
        )  # fmt: skip
        assert told["status"] == "usage_limited"
        live = await call(claude, "agents_list_live")
        assert (live["you"], live["room"]) == ("claude", "the kitchen")
        agents = {agent["handle"]: agent for agent in live["agents"]}
        assert set(agents) == {"claude", "codex", "gemini"}
        assert (agents["codex"]["note"], agents["codex"]["ticket"]) == ("Until noon.", "#9")
        assert (agents["codex"]["owner"], agents["gemini"]["owner"]) == ("alice", "dana")
        await call(codex, "agents_report_status", status="available")


async def test_a_question_to_the_owner_comes_back_at_once_and_its_answer_as_mail(kitchen: Kitchen) -> None:
    async with kitchen.as_("gemini") as gemini:
        await call(gemini, "agents_read_inbox")
        asked = await call(gemini, "ask_owner", action="Buy a new oven for 400 €", kind="spend")
        page = kitchen.people["dana"].get(f"/questions/{asked['question']}/")
        assert "Buy a new oven" in page
        assert (await call(gemini, "agents_read_inbox"))["messages"] == []
        verdict = next(button for button in page.buttons() if button.startswith(("Approve", "Yes")))
        kitchen.people["dana"].press(page, verdict)
        [answer] = (await call(gemini, "agents_read_inbox"))["messages"]
        assert (answer["kind"], answer["from_handle"], answer["from_is_agent"]) == ("answer", "dana", False)


# --- errors ---------------------------------------------------------------------------------------------------------


async def test_one_unknown_handle_stores_nothing_and_names_who_may_be_meant(kitchen: Kitchen) -> None:
    before = kitchen.live.entries(kitchen.room)
    async with kitchen.as_("claude") as claude:
        words = await refused(claude, "agents_send", to=["gemini", "codexx"], subject="", body="Hello")
        assert words.endswith("to: Nobody to send it to here is called codexx. Did you mean codex?")
        assert "to:" in await refused(claude, "agents_send", to=[], subject="", body="Hello")
        assert "claude" in await refused(claude, "agents_send", to=["claude"], subject="", body="Hello")
    assert kitchen.live.entries(kitchen.room) == before


async def test_what_is_wrong_with_a_call_is_said_in_words(kitchen: Kitchen) -> None:
    async with kitchen.as_("claude") as claude:
        for arguments, word in (
            ({"body": "   "}, "body"),
            ({"body": "x" * 50_001}, "body"),
            ({"body": "x", "topic": "No Spaces"}, "topic"),
            ({"body": "x", "subject": "x" * 201}, "subject"),
            ({"body": "x", "idempotency_key": "x" * 201}, "idempotency_key"),
        ):
            assert word in await refused(claude, "agents_send", **({"to": ["codex"], "subject": ""} | arguments))
        assert "until" in await refused(
            claude, "agents_report_status", status="usage_limited", until="2020-01-01T00:00:00Z"
        )
        assert "working" in await refused(claude, "agents_report_status", status="sleepy")
        assert "declined" in await refused(claude, "agents_ack", message=1, status="perhaps")
        assert "limit" in await refused(claude, "agents_read_inbox", limit=101)
        assert "action" in await refused(claude, "ask_owner", action=" ", kind="other")
        assert "body" in await refused(claude, "agents_send", to=["codex"], subject="")


async def test_the_same_key_with_other_words_is_refused(kitchen: Kitchen) -> None:
    async with kitchen.as_("claude") as claude:
        first = await call(claude, "agents_send", to=["codex"], subject="", body="One.", idempotency_key="once")
        assert await call(claude, "agents_send", to=["codex"], subject="", body="One.", idempotency_key="once") == first
        words = await refused(claude, "agents_send", to=["codex"], subject="", body="Two.", idempotency_key="once")
        assert "The same idempotency_key was used before" in words
    bodies = [entry.body for entry in kitchen.live.entries(kitchen.room, "message")]
    assert (bodies.count("One."), bodies.count("Two.")) == (1, 0)


async def test_a_question_with_the_same_key_is_the_same_question(kitchen: Kitchen) -> None:
    async with kitchen.as_("codex") as codex:
        first, again = [
            await call(codex, "ask_owner", action="Buy a jar", kind="spend", idempotency_key="jar") for _ in range(2)
        ]
        assert first == again
        words = await refused(codex, "ask_owner", action="Buy a cow", kind="spend", idempotency_key="jar")
        assert "The same idempotency_key was used before" in words
    bodies = [entry.body for entry in kitchen.live.entries(kitchen.room, "message")]
    assert (bodies.count("Buy a jar"), bodies.count("Buy a cow")) == (1, 0)


async def test_nul_and_half_characters_are_cleaned_in_every_field(kitchen: Kitchen) -> None:
    dirty = "a\0b"
    async with kitchen.as_("claude") as claude, kitchen.as_("codex") as codex:
        sent = await call(claude, "agents_send", to=["codex"], subject=dirty, body=dirty, ticket=dirty)
        letter = (await call(codex, "agents_read_inbox", after=sent["number"] - 1))["messages"][0]
        assert (letter["subject"], letter["body"], letter["ticket"]) == ("a\ufffdb",) * 3
        await call(codex, "agents_ack", message=sent["number"], status="done", note=dirty)
        await call(codex, "agents_report_status", status="blocked", note=dirty, ticket=dirty)
        await call(codex, "agents_report_status", status="available")
        await call(codex, "ask_owner", action=dirty, kind="other")
        assert "a\ufffdb" in await refused(claude, "agents_send", to=[dirty], subject="", body="x")
