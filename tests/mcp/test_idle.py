"""Agents that only listen cost neither threads nor database connections, and hold up no stopping server."""

from __future__ import annotations

import signal
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import psutil
import pytest

from agentroom.mcp.pool import THREADS
from tests.live import Live
from tests.mcp.http import Listening, post, tool_call
from tests.mcp.peers import Kitchen, kitchen_of, token_of

pytestmark = pytest.mark.timeout(240)
IDLE = 100
INBOX = "agentroom://inbox"


@pytest.fixture(params=["uvicorn", "daphne"])
def kitchen_on(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Kitchen]:
    with Live.start(tmp_path, AGENTROOM_SERVER=request.param) as live, kitchen_of(live) as kitchen:
        yield kitchen


def web(live: Live) -> psutil.Process:
    assert live.server is not None
    [found] = [process for process in live.server.tree() if "agentroom.web" in process.cmdline()]
    return found


def connections(live: Live) -> int:
    """How many connections to the database the web process has open."""
    if live.stack.database_url:
        [(count,)] = live.stored.rows("SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()")
        return int(count)
    return sum(file.path.endswith(".sqlite3") for file in web(live).open_files())


def test_a_hundred_idle_listeners_cost_no_thread_and_no_connection(kitchen_on: Kitchen) -> None:
    live, alice = kitchen_on.live, kitchen_on.people["alice"]
    tokens = [token_of(live, alice, "codex", kitchen_on.room) for _ in range(4)]
    body = tool_call("agents_list_live")
    for token in tokens:
        assert post(live.url, token, body).status_code == 200
    threads, database = web(live).num_threads(), connections(live)
    with ExitStack() as stack:
        streams = [stack.enter_context(Listening(live.url, tokens[number % 4], INBOX)) for number in range(IDLE)]
        assert all(stream.next() for stream in streams)
        assert web(live).num_threads() - threads <= THREADS
        assert connections(live) - database <= THREADS
        # Nobody waits behind them, and each is told.
        letter = tool_call("agents_send", to=["codex"], subject="", body="Wake up.")
        assert not post(live.url, kitchen_on.tokens["claude"], letter).json()["result"]["isError"]
        for stream in streams:
            told = stream.next()
            assert told is not None
            assert told["method"] == "notifications/resources/updated"
        assert web(live).num_threads() - threads <= THREADS
        assert connections(live) - database <= THREADS


def test_the_server_ends_while_somebody_listens(kitchen_on: Kitchen) -> None:
    live = kitchen_on.live
    assert live.server is not None
    with Listening(live.url, kitchen_on.tokens["claude"], INBOX) as stream:
        assert stream.next() is not None
        began = time.monotonic()
        assert live.server.end(signal.SIGTERM, within=10) == 0
        assert time.monotonic() - began < 10
