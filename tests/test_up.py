"""bin/up, as somebody calls it who has just cloned: in a data folder of its own, with an empty home."""

from __future__ import annotations

import json
import re
import signal
import socket
import stat
import subprocess
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import httpx
import psutil
import pytest

from tests.live import Person, until
from tests.live.processes import ROOT, Process, surroundings
from tests.live.stack import Stack
from tests.live.stored import Stored
from tests.ports import free_port

PASSWORD = "correct horse battery"


class Up:
    """One folder in which bin/up can be started again and again."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.data = folder / "data"
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self.stack = Stack.fresh(empty=True)
        self.started: list[Process] = []
        self.browsers: list[Person] = []

    def start(self, *args: str) -> Process:
        process = Process(
            [str(ROOT / "bin/up"), "--port", str(self.port), "--data", str(self.data), *args],
            env=surroundings(HOME=str(self.folder), **self.stack.environment),
            log=self.folder / f"up-{len(self.started)}.log",
        )
        self.started.append(process)
        return process

    def ready(self, *args: str, seconds: float = 90) -> Process:
        process = self.start(*args)
        until(lambda: "Ready:" in process.said() or not process.alive, seconds=seconds, what=process.said)
        assert process.alive, process.said()
        return process

    def browser(self) -> Person:
        self.browsers.append(Person(self.url, Stored(self.data, self.stack.database_url)))
        return self.browsers[-1]


@pytest.fixture
def up(tmp_path: Path) -> Iterator[Up]:
    up = Up(tmp_path)
    yield up
    for browser in up.browsers:
        browser.close()
    for process in up.started:
        if process.alive:
            process.kill()
    up.stack.drop()


@pytest.mark.alone
def test_it_is_ready_within_ten_seconds_and_the_first_link_makes_the_first_owner(up: Up) -> None:
    began = time.monotonic()
    process = up.ready()
    took = time.monotonic() - began
    # Where others work at the same time, what counts is its own work.
    own = sum(sum(program.cpu_times()[:2]) for program in process.tree())
    assert min(took, own) < 10, (took, own)
    assert f"Ready: {up.url}\n" in process.said()
    link = until(lambda: re.search(rf"{up.url}/first/\S+/", process.said()), what=process.said)
    alice = up.browser()
    page = alice.get(link[0])
    form, button = page.form_to(link[0])
    alice.press(page, button.text, {"handle": "alice", "password": PASSWORD}, to=form.action)
    assert alice.get("/admin/").url.endswith("/admin/")
    alice.get(link[0], status=404)
    assert up.browser().get("/").url != alice.get("/").url

    assert process.end() == 0
    again = up.ready()
    assert "/first/" not in again.said()
    assert "/login/" not in alice.get("/").url, "the secret key, and with it every session, outlives a restart"


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_one_signal_ends_all_of_it_within_ten_seconds(up: Up, number: int) -> None:
    process = up.ready()
    tree = process.tree()
    assert len(tree) >= 2
    with socket.create_connection(("127.0.0.1", up.port)):
        assert process.end(number, within=10) == 0
    _, alive = psutil.wait_procs(tree, timeout=1)
    assert not alive
    with pytest.raises(httpx.ConnectError):
        httpx.get(f"{up.url}/healthz", trust_env=False)


def test_nothing_outlives_a_launcher_that_is_killed(up: Up) -> None:
    process = up.ready()
    tree = process.tree()
    process.kill(alone=True)
    _, alive = psutil.wait_procs(tree, timeout=10)
    assert not alive
    up.ready()


def test_a_web_process_that_is_killed_is_started_again(up: Up) -> None:
    process = up.ready()
    [web] = [child for child in process.tree() if "agentroom.web" in child.cmdline()]
    web.kill()
    # The socket stays open in the launcher: whoever calls now waits for the new one.
    assert httpx.get(f"{up.url}/healthz", timeout=20, trust_env=False).status_code == 200
    assert process.alive


def test_a_taken_port_is_said_plainly(up: Up) -> None:
    with socket.create_server(("127.0.0.1", up.port)):
        process = up.start()
        until(lambda: not process.alive, seconds=60)
    assert process.returncode == 1
    assert f"Port {up.port} is taken" in process.said()
    assert "--port" in process.said()
    assert "Traceback" not in process.said()


def test_a_second_server_on_the_same_data_is_refused(up: Up) -> None:
    up.ready()
    up.port = free_port()
    second = up.start()
    until(lambda: not second.alive)
    assert second.returncode == 1
    assert "Another Agentroom already serves from" in second.said()


def test_what_it_keeps_is_its_own(up: Up) -> None:
    up.ready()
    assert stat.S_IMODE(up.data.stat().st_mode) == 0o700
    for path in up.data.rglob("*"):
        assert not stat.S_IMODE(path.stat().st_mode) & 0o077, path
    assert (up.data / "secret-key").read_text()


def test_a_script_that_knows_only_the_data_folder_prints_a_link_that_works(up: Up) -> None:
    up.ready()
    # Called as a file, by whatever Python the system has.
    told = subprocess.run(
        ["./manage.py", "person", "alice", "--json"],
        cwd=ROOT,
        env=surroundings(HOME=str(up.folder), AGENTROOM_DATA=str(up.data), **up.stack.environment),
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    alice = up.browser()
    alice.sign_in(json.loads(told.stdout)["sign_in"])
    assert "alice" in alice.get("/")


def test_it_says_whether_it_lives_and_is_ready(up: Up) -> None:
    up.ready()
    assert httpx.get(f"{up.url}/healthz", trust_env=False).json() == {"alive": True}
    assert httpx.get(f"{up.url}/readyz", trust_env=False).json()["ready"] is True


def test_options_that_do_not_fit_are_refused_with_the_usage(up: Up) -> None:
    process = up.start("--nonsense")
    until(lambda: not process.alive)
    assert process.returncode == 2
    assert "bin/up [--port N] [--data DIR] [--demo]" in process.said()


@pytest.mark.timeout(240)
def test_the_demo_shows_a_finished_turn_and_a_real_question_and_comes_back_as_it_was(up: Up) -> None:
    process = up.ready("--demo")
    until(lambda: "/rooms/" in process.said() or not process.alive, seconds=60, what=process.said)
    newcomer, kitchen = come_in(up, process)
    until(lambda: "done in" in newcomer.get(kitchen), seconds=60, what="the owner's own first request being done")
    page = newcomer.get(kitchen)
    assert "I am new here" in page
    newcomer.press(page, "Approve once")
    asked: list[str] = []
    until(lambda: answer_one(newcomer, asked), seconds=60, what="a question from a running agent")
    assert asked == ["push"], "what can't be taken back is asked, and nothing before it"
    # One signal ends it, with the agent at work: eight seconds for what runs, and a busy machine takes its own.
    tree = process.tree()
    assert process.end(within=15) == 0
    _, alive = psutil.wait_procs(tree, timeout=2)
    assert not alive

    up.port = free_port()
    up.url = f"http://127.0.0.1:{up.port}"
    process = up.ready("--demo")
    until(lambda: "/rooms/" in process.said() or not process.alive, seconds=60, what=process.said)
    newcomer, again = come_in(up, process)
    page = newcomer.get(again)
    assert page.text.count("I am new here") == 1
    until(lambda: "stopped on the machine" in newcomer.get(again), seconds=30, what="how the demo's end ended the turn")
    newcomer.press(newcomer.get(again), "Ask again")
    until(lambda: answer_one(newcomer, asked), seconds=60, what="a question from the agent, once more")


def come_in(up: Up, process: Process) -> tuple[Person, str]:
    link, kitchen = re.search(r"http\S+/in/\S+", process.said()), re.search(r"http\S+/rooms/\d+/", process.said())
    assert link, process.said()
    assert kitchen
    newcomer = up.browser()
    newcomer.sign_in(link[0])
    return newcomer, kitchen[0]


def answer_one(person: Person, asked: list[str]) -> bool:
    """Say yes to the next thing that waits on the dashboard; True when it was an agent's own question."""
    for question in person.stored.rows("SELECT id, subject FROM approvals_approval WHERE verdict = '' ORDER BY id"):
        asked.append(question[1])
        person.approve(question[0])
        return bool(question[1] != "start")
    return False


@pytest.mark.parametrize("said", ["0", "many", "2"])
def test_a_number_of_web_processes_that_does_not_fit_is_refused(
    up: Up, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WEB_PROCESSES", said)
    up.stack.environment.pop("REDIS_URL", None)
    process = up.start()
    until(lambda: not process.alive, seconds=60)
    assert process.returncode == 1
    assert "WEB_PROCESSES" in process.said()


@pytest.mark.postgres
def test_several_web_processes_and_workers_serve_one_room(up: Up, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WEB_PROCESSES", "3")
    process = up.ready()

    def count(program: str) -> int:
        return sum(program in " ".join(child.cmdline()) for child in process.tree())

    until(lambda: count("celery") == 2, what=process.said)
    assert (count("agentroom.web"), count(" worker "), count(" beat ")) == (3, 1, 1)
    link = until(lambda: re.search(rf"{up.url}/first/\S+/", process.said()), what=process.said)
    alice = up.browser()
    form, button = alice.get(link[0]).form_to(link[0])
    alice.press(alice.get(link[0]), button.text, {"handle": "alice", "password": PASSWORD}, to=form.action)
    kitchen = alice.make_room("kitchen")
    with ExitStack() as held:
        watches = [held.enter_context(alice.watch(kitchen)) for _ in range(9)]
        for number in range(5):
            alice.ask(kitchen, f"message {number}")
        for watch in watches:
            watch.until("message 4")
            seqs = [part.seq for part in watch.parts if "message" in part.html]
            assert seqs == sorted(set(seqs))
    assert process.end(within=10) == 0
