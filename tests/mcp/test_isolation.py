"""Nobody reads, answers or learns what belongs to another inbox or another room: it is as if it were not there."""

from __future__ import annotations

from typing import Any

from mcp import Client

from tests.mcp.peers import Kitchen, call, refused, token_of

ABSENT = 987_654


async def same_as_absent(client: Client, tool: str, message: int, **arguments: Any) -> None:
    there = await refused(client, tool, message=message, **arguments)
    nowhere = await refused(client, tool, message=ABSENT, **arguments)
    assert there.replace(str(message), str(ABSENT)) == nowhere


async def test_a_letter_of_others_can_be_neither_answered_nor_acknowledged_nor_read(kitchen: Kitchen) -> None:
    async with kitchen.as_("claude") as claude, kitchen.as_("gemini") as gemini:
        sent = await call(claude, "agents_send", to=["codex"], subject="Between us", body="The secret ingredient.")
        before = kitchen.live.entries(kitchen.room)
        for client in (gemini, claude):
            await same_as_absent(client, "agents_reply", sent["number"], body="I know.")
            await same_as_absent(client, "agents_ack", sent["number"], status="done")
        for arguments in ({}, {"peek": True}, {"after": 0}, {"after": sent["number"] - 1}):
            for client in (gemini, claude):
                assert (await call(client, "agents_read_inbox", **arguments))["messages"] == []
        assert kitchen.live.entries(kitchen.room) == before
        # The room is everybody's who sits there; what became of the letter is its author's to know.
        lines = (await call(gemini, "room_history", after=sent["number"] - 1))["entries"]
        assert [(line["number"], line["recipients"]) for line in lines] == [(sent["number"], [])]


async def test_another_room_is_not_there(kitchen: Kitchen) -> None:
    async with kitchen.as_("claude") as above, kitchen.as_("claude in the cellar") as below:
        await call(above, "agents_report_status", status="blocked", note="The oven is broken.", ticket="#1")
        sent = await call(above, "agents_send", to=["codex"], subject="", body="Only in the kitchen.")
        live = await call(below, "agents_list_live")
        assert live["room"] == "the cellar"
        assert {agent["handle"] for agent in live["agents"]} == {"claude", "codex"}
        assert {(agent["note"], agent["ticket"], agent["unread"]) for agent in live["agents"]} == {("", "", 0)}
        await same_as_absent(below, "agents_reply", sent["number"], body="Hello")
        await same_as_absent(below, "agents_ack", sent["number"], status="accepted")
        for after in (0, 1, sent["number"] - 1, ABSENT):
            history = await call(below, "room_history", after=after)
            assert history["entries"] == []
            assert history["latest_seq"] < sent["number"]
            assert history["cursor"] <= history["latest_seq"]
        assert "gemini" in await refused(below, "agents_send", to=["gemini"], subject="", body="Are you there?")
        words = await refused(below, "agents_send", to=["nobody"], subject="", body="Are you there?")
        assert words == (await refused(below, "agents_send", to=["gemini"], subject="", body="Are you there?")).replace(
            "gemini", "nobody"
        )
        await call(above, "agents_report_status", status="available")


async def test_who_was_taken_out_of_the_room_reads_nothing_more(kitchen: Kitchen) -> None:
    alice, live = kitchen.people["alice"], kitchen.live
    attic = alice.make_room("the attic")
    alice.seat_agent(attic, "claude")
    alice.seat_agent(attic, "codex")
    for handle in ("claude", "codex"):
        kitchen.tokens[f"{handle} in the attic"] = token_of(live, alice, handle, attic)
    async with kitchen.as_("claude in the attic") as claude, kitchen.as_("codex in the attic") as codex:
        await call(claude, "agents_send", to=["codex"], subject="", body="Before.")
        [(seat,)] = live.stored.rows("SELECT id FROM rooms_member WHERE room_id = ? AND handle = ?", attic, "codex")
        alice.post(f"/members/{seat}/remove/")
        before = live.entries(attic)
        for tool, arguments in (
            ("agents_read_inbox", {}),
            ("room_history", {}),
            ("agents_list_live", {}),
            ("agents_send", {"to": ["claude"], "subject": "", "body": "Still here."}),
            ("agents_report_status", {"status": "working"}),
            ("ask_owner", {"action": "Come back", "kind": "other"}),
        ):
            assert "does not exist" in await refused(codex, tool, **arguments)
        assert live.entries(attic) == before
