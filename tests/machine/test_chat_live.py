"""``agentroom read``, ``send`` and ``wait`` as processes, with the whole product on the other side."""

from __future__ import annotations

import json
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.live import Live, Machine, Person, until
from tests.live.processes import Process


class Home(NamedTuple):
    alice: Person
    machine: Machine

    def send(self, body: str, *options: str) -> int:
        return int(self.machine.cli_json("send", body, *options)["number"])

    def start(self, *args: str, name: str) -> Process:
        return Process(
            [*self.machine.program, *args], env=self.machine.environment, log=self.machine.folder / name,
            cwd=self.machine.folder,
        )  # fmt: skip


@pytest.fixture(scope="module")
def home(live: Live) -> Home:
    alice = live.person("alice")
    machine = live.machine()
    machine.pair(alice)
    return Home(alice, machine)


@pytest.fixture
def follower(home: Home) -> Iterator[Process]:
    """One that has printed what was there."""
    number = home.send("hello")
    reader = home.start("read", "--follow", "--json", name=f"followed-{number}")
    until(lambda: "hello" in reader.said(), what=reader.said)
    yield reader
    reader.kill()


def ends(reader: Process, *, within: float = 20) -> int | None:
    until(lambda: not reader.alive, seconds=within, what=lambda: f"the reader's end\n{reader.said()}")
    return reader.returncode


def test_what_one_sends_another_one_that_follows_gets_at_once(home: Home, follower: Process) -> None:
    number = home.send("The oven is free.", "--topic", "oven", "--session", "baker")
    until(lambda: "The oven is free." in follower.said(), seconds=5)
    told = json.loads(follower.said().splitlines()[-1])
    assert (told["number"], told["topic"], told["session"], told["account"]) == (number, "oven", "baker", "alice")


def test_what_the_owner_writes_in_the_browser_arrives(home: Home, follower: Process) -> None:
    home.alice.post("/chat/messages/", {"body": "Stop baking.", "client_id": "by-hand"})
    until(lambda: "Stop baking." in follower.said(), seconds=5, what=follower.said)
    assert json.loads(follower.said().splitlines()[-1])["by_owner"]


def test_control_c_ends_following_with_130_and_without_a_word(follower: Process) -> None:
    before = follower.said()
    assert follower.end(signal.SIGINT) == 130
    assert follower.said().strip() == before.strip()


@pytest.mark.parametrize("command", ["read --follow", "read"])
def test_who_reads_no_further_is_not_written_to_and_nothing_is_said(home: Home, command: str) -> None:
    home.send("one\n" * 5000)
    home.send("two")
    program = " ".join(home.machine.program)
    began = time.monotonic()
    done = subprocess.run(
        ["bash", "-c", f"{program} {command} | head -1; echo ${{PIPESTATUS[0]}}"],
        env=home.machine.environment, cwd=home.machine.folder, capture_output=True, text=True, timeout=60, check=True,
    )  # fmt: skip
    assert time.monotonic() - began < 15, "also when nothing more comes"
    assert done.stderr == ""
    assert done.stdout.splitlines()[-1] == "0"


def test_a_full_disk_is_said_and_keeps_no_place(home: Home) -> None:
    home.send("x")
    environment = home.machine.environment | {"AGENTROOM_SESSION": "full"}
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [*home.machine.program, "read", "--resume"], env=environment, cwd=home.machine.folder, stdout=full,
            stderr=subprocess.PIPE, text=True, timeout=60, check=False,
        )  # fmt: skip
    assert done.returncode != 0
    assert "No space left" in done.stderr
    again = subprocess.run(
        [*home.machine.program, "read", "--resume", "--json"], env=environment, cwd=home.machine.folder,
        capture_output=True, text=True, timeout=60, check=True,
    )  # fmt: skip
    assert json.loads(again.stdout.splitlines()[0])["number"] == 1


def test_a_terminal_of_another_alphabet_gets_what_it_can_show(home: Home) -> None:
    number = home.send("é 😀")
    environment = home.machine.environment | {"PYTHONIOENCODING": "latin-1"}
    done = subprocess.run(
        [*home.machine.program, "read", "--after", str(number - 1)], env=environment, cwd=home.machine.folder,
        capture_output=True, timeout=60, check=True,
    )  # fmt: skip
    assert b"\xe9 \\U0001f600" in done.stdout


def test_waiting_ends_with_the_answer_and_not_with_ones_own_words(home: Home) -> None:
    number = home.send("Who bakes?", "--session", "asker")
    waiting = home.start(
        "wait", "--after", str(number), "--skip-session", "asker", "--json", "--timeout", "60", name="waited"
    )
    home.send("Anybody?", "--session", "asker")
    answer = home.send("I do.", "--reply-to", str(number), "--session", "baker")
    assert ends(waiting) == 0
    assert [json.loads(line)["number"] for line in waiting.said().splitlines()] == [answer]
    assert home.machine.cli("wait", "--after", str(answer), "--timeout", "0.2", code=7).stdout == ""


def test_switched_off_in_the_browser_ends_it_with_words(home: Home, follower: Process) -> None:
    home.alice.press("/chat/settings/", "Switch agent chat off")
    try:
        assert ends(follower) == 6
        assert "switched the agents' chat off" in follower.said()
        for command in (("read",), ("wait",), ("send", "x")):
            assert "browser" in home.machine.cli(*command, code=6).stderr
    finally:
        home.alice.press("/chat/settings/", "Allow agent chat")
    assert "hello" in home.machine.cli("read").stdout, "what was there is there again"


def test_a_machine_that_is_revoked_hears_no_more(live: Live, home: Home) -> None:
    other = live.machine("desktop")
    other.pair(home.alice, name="desktop")
    reader = Process(
        [*other.program, "read", "--follow"], env=other.environment, log=other.folder / "followed", cwd=other.folder
    )
    try:
        until(lambda: "hello" in reader.said(), what=reader.said)
        [(machine_id,)] = live.stored.rows("SELECT id FROM rooms_machine WHERE name = ?", "desktop")
        home.alice.post(f"/machines/{machine_id}/revoke/")
        assert ends(reader) == 4
        assert f"agentroom login {live.url}" in reader.said()
        assert other.cli("send", "x", code=4).stdout == ""
    finally:
        reader.kill()
