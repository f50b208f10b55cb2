"""``agentroom read --follow`` through fifty SIGKILLs of the server, while two programs write."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import httpx
import pytest

from tests.live import Live, Machine, until
from tests.live.processes import ROOT, Process

pytestmark = [pytest.mark.kills, pytest.mark.timeout(240)]
KILLS = 50
SEED = 20261130


class Server:
    """One server after the other, on the address and the data of one that ran before them."""

    def __init__(self, live: Live) -> None:
        self.url = live.url
        with (live.folder / "again.log").open("ab") as said:
            self._parent = subprocess.Popen(
                [sys.executable, "-m", "tests.kills.again", str(live.port)],
                env=live.environment | {"API_CALLS_PER_MINUTE": "1000000"}, cwd=ROOT, stdin=subprocess.PIPE,
                stdout=subprocess.PIPE, stderr=said, text=True,
            )  # fmt: skip
        assert self._line() == "read"
        self._child = 0

    def _line(self) -> str:
        assert self._parent.stdout is not None
        return self._parent.stdout.readline().strip()

    def start(self) -> None:
        assert self._parent.stdin is not None
        print(file=self._parent.stdin, flush=True)
        self._child = int(self._line())

    def ready(self) -> bool:
        with suppress(httpx.TransportError):
            return httpx.get(f"{self.url}/readyz", timeout=5, trust_env=False).status_code == 200
        return False

    def kill(self) -> None:
        if self._child:
            with suppress(ProcessLookupError):
                os.kill(self._child, signal.SIGKILL)
            until(lambda: not Path(f"/proc/{self._child}").exists(), what="the server's end")
            self._child = 0

    def close(self) -> None:
        self.kill()
        self._parent.kill()
        with self._parent:  # which closes its pipes and waits for it
            pass


class Writer(threading.Thread):
    """A program that writes all the time, and again with the same key when the server did not answer."""

    def __init__(self, name: str, url: str, token: str) -> None:
        super().__init__(name=name, daemon=True)
        self.acknowledged: dict[int, str] = {}
        """Number → text, of what the server said that it has stored."""
        self.tried_again = 0
        self._client = httpx.Client(
            base_url=url, headers={"Authorization": f"Bearer {token}"}, timeout=10, trust_env=False
        )
        self._enough = threading.Event()

    def run(self) -> None:
        count = 0
        while not self._enough.is_set():
            count += 1
            self._send(f"{self.name} {count}")
            time.sleep(0.01)

    def _send(self, body: str) -> None:
        while True:
            try:
                answer = self._client.post(
                    "/api/chat/messages", json={"body": body, "session": self.name},
                    headers={"Idempotency-Key": body.replace(" ", "-")},
                )  # fmt: skip
            except httpx.TransportError:
                self.tried_again += 1
                time.sleep(0.02)
                continue
            assert answer.status_code == 201, answer.text
            self.acknowledged[answer.json()["number"]] = body
            return

    def finish(self) -> None:
        self._enough.set()
        self.join(60)
        assert not self.is_alive()
        self._client.close()


@contextmanager
def following(machine: Machine, *options: str) -> Iterator[Process]:
    reader = Process(
        [*machine.program, "read", "--follow", "--json", *options],
        env=machine.environment, log=machine.folder / "followed", cwd=machine.folder,
    )  # fmt: skip
    try:
        yield reader
    finally:
        reader.kill()


def read_in(followed: str) -> list[tuple[int, str]]:
    """Number and text of each message that was printed; what was said about the server is left out."""
    messages = [json.loads(line) for line in followed.splitlines() if line.startswith("{")]
    return [(message["number"], message["body"]) for message in messages]


def newest(reader: Process) -> int:
    """Number of the message that was printed last; 0 for none."""
    whole_lines, _, _ = reader.said().rpartition("\n")
    return max((number for number, _ in read_in(whole_lines)), default=0)


@pytest.fixture(scope="module")
def machine(live: Live) -> Machine:
    made = live.machine()
    made.pair(live.person("alice"))
    return made


def test_what_is_followed_is_what_was_acknowledged_each_once_in_order(live: Live, machine: Machine) -> None:
    tokens = [live.manage_json("token", "--account", "alice")["token"] for _ in range(2)]
    live.stop()
    dice = random.Random(SEED)
    server = Server(live)
    try:
        server.start()
        until(server.ready, what="the first server")
        writers = [Writer(name, live.url, token) for name, token in zip(("baker", "miller"), tokens, strict=True)]
        with following(machine) as reader:
            for writer in writers:
                writer.start()
            before = 0
            for number in range(KILLS):
                # Every second server dies when it is read from, at the earliest; the others also while they start.
                if number % 2 == 0:
                    until(lambda after=before: newest(reader) > after, what=reader.said)  # type: ignore[misc]
                time.sleep(dice.uniform(0, 0.8))
                server.kill()
                time.sleep(dice.choice([0, 0.3]))
                before = newest(reader)
                server.start()
            until(server.ready, what="the last server")
            for writer in writers:
                writer.finish()
            sent = writers[0].acknowledged | writers[1].acknowledged
            assert len(sent) == sum(len(writer.acknowledged) for writer in writers)
            last = max(sent)
            until(lambda: f'"number": {last},' in reader.said(), seconds=40, what=lambda: reader.said()[-2000:])
            followed = reader.said()
            assert reader.alive
        assert read_in(followed) == sorted(sent.items())
        stored = dict(live.stored.rows("SELECT seq, body FROM messaging_entry WHERE kind = ?", "message"))
        assert stored == sent, "nothing was stored twice, or without an answer in the end"
        assert min(writer.tried_again for writer in writers) > KILLS / 2, "the kills fell into the writing"
        assert followed.count("The server is back.") > KILLS / 3, "and into the reading"
    finally:
        server.close()
