"""Twenty SIGKILLs of the server, all its processes at once, while a turn runs."""

from __future__ import annotations

import random
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.kills.accounts import Done, Shown, lines, same
from tests.kills.desk import ENDED, Desk
from tests.live import Live

pytestmark = [pytest.mark.kills, pytest.mark.timeout(240)]
SEED = 20261130


@dataclass
class Running:
    desk: Desk
    did: Path


@pytest.fixture(scope="module")
def running(live: Live) -> Iterator[Running]:
    desk = Desk.set_up(live)
    yield Running(desk, desk.up())
    desk.machine.close()


@pytest.mark.parametrize("number", range(20))
def test_the_room_shows_what_was_done_each_thing_once(running: Running, number: int) -> None:
    desk = running.desk
    earlier = len(lines(running.did))
    turn = desk.ask()
    # A turn takes about five seconds; the first kills fall near its beginning, the last near its end.
    desk.agree_until(turn, time.monotonic() + random.Random(SEED + number).uniform(0, 0.3 * number))
    desk.live.kill()
    desk.live.serve()
    assert desk.agree_until_ended(turn) == "done"

    entries = desk.live.entries(desk.kitchen)
    shown, did = Shown.read(entries, turn.id), Done.read(running.did, after=earlier)
    same(entries, desk.journal, turn.id)
    assert shown.words == did.words
    assert len(shown.done) == len(shown.begun) == len(did.acts)
    assert shown.pictures == ["sales.png"]
    assert [state for state in shown.states if state in ENDED] == ["done"]
    assert [entry.seq for entry in entries] == list(range(1, len(entries) + 1))
    page = desk.alice.room(desk.kitchen)
    assert page.text.count("done in") >= 1
