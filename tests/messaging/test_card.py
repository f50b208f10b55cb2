from __future__ import annotations

from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import Any

from messaging.render import sections
from messaging.render.card import DECISIONS, NEWEST_STEPS, PASSAGES, Away, Card, Facts

START = datetime(2026, 11, 27, 14, 0, tzinfo=UTC)


@dataclass
class Happened:
    seq: int
    kind: str
    body: str = ""
    data: dict[str, Any] = field(default_factory=dict)

    @property
    def created_at(self) -> datetime:
        return START + timedelta(seconds=self.seq)


class Story:
    """What happens in one turn, numbered."""

    def __init__(self) -> None:
        self.card = Card(room=1, turn=5, facts=Facts("claude", "alice", "bob", "bob"))
        self.seq = 10

    def tell(self, kind: str, body: str = "", **data: Any) -> set[str]:
        self.seq += 1
        return self.card.fold([Happened(self.seq, kind, body, {"turn": 5, **data})])

    def turn(self, state: str, **data: Any) -> set[str]:
        return self.tell("turn", state=state, **data)

    def step(self, call: str, state: str = "done", output: str = "") -> set[str]:
        return self.tell("tool_call", output, call=call, tool="execute", title=f"Run `{call}`", state=state)

    def html(self) -> str:
        return str(sections.group(self.card))


def test_pieces_of_one_passage_are_one_block() -> None:
    story = Story()
    story.turn("running")
    story.tell("text", "The page asked for **each", part="a")
    changed = story.tell("text", " seat** alone.", part="a")

    assert changed == {"text:a"}
    assert "<strong>each seat</strong> alone." in story.html()


def test_the_newest_word_about_a_call_counts_at_the_place_of_the_first() -> None:
    story = Story()
    story.turn("running")
    story.step("pytest", "running", "collecting")
    story.step("ls", "done")
    story.step("pytest", "done", "2 passed")

    assert [step.call for step in story.card.steps.values()] == ["pytest", "ls"]
    assert [step.call for step in story.card.finished if hasattr(step, "call")] == ["pytest", "ls"]
    assert story.card.open_steps == []


def test_a_running_step_shows_the_end_of_its_output_and_a_finished_one_folds() -> None:
    story = Story()
    story.turn("running")
    story.step("pytest", "running", "line\n" * 500 + "\x1b[31mFAILED\x1b[0m <b>")

    assert '<span class="t-red">FAILED</span> &lt;b&gt;' in story.html()
    assert story.html().count("line\n") < 60
    story.step("pytest", "failed", "FAILED")
    html = story.html()
    assert "<pre" not in html
    assert "1 finished step" in html


def test_a_card_stays_small_with_two_thousand_steps() -> None:
    story = Story()
    story.turn("running")
    for number in range(2000):
        story.step(f"call-{number}", "running")
        story.step(f"call-{number}", "done", "x" * 5000)
    html = story.html()

    assert html.count("<li id=") == NEWEST_STEPS
    assert "2,000 finished steps" in html
    assert "Earlier steps" in html
    assert len(html) < 40_000
    assert sum(len(step.output) for step in story.card.steps.values()) < 10_000


def test_a_new_step_changes_only_its_own_place() -> None:
    story = Story()
    story.turn("running")
    for number in range(500):
        story.step(f"call-{number}")
    changed = story.step("last")
    parts = sections.changes(story.card, changed)

    assert {part.id for part in parts} == {"t5-open", "t5-history-line", f"t5-s{story.seq}"}
    assert sum(len(part.html) for part in parts) < 2_000


def test_older_passages_are_folded_among_the_steps() -> None:
    story = Story()
    story.turn("running")
    for number in range(PASSAGES + 2):
        story.tell("text", f"passage {number}", part=str(number))

    assert [passage.text for passage in story.card.open_passages] == ["passage 2", "passage 3", "passage 4"]
    html = story.html()
    assert html.index("passage 2") < html.index("passage 0")


def test_the_newest_plan_counts() -> None:
    story = Story()
    story.tell("plan", items=[{"text": "measure", "state": "running"}])
    story.tell("plan", items=[{"text": "measure", "state": "done"}, {"text": "mend", "state": "running"}])

    assert "1 of 2 · mend" in story.html()


def test_a_changed_file_is_counted_once_and_its_diff_stays_away() -> None:
    story = Story()
    story.tell("file_change", path="a.py", change="changed", plus=1, minus=0)
    story.tell("file_change", "+secret = 1", path="a.py", change="changed", plus=9, minus=3)
    html = story.html()

    assert html.count("a.py") == 1
    assert "+9" in html
    assert "secret" not in html


def test_the_end_closes_what_was_open() -> None:
    story = Story()
    story.turn("running")
    story.step("pytest", "running")
    changed = story.turn("interrupted", note="alice-laptop restarted.")

    assert {"state", "open", "history", "step:pytest"} <= changed
    assert story.card.open_steps == []
    html = story.html()
    assert "interrupted, outcome unknown" in html
    assert "did not finish" in html
    assert "will not run again by itself" in html


def test_how_long_it_took_counts_from_its_start() -> None:
    story = Story()
    story.turn("asked")
    story.turn("queued")
    story.turn("running")
    for _ in range(370):
        story.tell("notice", "…")
    story.turn("done")

    assert "done in 6 min 11 s" in story.html()


def test_a_question_shows_its_short_form_to_the_room_and_then_its_decision() -> None:
    story = Story()
    story.turn("running")
    question: dict[str, Any] = {"approval": 31, "subject": "push", "short": "Push to `kitchen/booking`", "call": ""}
    changed = story.tell("approval", state="asked", **question)
    html = story.html()

    assert {"state", "question:31"} == changed
    assert "codex" not in html
    assert 'id="q31"' in html
    assert "Push to <code>kitchen/booking</code>" in html
    assert 'waiting for <span data-handle="alice">alice</span>' in html
    assert "<form" not in html

    story.tell("approval", "Push to main.", state="no", by="alice", **question)
    html = story.html()
    assert "declined by" in html
    assert "“Push to main.”" in html


def test_decisions_are_folded_into_one_line_in_their_order() -> None:
    story = Story()
    story.turn("running")
    for number in (9, 10):
        story.tell("approval", approval=number, subject="tool", short=f"run `{number}`", state="asked")
    assert [part.id for part in sections.changes(story.card, {"question:10", "question:9"})] == ["q9", "q10"]
    changed = story.tell("approval", approval=10, subject="tool", short="run `10`", state="no", by="alice")
    parts = {part.id: part for part in sections.changes(story.card, changed)}

    assert parts["q10"].target == "t5-decided-list"
    assert "1 decision: declined by" in parts["t5-decided-line"].html
    story.tell("approval", approval=9, subject="tool", short="run `9`", state="once", by="alice")
    html = story.html()
    assert "2 decisions, 1 declined, the last by" in html
    assert html.index('id="q10"') < html.index('id="q9"')
    assert 'class="card question"' not in html
    assert f'href="?at={story.seq}#e{story.seq}"' in html


def test_a_start_that_was_allowed_is_a_decision_and_one_that_was_not_is_the_end() -> None:
    story = Story()
    for state in ("asked", "once"):
        story.tell("approval", approval=1, subject="start", short="", state=state, by="alice")
    assert "1 decision: approved by" in story.html()

    story = Story()
    story.tell("approval", approval=1, subject="start", short="", state="asked")
    changed = story.tell("approval", approval=1, subject="start", short="", state="no", by="alice")
    assert "decision:" not in story.html()
    assert "t5-decided-list" not in {part.target for part in sections.changes(story.card, changed)}


def test_a_card_holds_the_newest_decisions_and_leads_to_the_rest() -> None:
    story = Story()
    story.turn("running")
    for number in range(300):
        for state in ("asked", "once"):
            story.tell("approval", approval=number, subject="tool", short=f"run `{number}`", state=state, by="alice")
    html = story.html()

    assert html.count('<li id="q') == DECISIONS
    assert "300 decisions, the last by" in html
    assert "Earlier decisions" in html


def test_a_turn_out_of_sight_says_so_instead_of_working() -> None:
    story = Story()
    story.turn("running")
    for facts in (Away("laptop", START, stop_waits=False, answer_waits=True), None):
        story.card.facts = replace(story.card.facts, away=facts)
        html = story.html()
        assert ("laptop is offline since" in html) is (facts is not None)
        assert ("The answer is recorded, waiting for the machine." in html) is (facts is not None)
        assert ("working" in html) is (facts is None)
    story.card.facts = replace(story.card.facts, away=Away("laptop", START, stop_waits=True, answer_waits=False))
    assert "stop recorded, waiting for the machine" in story.html()


def test_a_request_to_start_is_part_of_the_card() -> None:
    story = Story()
    story.turn("asked")
    story.tell("approval", state="asked", approval=7, subject="start", short="", call="")

    assert 'id="q7"' not in story.html()
    assert "claude starts when" in story.html()


def test_the_same_entries_again_change_nothing() -> None:
    story = Story()
    story.turn("running")
    entry = Happened(99, "text", "once", {"turn": 5, "part": "a"})
    story.card.fold([entry])

    assert story.card.fold([entry]) == set()
    assert story.card.passages["a"].text == "once"


def test_what_another_turn_did_is_not_folded_in() -> None:
    story = Story()
    assert story.card.fold([Happened(50, "text", "other", {"turn": 6, "part": "a"})]) == set()


def test_a_hidden_character_in_a_title_or_a_path_is_seen() -> None:
    story = Story()
    story.turn("running")
    story.tell("tool_call", call="a", tool="execute", title="Run `ls\u202e`", state="done")
    story.tell("file_change", path="a\u200b.py", change="changed", plus=1, minus=1)
    html = story.html()

    assert '<mark class="hidden-char">U+202E</mark>' in html
    assert '<mark class="hidden-char">U+200B</mark>' in html
