"""Every tool at ``/mcp``, called by everybody: the table in ``tests/doors`` says who gets through."""

from __future__ import annotations

import pytest

from agentroom.mcp import server
from tests.doors.mcp_doors import CHAT, TOOLS, ToolDoor
from tests.doors.scene import ABSENT
from tests.live import HandMachine
from tests.mcp.http import message, post, tool_call
from tests.mcp.peers import Kitchen, account_token, revoke, token_of


def test_the_table_knows_every_tool_and_the_inbox_is_the_only_resource() -> None:
    made = server.servers()
    listed = {kind: {tool.name for tool in one._tool_manager.list_tools()} for kind, one in made.items()}
    assert listed == {"agent": {door.name for door in TOOLS}, "account": {door.name for door in CHAT}}
    resources = {
        kind: [str(found.uri) for found in one._resource_manager.list_resources()] for kind, one in made.items()
    }
    assert resources == {"agent": ["agentroom://inbox"], "account": []}
    assert not any(one._resource_manager.list_templates() for one in made.values())
    assert not any(one._prompt_manager.list_prompts() for one in made.values())


@pytest.fixture(scope="module")
def outside(kitchen: Kitchen) -> dict[str, str]:
    """Tokens that open nothing here."""
    live, alice = kitchen.live, kitchen.people["alice"]
    machine, revoked = HandMachine(alice, "shelf"), HandMachine(alice, "old shelf")
    alice.post(f"/machines/{revoked.id}/revoke/")
    ended = token_of(live, alice, "claude", kitchen.room)
    revoke(live, alice, ended)
    for one in (machine, revoked):
        one.close()
    return {"nobody": "", "machine": machine.token, "revoked machine": revoked.token, "ended": ended}


@pytest.fixture(scope="module")
def accounts(kitchen: Kitchen) -> dict[str, str]:
    kitchen.people["charlie"] = kitchen.live.person("charlie")
    return {handle: account_token(person) for handle, person in kitchen.people.items()}


@pytest.mark.parametrize("door", TOOLS, ids=str)
def test_everybody_at_every_tool(
    door: ToolDoor, kitchen: Kitchen, outside: dict[str, str], accounts: dict[str, str]
) -> None:
    live = kitchen.live
    letter = tool_call("agents_send", to=["claude"], subject="", body="For claude alone.")
    number = post(live.url, kitchen.tokens["codex"], letter).json()["result"]["structuredContent"]["number"]
    body = tool_call(door.name, **door.with_letter(number))

    before = live.entries(kitchen.room)
    for who, token in outside.items():
        assert post(live.url, token, body).status_code == 401, who
    for person in kitchen.people.values():
        assert person.client.post("/mcp", json=body).status_code == 401, person.handle
    for who, token in accounts.items():
        answer = post(live.url, token, body).json()["result"]
        assert answer["isError"], who
        assert answer["content"][0]["text"] == f"Unknown tool: {door.name}"
        listed = post(live.url, token, message("tools/list")).json()["result"]["tools"]
        assert {tool["name"] for tool in listed} == {door.name for door in CHAT}
    assert live.entries(kitchen.room) == before

    for agent, expected in zip(("gemini", "claude"), reversed(door.expected.split()), strict=True):
        answer = post(live.url, kitchen.tokens[agent], body).json()["result"]
        assert answer["isError"] == (expected != "ok"), answer
        if expected == "absent":
            absent = tool_call(door.name, **door.with_letter(ABSENT))
            other = post(live.url, kitchen.tokens[agent], absent).json()["result"]
            assert answer["content"][0]["text"].replace(str(number), str(ABSENT)) == other["content"][0]["text"]
            assert live.entries(kitchen.room) == before


@pytest.mark.parametrize("door", CHAT, ids=str)
def test_everybody_at_every_tool_of_the_chat(
    door: ToolDoor, kitchen: Kitchen, outside: dict[str, str], accounts: dict[str, str]
) -> None:
    live = kitchen.live
    secret = tool_call("chat_send", body="For alice's programs alone.")
    number = post(live.url, accounts["alice"], secret).json()["result"]["structuredContent"]["number"]
    body = tool_call(door.name, **door.with_letter(number))

    before = live.entries(kitchen.people["alice"].chat)
    for who, token in outside.items():
        assert post(live.url, token, body).status_code == 401, who
    for person in kitchen.people.values():
        assert person.client.post("/mcp", json=body).status_code == 401, person.handle
    for agent in ("claude", "gemini"):
        answer = post(live.url, kitchen.tokens[agent], body).json()["result"]
        assert (answer["isError"], answer["content"][0]["text"]) == (True, f"Unknown tool: {door.name}")
    for who, expected in [*((who, "others") for who in accounts if who != "alice"), ("alice", "own")]:
        answer = post(live.url, accounts[who], body).json()["result"]
        assert answer["isError"] == (door.expected.split()[expected == "others"] != "ok"), (who, answer)
        assert ("alice's programs" in str(answer)) == (who == "alice" and door.name != "chat_send"), answer
        if who != "alice":
            assert live.entries(kitchen.people["alice"].chat) == before
            absent = post(live.url, accounts[who], tool_call(door.name, **door.with_letter(ABSENT))).json()["result"]
            if answer["isError"]:
                told = answer["content"][0]["text"].replace(str(number), str(ABSENT))
                assert told == absent["content"][0]["text"]
