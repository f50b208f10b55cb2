"""The contract's JSON, as it is on the wire: a change here is a change for machines that are out there."""

import json
from datetime import UTC, datetime
from pathlib import Path

import pytest

from agentroom_machine import wire
from tests.machine.cast import agent, offer

GOLDEN = Path(__file__).parent / "golden"
AT = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
SHA = "0" * 64
CLAUDE = agent("/home/alice/kitchen")
FACTS: list[wire.Fact] = [
    wire.TextFact(part="5.1", text="I look."),
    wire.PlanFact(items=[wire.PlanItem(text="Look around", state="running")]),
    wire.ToolCallFact(
        call="5.c1", tool="execute", title="ls", state="done", duration_ms=12, output="a\n", output_cut=3
    ),
    wire.FileChangeFact(path="a.py", change="created", plus=2, minus=0),
    wire.ArtifactFact(sha256=SHA, name="a.png", content_type="image/png", size=9),
    wire.QuestionFact(key="5.k1", subject="tool", title="claude wants to run a command", action="ls", short="run ls"),
    wire.QuestionGoneFact(key="5.k1"),
    wire.NoticeFact(text="A new session begins."),
    wire.UndoableFact(created=["a.png"], changed=["a.py"], deleted=["build/"], lost=1),
    wire.UndoneFact(restored=["a.py", "build/"], removed=["a.png"], conflicts=["b.py"]),
    wire.EndFact(state="done", usage=wire.Usage(input_tokens=3, output_tokens=4)),
]
CHAT = wire.ChatMessage(
    number=5, account="alice", session="night shift", connection="1f2e3d4c", topic="oven", parent=4,
    body="The oven is free.", at=AT,
)  # fmt: skip
EXAMPLES: dict[str, wire.Wire] = {
    "pair_request": wire.PairRequest(name="laptop", token_hash=SHA, connection_hash=SHA),
    "pair_reply": wire.PairReply(user_code="ABCD-EFGH", url="https://rooms.example.com/pair", expires_at=AT),
    "pair_state": wire.PairState(state="paired", machine_id=3, name="laptop", owner="alice"),
    "agent_new": wire.AgentNew(handle="claude", runtime="claude", workdir="/home/alice/kitchen"),
    "agent_edit": wire.AgentEdit(here=True),
    "agent_seen": wire.AgentSeen(**CLAUDE.model_dump(), machine="laptop", here=True, status="idle", rooms=["kitchen"]),
    "sync_request": wire.SyncRequest(
        instance="i1",
        journal_id="j1",
        epoch=2,
        offers=[4],
        running=[5],
        ready=[1],
        slots=1,
        confined={1: "", 2: "off"},
        live=[wire.Kept(agent_id=1, room_id=7)],
    ),
    "sync_reply": wire.SyncReply(
        epoch=2,
        server_time=AT,
        agents=[CLAUDE],
        offers=[
            offer(5, CLAUDE, context=[wire.Said(seq=1, author="vera", is_agent=False, at=AT, body="hi")]),
            offer(
                6,
                CLAUDE,
                cause="mail",
                body="A letter waits in your inbox.",
                mcp_url="https://rooms.example.com/mcp",
                notices=[wire.Notice(number=9, from_="gemini", subject="Soup", preview="Salt?", in_the_name_of="bob")],
            ),
        ],
        stop=[4],
        undo=[3],
        keep=[wire.Kept(agent_id=1, room_id=7)],
        verdicts=[wire.Verdict(key="5.k1", verdict="no", answer="not now", decided_by="alice")],
    ),
    "connection_new": wire.ConnectionNew(agent_id=1, room_id=7, token_hash=SHA),
    "connection_made": wire.ConnectionMade(id=8),
    "start_request": wire.StartRequest(claim_id="claim-5", journal_id="j1", epoch=2),
    "start_reply": wire.StartReply(started_at=AT),
    "stop_request": wire.StopRequest(person="bob", agent="claude"),
    "stop_reply": wire.StopReply(cancelled=2, stopping=1),
    "report": wire.Report(
        journal_id="j1", facts=[wire.Numbered(n=n, turn_id=5, fact=fact) for n, fact in enumerate(FACTS, 1)]
    ),
    "receipt": wire.Receipt(acked=9, refused={3: "no such call"}),
    "chat_new": wire.ChatNew(body="The oven is free.", topic="oven", reply_to=4, session="night shift"),
    "chat_message": CHAT,
    "chat_page": wire.ChatPage(messages=[CHAT], cursor=9, has_more=True, latest_seq=12),
    "chat_heard": wire.ChatHeard(messages=[], cursor=9, has_more=False, latest_seq=9, reason="timeout"),
    "problem": wire.Problem(title="Conflict", status=409, detail="Stop the other one.", code="second_daemon"),
}


@pytest.mark.parametrize("name", EXAMPLES)
def test_the_json_is_what_it_was(name: str) -> None:
    golden = json.loads((GOLDEN / f"{name}.json").read_text())
    assert EXAMPLES[name].model_dump(mode="json") == golden


@pytest.mark.parametrize("name", EXAMPLES)
def test_what_was_written_is_read_back_the_same(name: str) -> None:
    kind = type(EXAMPLES[name])
    assert kind.model_validate_json((GOLDEN / f"{name}.json").read_text()) == EXAMPLES[name]


@pytest.mark.parametrize("name", EXAMPLES)
def test_a_field_of_a_newer_side_is_ignored(name: str) -> None:
    golden = json.loads((GOLDEN / f"{name}.json").read_text()) | {"from_the_future": {"x": 1}}
    assert type(EXAMPLES[name]).model_validate(golden) == EXAMPLES[name]
