"""What the account chat promises, sentence by sentence, by each way that a program has: tools, REST, command line."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

import pytest

from tests.chat.ways import CommandLine, Page, Rest, Shut, Tools, Way
from tests.live import Live, Machine, Person
from tests.mcp.peers import account_token

pytestmark = pytest.mark.timeout(240)
SETTINGS = "/chat/settings/"


@dataclass
class House:
    live: Live
    alice: Person
    dana: Person
    machine: Machine
    tokens: dict[str, str]
    """Of two programs of alice's, *front* and *back*, and one of dana's."""

    def way(self, name: str) -> Way:
        match name:
            case "tools":
                return Tools(self.live, self.tokens["front"])
            case "rest":
                return Rest(self.live, self.tokens["front"])
            case _:
                return CommandLine(self.machine)

    @property
    def other(self) -> Rest:
        """Another program of the same account."""
        return Rest(self.live, self.tokens["back"])

    @property
    def danas(self) -> Rest:
        return Rest(self.live, self.tokens["dana"])

    def last(self) -> int:
        return self.other.read(2**40).latest_seq

    def switch(self, *, on: bool) -> None:
        self.alice.press(SETTINGS, "Allow agent chat" if on else "Switch agent chat off")


@pytest.fixture(scope="module")
def house(live: Live) -> House:
    alice = live.person("alice")
    dana = live.person("dana")
    machine = live.machine()
    machine.pair(alice)
    tokens = {"front": account_token(alice), "back": account_token(alice), "dana": account_token(dana)}
    return House(live, alice, dana, machine, tokens)


@pytest.fixture(params=["tools", "rest", "command line"])
def way(request: pytest.FixtureRequest, house: House) -> Way:
    return house.way(request.param)


def meanwhile[T](act: Callable[[], T], other: Callable[[], Any]) -> T:
    """What ``act`` returns, while ``other`` happens a moment after it began."""
    later = threading.Timer(1.0, other)
    later.start()
    try:
        return act()
    finally:
        later.join()


# --- F1


def test_f1_all_programs_of_an_account_share_one_chat_and_no_other_account_does(house: House, way: Way) -> None:
    start, others = house.last(), house.danas.read(2**40).latest_seq
    mine, theirs = way.send("from one"), house.other.send("from another")
    assert way.read(start).messages == [mine, theirs]
    assert house.danas.read(others).messages == []
    danas = house.danas.send("dana's own")
    assert house.danas.read(others).messages == [danas]
    assert way.read(start).messages == [mine, theirs]


def test_f1_messages_and_answers_are_stored_in_order(house: House, way: Way) -> None:
    start = house.last()
    asked = house.other.send("Who bakes?")
    answer = way.send("I do.", reply_to=asked["number"])
    thanks = house.other.send("Thanks.")
    assert way.read(start).messages == [asked, answer, thanks]
    assert answer["parent"] == asked["number"] < answer["number"] < thanks["number"]


# --- F2


def test_f2_each_message_records_account_session_and_connection(house: House, way: Way) -> None:
    sent = way.send("hello", session="night shift")
    assert (sent["account"], sent["session"], sent["by_owner"]) == ("alice", "night shift", False)
    hashes = "SELECT token_hash FROM rooms_connection WHERE token_hash LIKE ?"
    found = house.live.stored.rows(hashes, sent["connection"] + "%")
    assert len(sent["connection"]) == 8
    assert len(found) == 1, "it is how the stored hash of its token begins"
    if way.name != "command line":
        assert found[0][0] == hashlib.sha256(house.tokens["front"].encode()).hexdigest()


def test_f2_sessions_on_one_connection_share_it_and_a_name_proves_nothing(house: House, way: Way) -> None:
    one, two = way.send("a", session="front"), way.send("b", session="alice")
    other = house.other.send("c", session="front")
    assert one["connection"] == two["connection"] != other["connection"]
    assert (two["session"], two["by_owner"], other["session"]) == ("alice", False, "front")


# --- F4


def off(act: Callable[[], Any]) -> None:
    """It is told that the owner switched the chat off, and nothing else."""
    try:
        waited = act()
    except Shut as told:
        words = str(told)
    else:
        assert isinstance(waited, Page)
        assert waited.messages == []
        words = waited.reason
    assert "switched the agents' chat off" in words or words == "switched_off"


def test_f4_off_programs_neither_send_read_nor_wait_and_on_again_all_is_there(house: House, way: Way) -> None:
    before = house.other.send("before")
    house.switch(on=False)
    try:
        for act in (lambda: way.send("x"), way.read, lambda: way.wait(0, 5)):
            off(act)
    finally:
        house.switch(on=True)
    assert way.read(before["number"] - 1).messages == [before]


def test_f4_a_wait_under_way_ends_when_it_is_switched_off(house: House, way: Way) -> None:
    start = house.last()
    try:
        off(lambda: meanwhile(lambda: way.wait(start, 20), lambda: house.switch(on=False)))
    finally:
        house.switch(on=True)


# --- F5


@pytest.mark.parametrize("topic", ["a", "0", "build/linux.x86_64-2", "a" * 100])
def test_f5_a_topic_is_plain(way: Way, topic: str) -> None:
    assert way.send("x", topic=topic)["topic"] == topic


@pytest.mark.parametrize("topic", [".a", "-a", "/a", "A", "a b", "ä", "a" * 101])
def test_f5_anything_else_is_refused_and_stored_nowhere(house: House, way: Way, topic: str) -> None:
    start = house.last()
    with pytest.raises(Shut):
        way.send("x", topic=topic)
    assert house.last() == start


def test_f5_no_topic_is_general_and_an_answer_keeps_its_parents(house: House, way: Way) -> None:
    assert way.send("x")["topic"] == "general"
    parent = house.other.send("x", topic="oven")["number"]
    assert way.send("y", reply_to=parent)["topic"] == "oven"
    with pytest.raises(Shut, match="keeps the topic of what it answers: oven"):
        way.send("y", reply_to=parent, topic="general")


# --- F6


def test_f6_reading_begins_with_the_first_and_goes_on_behind_a_number(house: House, way: Way) -> None:
    sent = [house.other.send(f"{n}") for n in range(4)]
    assert way.read(0, 1).messages[0]["number"] == house.other.read(0, 1).messages[0]["number"]
    assert way.read(sent[0]["number"], 2).messages == sent[1:3]


def test_f6_topics_and_exact_sessions_are_left_out_and_stay_stored(house: House, way: Way) -> None:
    start = house.last()
    house.other.send("noise", topic="builds")
    way.send("mine", session="me")
    house.other.send("close", session="me2")
    wanted = house.other.send("wanted")
    assert way.read(start, 100, ["builds"], ["me"]).bodies == ["close", "wanted"]
    assert way.read(start, 100, ["builds"], ["me", "me2"]).messages == [wanted]
    assert way.read(start).bodies == ["noise", "mine", "close", "wanted"]


def test_f6_waiting_ends_with_a_message_and_ones_own_words_do_not_wake(house: House, way: Way) -> None:
    start = house.last()

    def others() -> None:
        house.other.send("mine", session="me")
        house.other.send("noise", topic="builds")
        house.other.send("for you")

    waited = meanwhile(lambda: way.wait(start, 20, ["builds"], ["me"]), others)
    assert (waited.bodies, waited.reason) == (["for you"], "messages")


def test_f6_a_wait_is_bounded(house: House, way: Way) -> None:
    waited = way.wait(house.last(), 0.5)
    assert (waited.messages, waited.reason) == ([], "timeout")
    if way.name != "command line":  # which waits again by itself
        for seconds in (50.5, 0, -1):
            with pytest.raises(Shut):
                way.wait(house.last(), seconds)


# --- F7


@pytest.mark.parametrize("name", ["tools", "rest"])
def test_f7_a_filtered_cursor_neither_loops_nor_skips(house: House, name: str) -> None:
    way, cursor = house.way(name), house.last()
    wanted = []
    for n in range(9):
        house.other.send(f"noise {n}", topic="builds")
        wanted.append(house.other.send(f"wanted {n}")["number"])
    got: list[int] = []
    pages = 0
    while True:
        page = way.read(cursor, 2, ["builds"])
        assert page.cursor > cursor
        assert page.latest_seq == wanted[-1]
        assert page.has_more == (page.cursor < page.latest_seq)
        got += [message["number"] for message in page.messages]
        cursor, pages = page.cursor, pages + 1
        if not page.has_more:
            break
    assert (got, pages) == (wanted, 5)
    assert way.wait(cursor, 0.3, ["builds"]).cursor == cursor


@pytest.mark.parametrize("name", ["tools", "rest"])
def test_f7_a_wait_that_left_everything_out_has_passed_it(house: House, name: str) -> None:
    way, start = house.way(name), house.last()
    noise = house.other.send("noise", topic="builds")["number"]
    waited = way.wait(start, 0.5, ["builds"])
    assert (waited.messages, waited.reason, waited.cursor) == ([], "timeout", noise)


# --- F9


@pytest.mark.parametrize("name", ["tools", "rest"])
def test_f9_there_is_no_way_to_attach_a_file(house: House, name: str) -> None:
    if name == "tools":
        tools = Tools(house.live, house.tokens["front"])
        with pytest.raises(Shut):
            tools._call("chat_send", body=["not", "text"])
        before = house.live.stored.rows("SELECT count(*) FROM messaging_attachment")
        tools._call("chat_send", body="x", files=["oven.png"])
        assert house.live.stored.rows("SELECT count(*) FROM messaging_attachment") == before
    else:
        with pytest.raises(Shut):
            Rest(house.live, house.tokens["front"])._call("POST", "messages", json={"body": "x", "files": ["a"]})


# --- keys, numbers, clean-up


def test_the_same_key_is_stored_once_and_with_other_words_refused(house: House, way: Way) -> None:
    key = f"key-{way.name.replace(' ', '-')}"
    first = way.send("once", key=key)
    assert way.send("once", key=key) == first
    with pytest.raises(Shut):
        way.send("twice", key=key)
    assert house.last() == first["number"]


def test_f3_a_message_older_than_the_limit_goes_its_answer_stays_and_numbers_go_on(house: House, way: Way) -> None:
    parent = house.other.send("old", topic="oven")
    answer = way.send("young", reply_to=parent["number"])
    before = way.read(parent["number"] - 1, 1)
    # In the instant in which the answer is fourteen days old, it is not older than that; all before it is.
    house.live.manage("cleanup", at=datetime.fromisoformat(answer["at"]) + timedelta(days=14))
    [left] = way.read(0, 1).messages
    assert left == answer | {"parent_removed": True}
    assert way.read(before.cursor).messages == [left], "a cursor stays valid"
    assert way.send("next")["number"] == answer["number"] + 1
    with pytest.raises(Shut, match="not any more"):
        way.send("too late", reply_to=parent["number"])
