"""Twenty SIGKILLs of the daemon in mid-turn: at each instant that matters, and at random ones."""

from __future__ import annotations

import random
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.kills.accounts import Done, Shown, begins, same
from tests.kills.desk import Desk
from tests.live import Live, StoredTurn, until

pytestmark = [pytest.mark.kills, pytest.mark.timeout(240)]

BEFORE_IT_RUNS = ["offer-journaled", "start-asked", "start-answered", "start-known"]
IN_MID_TURN = [
    "running-journaled",
    "text-journaled",
    "text-journaled:2",
    "report-asked",
    "report-answered",
    "report-answered:3",
    "acked:2",
    "plan-journaled",
    "question-journaled",
    "question-journaled:2",
    "verdict-given",
    "push-journaled",
    "push-known",
    "tool_call-journaled:3",
]
NEAR_THE_END = ["end-journaled", "end-answered"]
EITHER = ["file-asked"]
"""A file goes up while the turn's end is being written."""
SEED = 20261129
ASKED = {"push": "git push origin main", "delete": "rm -rf build"}
"""What wants a yes in ``desk.WORK``."""


@pytest.fixture(scope="module")
def desk(live: Live) -> Iterator[Desk]:
    desk = Desk.set_up(live)
    yield desk
    desk.machine.close()


def settle(desk: Desk, turn: StoredTurn, killed: Path, arrived: int) -> tuple[str, Done]:
    """Start again, see how the turn ends, and ask for the next thing; then compare the three accounts.

    ``arrived``: how many pushes had arrived before. Returns how the turn ended, and what the agents of both starts did
    for it.
    """
    again = desk.up()
    ended = desk.agree_until_ended(turn)
    word = f"turn{turn.id}"
    following = desk.ask(f"@claude remember the word {word}")
    assert desk.agree_until_ended(following) == "done"
    assert desk.machine.stop() == 0
    until(lambda: not desk.left_behind(), what="the end of every process of the daemon that was killed")

    entries = desk.live.entries(desk.kitchen)
    shown = Shown.read(entries, turn.id)
    same(entries, desk.journal, turn.id)
    same(entries, desk.journal, following.id)
    assert Shown.read(entries, following.id).words == f"I shall remember: {word}.".split()

    before, after = Done.read(killed), Done.read(again)
    assert after.words[-4:] == f"I shall remember: {word}.".split()
    after = Done(after.words[:-4], after.acts, after.begun)
    assert not (before.words and after.words), "it ran twice"
    did = Done(before.words + after.words, before.acts + after.acts, before.begun + after.begun)
    assert begins(did.words, shown.words), (did.words, shown.words)
    assert len(shown.done) <= len(did.acts)
    # The agent may work on for a moment when nobody listens any more; what wants a yes, it doesn't do without one.
    allowed = {question.subject for question in desk.live.stored.questions(turn.id) if question.verdict == "once"}
    for subject, command in ASKED.items():
        assert did.begun.count(command) <= (subject in allowed), command
    assert len(desk.arrivals()) - arrived <= ("push" in allowed), "what arrived was allowed, and arrived once"
    assert shown.states.count(ended) == 1
    if ended == "done":
        assert shown.words == did.words
        assert len(shown.done) == len(did.acts)
        assert shown.pictures == ["sales.png"]
        assert allowed == set(ASKED)
        assert len(desk.arrivals()) == arrived + 1
    return ended, did


@pytest.mark.parametrize("at", BEFORE_IT_RUNS)
def test_killed_before_it_began_it_runs_once_after_the_restart(desk: Desk, at: str) -> None:
    killed = desk.up(at)
    arrived, turn = len(desk.arrivals()), desk.ask()
    desk.agree_until_dead(turn)
    assert not Done.read(killed).words
    ended, did = settle(desk, turn, killed, arrived)
    assert ended == "done"
    assert did.acts.count("write") == 2


@pytest.mark.parametrize("at", IN_MID_TURN)
def test_killed_in_mid_turn_it_ends_interrupted_and_never_runs_again(desk: Desk, at: str) -> None:
    killed = desk.up(at)
    arrived, turn = len(desk.arrivals()), desk.ask()
    desk.agree_until_dead(turn)
    ended, _ = settle(desk, turn, killed, arrived)
    assert ended == "interrupted"
    assert "not known" in next(found.note for found in desk.live.turns(desk.kitchen) if found.id == turn.id)


@pytest.mark.parametrize("at", NEAR_THE_END)
def test_killed_after_its_end_was_written_it_is_done(desk: Desk, at: str) -> None:
    killed = desk.up(at)
    arrived, turn = len(desk.arrivals()), desk.ask()
    desk.agree_until_dead(turn)
    ended, _ = settle(desk, turn, killed, arrived)
    assert ended == "done"


@pytest.mark.parametrize("at", EITHER)
def test_killed_while_a_file_goes_up_it_is_known_or_interrupted(desk: Desk, at: str) -> None:
    killed = desk.up(at)
    arrived, turn = len(desk.arrivals()), desk.ask()
    desk.agree_until_dead(turn)
    ended, _ = settle(desk, turn, killed, arrived)
    assert ended in {"interrupted", "done"}


@pytest.mark.parametrize("number", range(3))
def test_killed_at_a_random_instant_with_everything_below_it(desk: Desk, number: int) -> None:
    dice = random.Random(SEED + number)
    killed = desk.up()
    arrived, turn = len(desk.arrivals()), desk.ask()
    until(lambda: desk.status(turn) == "running", seconds=30)
    desk.agree_until(turn, time.monotonic() + dice.uniform(0, 4))
    desk.machine.kill()
    ended, _ = settle(desk, turn, killed, arrived)
    assert ended in {"interrupted", "done"}
