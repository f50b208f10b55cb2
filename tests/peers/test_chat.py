"""Real Claude Code and Codex in the account chat: they write, and sit through a long wait until they are answered."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from tests.chat.ways import Rest
from tests.mcp.peers import account_token
from tests.peers.conftest import Room
from tests.peers.programs import CLAUDE, CODEX, Said, asked, begun, ran
from tests.peers.test_clients import ADD_TO_CLAUDE, ERAS, spoken
from tests.real_agents.model.server import Model

pytestmark = [pytest.mark.real_agents, pytest.mark.timeout(600)]
LATE = 40
"""Seconds after which the answer comes: longer than proxies and programs hold a silent call."""


@pytest.fixture(scope="module")
def other(room: Room) -> Rest:
    """Another program of alice's account."""
    return Rest(room.live, account_token(room.alice))


@contextmanager
def answered(other: Rest, words: str, seconds: float = LATE) -> Iterator[None]:
    """Another program says these words after a while."""
    later = threading.Timer(seconds, other.send, [words])
    later.start()
    yield
    later.join()


@ERAS
def test_claude_code_writes_and_waits_for_the_answer(
    room: Room, model: Model, other: Rest, env: dict[str, str], era: str
) -> None:
    asks = {"ANTHROPIC_BASE_URL": model.url, "ANTHROPIC_API_KEY": "not-a-key", "ENABLE_TOOL_SEARCH": "false"}
    env |= spoken(era) | asks
    ran(*ADD_TO_CLAUDE, room.url, "--header", f"Authorization: Bearer {account_token(room.alice)}", env=env)

    def use(tool: str, **arguments: Any) -> Any:
        name = f"mcp__agentroom__{tool}"
        said = ran(
            CLAUDE, "-p", f"Use `{name}` with `{json.dumps(arguments)}`", "--allowedTools", name, "--output-format",
            "json", "--no-session-persistence", env=env,
        )  # fmt: skip
        return json.loads(json.loads(said)["result"].removeprefix("It gave: "))

    sent = use("chat_send", body=f"Who bakes? ({era})", topic="oven", session="claude")
    assert other.read(sent["number"] - 1).bodies == [f"Who bakes? ({era})"]
    cursor = use("chat_read")["cursor"]
    with answered(other, f"I do. ({era})", LATE if era == "modern" else 2):
        waited = use("chat_wait", after=cursor, timeout=50, skip_sessions=["claude"])
    assert (waited["reason"], [message["body"] for message in waited["messages"]]) == ("messages", [f"I do. ({era})"])


def test_codex_writes_and_waits_for_the_answer(room: Room, other: Rest, env: dict[str, str]) -> None:
    env["AGENTROOM_TOKEN"] = account_token(room.alice)
    ran(CODEX, "mcp", "add", "agentroom", "--url", room.url, "--bearer-token-env-var", "AGENTROOM_TOKEN", env=env)
    with begun(CODEX, "app-server", env=env) as process:
        said = Said(process)
        asked(process, said, 1, "initialize", clientInfo={"name": "kitchen", "title": "Kitchen", "version": "1"})
        [status] = [
            one for one in asked(process, said, 2, "mcpServerStatus/list")["data"] if one["name"] == "agentroom"
        ]
        assert sorted(status["tools"]) == ["chat_read", "chat_send", "chat_wait"]
        thread = asked(process, said, 3, "thread/start", ephemeral=True)["thread"]["id"]

        def use(number: int, tool: str, **arguments: Any) -> Any:
            called = {"threadId": thread, "server": "agentroom", "tool": tool, "arguments": arguments}
            return asked(process, said, number, "mcpServer/tool/call", **called)["structuredContent"]

        sent = use(4, "chat_send", body="Who eats?", session="codex")
        with answered(other, "We do."):
            waited = use(5, "chat_wait", after=sent["number"], timeout=50, skip_sessions=["codex"])
    assert (waited["reason"], [message["body"] for message in waited["messages"]]) == ("messages", ["We do."])
