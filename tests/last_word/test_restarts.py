"""A question waits while web, worker and daemon are restarted, in each combination: it works on, or shows its end.

The roles are those of the stack: with Redis there is a worker (Celery's, and its beat); without, its work is done by a
thread of the web process, which dies and comes back with it.
"""

from __future__ import annotations

import itertools
import os
import signal
from collections.abc import Iterator

import pytest

from tests.last_word.house import House, set_back
from tests.last_word.relay import Relay, Way
from tests.live import Live, Page, Person, StoredTurn, until
from tests.live.stored import StoredQuestion

pytestmark = [pytest.mark.kills, pytest.mark.timeout(400)]

ROLES = ["web", "worker", "daemon"] if os.environ.get("REDIS_URL") else ["web", "daemon"]
COMBINATIONS = [roles for count in range(1, len(ROLES) + 1) for roles in itertools.combinations(ROLES, count)]
SIGNALS = {"killed": signal.SIGKILL, "asked to end": signal.SIGTERM}
ENDS = {"killed": "interrupted", "asked to end": "stopped"}
"""How a turn ends whose daemon went: one that is asked to has the time to say that it stopped what ran."""


@pytest.fixture(scope="module")
def house(live: Live) -> Iterator[House]:
    house = House.set_up(live)
    yield house
    house.machine.close()


@pytest.mark.parametrize("how", SIGNALS)
@pytest.mark.parametrize("roles", COMBINATIONS, ids="+".join)
def test_a_waiting_question_works_after_a_restart_or_shows_its_end(
    house: House, roles: tuple[str, ...], how: str
) -> None:
    house.up()
    turn, question = house.ask_for_deletion()
    following = house.ask(house.bob, f"remember the word {'-'.join(roles)}")
    start = house.open_question(following)
    old, old_start = (house.alice.get(f"/questions/{asked.id}/") for asked in (question, start))
    assert house.shown_as_open(house.alice, turn, question)

    house.restart(roles, SIGNALS[how])

    alice = house.fresh("alice")
    if "daemon" in roles:
        shows_its_end(house, alice, turn, question, old, ENDS[how])
    else:
        goes_on_once(house, alice, turn, question, old)

    # The next request was asked for before the restart, on a page from before it.
    assert house.shown_as_open(alice, following, start)
    send(house.alice, old_start, start)
    assert house.live.until_turn(following.id, "done", "failed", "interrupted") == "done"
    said = [e.body for e in house.live.entries(house.kitchen, "text") if e.data.get("turn") == following.id]
    assert "".join(said).split() == f"I shall remember: {'-'.join(roles)}.".split()
    house.same(turn)
    house.same(following)
    lapses(house, alice)
    assert house.machine.stop() == 0


def goes_on_once(house: House, alice: Person, turn: StoredTurn, question: StoredQuestion, old: Page) -> None:
    assert house.status(turn) == "running"
    assert house.shown_as_open(alice, turn, question)
    assert not house.done.exists()
    alice.answer(question.id, {"verdict": "once"})
    assert house.live.until_turn(turn.id, "done", "failed", "interrupted") == "done"
    assert house.done.read_text() == "deleted\n"
    assert not house.shown_as_open(alice, turn, question)
    assert "alice was first: approved." in send(house.alice, old, question, status=409)
    assert house.done.read_text() == "deleted\n"


def shows_its_end(house: House, alice: Person, turn: StoredTurn, question: StoredQuestion, old: Page, end: str) -> None:
    assert house.live.until_turn(turn.id, "done", "failed", "interrupted", "stopped") == end
    assert house.verdict(question) == "gone"
    for person in (alice, house.alice):
        assert not house.shown_as_open(person, turn, question)
        shown = person.get(f"/questions/{question.id}/")
        assert f"It no longer waits: the work was {end}." in shown
    told = send(house.alice, old, question, status=409)
    assert f"It no longer waits: the work was {end}." in told
    assert not [form for form in told.forms if "/questions/" in form.action]
    by_script = house.alice.client.post(
        f"/questions/{question.id}/answer/",
        data=form_of(old, question) | {"csrfmiddlewaretoken": house.alice.client.cookies["csrftoken"]},
        headers={"X-Requested-With": "fetch", "Origin": house.alice.url, "Referer": old.url},
    )
    assert (by_script.status_code, by_script.json()["detail"]) == (409, f"It no longer waits: the work was {end}.")
    assert house.verdict(question) == "gone"
    assert not house.done.exists()
    room = alice.room(house.kitchen)
    assert end in room.text
    if end == "interrupted":
        assert "not known" in room


def lapses(house: House, alice: Person) -> None:
    """What is done in the background goes on, too: a question whose time is over ends by itself."""
    turn = house.ask(house.bob, "draw a picture")
    question = house.open_question(turn)
    assert house.shown_as_open(alice, turn, question)
    set_back(house.live, "UPDATE approvals_approval SET expires_at = {ago} WHERE id = ?", question.id)
    until(lambda: house.verdict(question) == "lapsed", seconds=30, what="the question's lapsing")
    assert not house.shown_as_open(alice, turn, question)
    assert house.status(turn) == "refused"


def form_of(page: Page, question: StoredQuestion) -> dict[str, str]:
    form, _ = page.form_to(f"/questions/{question.id}/answer/")
    return form.fields | {"verdict": "once"}


def send(person: Person, page: Page, question: StoredQuestion, *, status: int = 200) -> Page:
    """Approve on a page that may be an old one, without loading it again."""
    path = f"/questions/{question.id}/answer/"
    return person.post(path, form_of(page, question), status=status, referer=page.url)


# --- answered while the daemon is away


def test_an_approved_deletion_of_a_dead_daemon_is_kept_as_decided_and_done_by_nobody(house: House) -> None:
    house.up()
    turn, question = house.ask_for_deletion()
    following = house.ask(house.bob, "remember the word meanwhile")
    start = house.open_question(following)
    house.end_daemon()

    alice = house.fresh("alice")
    assert house.shown_as_open(alice, turn, question)
    assert house.shown_as_open(alice, following, start)
    for asked in (question, start):
        alice.answer(asked.id, {"verdict": "once"})
    assert (house.verdict(question), house.status(turn)) == ("once", "running")
    assert house.status(following) == "queued"
    recorded_for_later(house, alice, turn)

    house.machine.up()
    assert house.live.until_turn(turn.id, "done", "failed", "interrupted") == "interrupted"
    assert house.live.until_turn(following.id, "done", "failed", "interrupted") == "done"
    assert not house.done.exists()
    shown = alice.get(f"/questions/{question.id}/")
    assert "You approved it. The work was interrupted; what it did last is not known." in shown
    assert "You approved it." in alice.get(f"/questions/{start.id}/")
    assert [e.data["state"] for e in house.live.entries(house.kitchen, "turn") if e.data["turn"] == following.id] == [
        "asked", "queued", "running", "done",
    ]  # fmt: skip
    house.same(turn)
    house.same(following)
    assert house.machine.stop() == 0


def recorded_for_later(house: House, alice: Person, turn: StoredTurn) -> None:
    """Once its machine has been silent for long enough, the room says so of both."""
    set_back(house.live, "UPDATE rooms_machine SET last_seen_at = {ago} WHERE id > ?", 0)
    assert "laptop is offline" in alice.controls(turn.id)
    for page in (alice.controls(turn.id), alice.room(house.kitchen)):
        assert "The answer is recorded, waiting for the machine." in page


@pytest.fixture(scope="module")
def relay(live: Live) -> Iterator[Relay]:
    relay = Relay(live.port)
    yield relay
    relay.close()


@pytest.fixture(scope="module")
def far(live: Live, relay: Relay) -> Iterator[House]:
    """dana's machine, which can be cut off from its server."""
    far = House.set_up(live, owner="dana", url=relay.url)
    far.up()
    yield far
    far.machine.close()


@pytest.mark.parametrize("verdict", ["once", "no"])
@pytest.mark.parametrize("way", ["refused", "silent"])
def test_an_answer_while_the_connection_is_cut_is_recorded_and_applied_once(
    far: House, relay: Relay, way: Way, verdict: str
) -> None:
    turn, question = far.ask_for_deletion()
    relay.cut(way)
    dana = far.fresh("dana")
    assert far.shown_as_open(dana, turn, question)
    dana.answer(question.id, {"verdict": verdict})
    assert (far.verdict(question), far.status(turn)) == (verdict, "running")
    assert not far.done.exists()
    recorded_for_later(far, dana, turn)
    relay.mend()

    assert far.live.until_turn(turn.id, "done", "failed", "interrupted", seconds=60) == "done"
    assert (far.done.read_text() if far.done.exists() else "") == ("deleted\n" if verdict == "once" else "")
    far.same(turn)
    assert not far.shown_as_open(dana, turn, question)
    following = far.ask(far.alice, "remember the word after")
    assert far.live.until_turn(following.id, "done", "failed", "interrupted") == "done"


def test_an_answer_while_both_the_server_and_the_connection_come_back_is_applied_once(far: House, relay: Relay) -> None:
    """The answer is given to a web process that dies before the machine has heard of it."""
    turn, question = far.ask_for_deletion()
    relay.cut("silent")
    far.alice.answer(question.id, {"verdict": "once"})
    far.restart(["web"], signal.SIGKILL)
    assert (far.verdict(question), far.status(turn)) == ("once", "running")
    relay.mend()
    assert far.live.until_turn(turn.id, "done", "failed", "interrupted", seconds=60) == "done"
    assert far.done.read_text() == "deleted\n"
    far.same(turn)
