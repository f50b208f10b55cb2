import base64
from pathlib import Path
from typing import Any

import pytest

from agentroom_machine import wire
from agentroom_machine.daemon.changes import Changes
from agentroom_machine.daemon.redact import Redactor
from agentroom_machine.daemon.translate import Picture, Translator


class Bench:
    """A translator with a clock of its own, and what it said."""

    def __init__(self, workdir: Path, *, share_diffs: bool = False) -> None:
        self.now = 0.0
        self.facts: list[wire.Fact] = []
        self.pictures: list[Picture] = []
        redact = Redactor(["s3cret-value"])
        changes = Changes(emit=self.facts.append, redact=redact, workdir=workdir, share_diffs=share_diffs)
        self.translator = Translator(
            9,
            emit=self.facts.append,
            picture=self.pictures.append,
            redact=redact,
            workdir=workdir,
            changes=changes,
            clock=lambda: self.now,
        )

    def text(self, words: str, **more: Any) -> None:
        content = {"type": "text", "text": words}
        self.translator.take({"sessionUpdate": "agent_message_chunk", "content": content, **more})

    def call(self, id: str = "c1", kind: str = "tool_call_update", **more: Any) -> None:
        self.translator.take({"sessionUpdate": kind, "toolCallId": id, **more})

    def wait(self, seconds: float) -> None:
        self.now += seconds
        self.translator.tick()

    def texts(self) -> list[tuple[str, str]]:
        return [(fact.part, fact.text) for fact in self.facts if isinstance(fact, wire.TextFact)]

    def calls(self) -> list[wire.ToolCallFact]:
        return [fact for fact in self.facts if isinstance(fact, wire.ToolCallFact)]

    def files(self) -> list[wire.FileChangeFact]:
        return [fact for fact in self.facts if isinstance(fact, wire.FileChangeFact)]


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path)


def test_many_small_pieces_make_few_facts_of_one_passage(bench: Bench) -> None:
    for n in range(100):
        bench.text(f"word{n} ")
        bench.wait(0.05)
    bench.translator.finish(completed=True)
    assert 3 <= len(bench.texts()) <= 6
    assert "".join(text for _, text in bench.texts()) == "".join(f"word{n} " for n in range(100))
    assert {part for part, _ in bench.texts()} == {"9.1"}


def test_text_is_said_before_the_tool_call_that_follows_it(bench: Bench) -> None:
    bench.text("I look.")
    bench.call(kind="tool_call", title="Read", status="pending")
    bench.text("I saw.")
    bench.translator.finish(completed=True)
    assert [type(fact).__name__ for fact in bench.facts] == ["TextFact", "ToolCallFact", "TextFact", "ToolCallFact"]
    assert [part for part, _ in bench.texts()] == ["9.1", "9.2"]


def test_thoughts_and_unknown_updates_stay(bench: Bench) -> None:
    bench.translator.take({"sessionUpdate": "agent_thought_chunk", "content": {"type": "text", "text": "hm"}})
    bench.translator.take({"sessionUpdate": "user_message_chunk", "content": {"type": "text", "text": "hm"}})
    bench.translator.take({"sessionUpdate": "_vendor/thing", "secret": "x"})
    bench.translator.take({})
    bench.translator.finish(completed=True)
    assert bench.facts == []


def test_a_secret_across_two_pieces_does_not_leave(bench: Bench) -> None:
    bench.text("the key is s3cret")
    bench.wait(5)
    bench.text("-value now")
    bench.translator.finish(completed=True)
    assert "s3cret" not in "".join(text for _, text in bench.texts())


def test_a_commands_output_leaves_as_its_redacted_tail(bench: Bench, tmp_path: Path) -> None:
    bench.call(kind="tool_call", title="sh", status="pending", rawInput={"command": f"cat {tmp_path}/log"}, name="Bash")
    output = "x" * 30_000 + "\nTOKEN=s3cret-value\nend\n"
    block = {"type": "content", "content": {"type": "text", "text": f"```console\n{output}\n```"}}
    bench.now = 2.5
    bench.call(status="completed", content=[block])
    done = bench.calls()[-1]
    assert done.title == "cat log"
    assert done.state == "done"
    assert done.duration_ms == 2500
    assert len(done.output) <= 4096
    assert "s3cret-value" not in done.output
    assert done.output.endswith("end\n")
    assert done.output_cut > 25_000


def test_what_reading_shows_stays_on_the_machine(bench: Bench, tmp_path: Path) -> None:
    spot = [{"path": str(tmp_path / "a.py")}]
    bench.call(kind="tool_call", title="Read", status="pending", name="Read", locations=spot)
    bench.call(status="completed", content=[{"type": "content", "content": {"type": "text", "text": "the content"}}])
    assert "the content" not in repr(bench.facts)
    assert bench.calls()[-1].title == "Read a.py"


def test_a_path_outside_is_not_told(bench: Bench) -> None:
    bench.call(
        kind="tool_call", title="Read /home/alice/diary", status="pending", name="Read", locations=[{"path": "/x/d"}]
    )
    assert bench.calls()[-1].title == "Read a file outside the working directory"


def test_growing_output_is_throttled(bench: Bench) -> None:
    bench.call(kind="tool_call", title="t", status="in_progress", name="exec_command", rawInput={"command": "make"})
    for n in range(100):
        bench.call(_meta={"terminal_output": {"data": f"tick {n}\n"}})
        bench.wait(0.1)
    assert 3 <= len(bench.calls()) <= 8
    bench.call(status="completed", _meta={"terminal_exit": {"exit_code": 2}})
    assert bench.calls()[-1].state == "failed"
    assert bench.calls()[-1].output.endswith("tick 99\n")


def test_half_a_secret_at_the_end_of_live_output_waits(bench: Bench) -> None:
    bench.call(kind="tool_call", title="t", status="in_progress", name="Bash", rawInput={"command": "env"})
    bench.call(_meta={"terminal_output": {"data": "one s3cret"}})
    bench.wait(5)
    assert "s3cret" not in bench.calls()[-1].output


def test_an_update_without_a_call_before_it_makes_one(bench: Bench) -> None:
    bench.call(title="list", status="completed")
    assert [call.state for call in bench.calls()] == ["done"]


def test_a_diff_leaves_as_path_and_counts_only(bench: Bench, tmp_path: Path) -> None:
    diff = {"type": "diff", "path": str(tmp_path / "a.py"), "oldText": "one\ntwo\n", "newText": "one\n2\n3\n"}
    bench.call(kind="tool_call", title="Edit", status="pending", name="Edit", content=[diff])
    assert bench.files() == []
    bench.call(status="completed")
    assert bench.files() == [wire.FileChangeFact(path="a.py", change="changed", plus=2, minus=1)]


def test_a_diff_leaves_when_its_owner_shares_diffs(tmp_path: Path) -> None:
    bench = Bench(tmp_path, share_diffs=True)
    for name in ("a.py", ".env"):
        diff = {"type": "diff", "path": str(tmp_path / name), "oldText": "one\n", "newText": "s3cret-value\n"}
        bench.call(id=name, kind="tool_call", title="Edit", status="completed", name="Edit", content=[diff])
    shared, kept = bench.files()
    assert "-one" in shared.diff
    assert "s3cret-value" not in shared.diff
    assert kept.diff == ""


def test_a_refused_call_that_the_runtime_never_mentions_is_shown(bench: Bench) -> None:
    bench.translator.refused("exec-1", "exec_command", {"command": "git push"}, "exec_command")
    assert [(call.title, call.state) for call in bench.calls()] == [("git push", "refused")]
    bench.call(id="exec-1", status="failed")
    assert bench.calls()[-1].state == "refused"


def test_a_call_that_never_ended_ends_with_its_turn(bench: Bench) -> None:
    bench.call(kind="tool_call", title="t", status="in_progress")
    bench.translator.finish(completed=False)
    assert bench.calls()[-1].state == "failed"


def test_a_plan_is_said_when_it_changes(bench: Bench) -> None:
    entries = [{"content": "look", "status": "completed"}, {"content": "s3cret-value", "status": "in_progress"}]
    bench.translator.take({"sessionUpdate": "plan", "entries": entries})
    bench.translator.take({"sessionUpdate": "plan", "entries": entries})
    (plan,) = bench.facts
    assert isinstance(plan, wire.PlanFact)
    assert [item.state for item in plan.items] == ["done", "running"]
    assert "s3cret" not in plan.items[1].text


def test_an_image_in_the_protocol_becomes_a_picture(bench: Bench) -> None:
    data = base64.b64encode(b"png").decode()
    content = {"type": "image", "data": data, "mimeType": "image/png"}
    bench.translator.take({"sessionUpdate": "agent_message_chunk", "content": content})
    assert bench.pictures == [Picture(b"png", "image/png")]


@pytest.mark.parametrize("broken", [{"content": 5}, {"rawInput": 5}, {"locations": [5]}, {"_meta": 3}, {"status": []}])
def test_a_broken_update_breaks_nothing(bench: Bench, broken: dict[str, Any]) -> None:
    bench.call(**broken)
    bench.call(title="list", status="completed")
    assert bench.calls()[-1].state == "done"
