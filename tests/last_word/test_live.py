"""Two browsers at once, and what somebody who was removed still gets: over HTTP, on the real server."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import httpx
import pytest

from tests.live import HandMachine, Live, Person
from tests.live.waiting import until

pytestmark = pytest.mark.timeout(600)
ROUNDS = 200


@dataclass
class House:
    live: Live
    alice: Person
    bob: Person
    dana: Person
    kitchen: int
    laptop: HandMachine
    desk: HandMachine


@pytest.fixture(scope="module")
def house(live: Live) -> Iterator[House]:
    """alice owns the kitchen and claude, dana brought gemini, bob asks; their machines are in our hands."""
    alice, bob, dana = (live.person(name) for name in ("alice", "bob", "dana"))
    kitchen = alice.make_room("kitchen")
    for person in (bob, dana):
        person.join(alice.invite(kitchen))
    laptop, desk = HandMachine(alice, "laptop"), HandMachine(dana, "desk")
    for owner, machine, handle in ((alice, laptop, "claude"), (dana, desk, "gemini")):
        made = machine.client.post(
            "/api/machine/agents", json={"handle": handle, "runtime": "demo", "workdir": "/tmp/kitchen"}
        )
        assert made.status_code == 201, made.text
        owner.seat_agent(kitchen, handle)
    try:
        yield House(live, alice, bob, dana, kitchen, laptop, desk)
    finally:
        laptop.close()
        desk.close()


def start_question(house: House, number: int) -> tuple[int, str]:
    """The open question to start the ``number``th turn of the kitchen: its id and the digest of what it asks."""
    turn = house.live.turn(house.kitchen, number)
    [(pk, digest)] = house.live.stored.rows(
        "SELECT id, action_digest FROM approvals_approval WHERE turn_id = ? AND subject = ?", turn.id, "start"
    )
    return int(pk), str(digest)


def test_of_two_answers_at_once_one_is_the_decision_and_the_other_reads_whose(house: House) -> None:
    """alice and her deputy press at the same moment, two hundred times."""
    house.alice.press("/deputy/", "Name a deputy", {"handle": "dana", "days": "1"})
    before = len(house.live.turns(house.kitchen))
    for number in range(ROUNDS):
        house.bob.ask(house.kitchen, f"@claude question {number}")
    questions = [start_question(house, before + number) for number in range(1, ROUNDS + 1)]
    together = threading.Barrier(2)
    decided: dict[int, list[tuple[str, int, str]]] = {pk: [] for pk, _ in questions}

    def press(person: Person, flip: int) -> None:
        csrf = person.client.cookies["csrftoken"]
        for round_, (pk, digest) in enumerate(questions):
            verdict = "once" if (round_ + flip) % 2 else "no"
            together.wait(60)
            answer = person.client.post(
                f"/questions/{pk}/answer/",
                data={"csrfmiddlewaretoken": csrf, "verdict": verdict, "digest": digest},
                headers={"Referer": f"{person.url}/", "Origin": person.url, "X-Requested-With": "fetch"},
            )
            decided[pk].append((person.handle, answer.status_code, answer.text))

    with ThreadPoolExecutor(2) as pool:
        for done in [pool.submit(press, house.alice, 0), pool.submit(press, house.dana, 1)]:
            done.result()

    for pk, answers in decided.items():
        [(winner, _, _)] = [one for one in answers if one[1] == 200]
        [(_, status, words)] = [one for one in answers if one[1] != 200]
        assert status == 409, words
        assert f"{winner} was first" in words
        rows = house.live.stored.rows(
            "SELECT u.username FROM approvals_approval a JOIN rooms_user u ON u.id = a.decided_by_id WHERE a.id = ?", pk
        )
        assert [row[0] for row in rows] == [winner]
    told = [entry for entry in house.live.entries(house.kitchen, "approval") if entry.data["state"] in ("once", "no")]
    assert len(told) == ROUNDS
    house.alice.press("/deputy/", "End it now")


@pytest.mark.alone
def test_who_was_removed_gets_nothing_more_within_a_second(house: House) -> None:
    """dana's open page ends, her machine loses what it was offered, the room's file is no longer there for her."""
    house.bob.ask(house.kitchen, "see this", files=[("recipe.txt", b"eggs", "text/plain")])
    [(attachment,)] = house.live.stored.rows("SELECT id FROM messaging_attachment WHERE name = ?", "recipe.txt")
    path = f"/rooms/{house.kitchen}/files/{attachment}/recipe.txt"
    assert house.dana.client.get(path).status_code == 200

    desk = house.desk
    hello = desk.sync(epoch=None)
    epoch = hello.json()["epoch"]
    [(gemini,)] = house.live.stored.rows("SELECT id FROM rooms_agent WHERE handle = ?", "gemini")
    house.dana.ask(house.kitchen, "@gemini look")
    report = {"epoch": epoch, "ready": [int(gemini)], "slots": 1}
    [offer] = until(lambda: desk.sync(**report).json()["offers"], what="the offer for gemini")

    [(seat,)] = house.live.stored.rows(
        "SELECT m.id FROM rooms_member m JOIN rooms_user u ON u.id = m.user_id WHERE m.room_id = ? AND u.username = ?",
        house.kitchen,
        "dana",
    )
    with house.dana.watch(house.kitchen) as watch, ThreadPoolExecutor(1) as pool:
        watch.until("see this")
        held = pool.submit(desk.sync, **report | {"offers": [offer["turn_id"]], "slots": 0, "wait": 20})
        answer = house.alice.post(f"/members/{seat}/remove/")
        removed_at = time.monotonic()
        assert answer.status == 200
        assert house.dana.client.get(path).status_code == 404
        until(lambda: watch.frame(seconds=1) and watch.gone, seconds=1, what="the end of dana's page")
        reply: httpx.Response = held.result(timeout=max(0.05, removed_at + 1 - time.monotonic()))
    assert reply.json()["withdrawn"] == [offer["turn_id"]]
    assert reply.json()["offers"] == []

    seen = len(watch.parts)
    house.bob.ask(house.kitchen, "she is gone")
    assert len(watch.parts) == seen
    for gone in (f"/rooms/{house.kitchen}/", f"/rooms/{house.kitchen}/people/", path):
        house.dana.get(gone, status=404)
    start = desk.client.post(
        f"/api/machine/turns/{offer['turn_id']}/start",
        json={"claim_id": offer["claim_id"], "journal_id": f"journal-{desk.id}", "epoch": epoch},
    )
    assert start.status_code == 409
