"""Five hundred programs that wait for the chat at once, against the same in an async Django view, in one run."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import httpx
import psutil
import pytest

from tests.live import Live, until
from tests.live.processes import Process
from tests.mcp.http import headers, tool_call
from tests.mcp.peers import account_token
from tests.ports import free_port

pytestmark = [pytest.mark.bench, pytest.mark.timeout(300)]
WAITS = 500
QUARTER = 0.25
MOST_THREADS = 10
"""More than the idle server has."""
Request = Callable[[int], bytes]


@dataclass
class Bench:
    port: int
    token: str
    process: psutil.Process

    def latest(self) -> int:
        return int(self._chat("GET", {}).json()["latest_seq"])

    def say(self) -> None:
        assert self._chat("POST", {"body": "Wake up, all of you."}).status_code == 201

    def _chat(self, method: str, body: dict[str, str]) -> httpx.Response:
        with httpx.Client(trust_env=False, timeout=60) as client:
            return client.request(
                method, f"http://127.0.0.1:{self.port}/api/chat/messages", json=body or None,
                params={"after": 2**40} if method == "GET" else None, headers={"Authorization": f"Bearer {self.token}"},
            )  # fmt: skip

    def get(self, path: str) -> Request:
        return lambda after: (
            f"GET {path}?after={after}&timeout=50 HTTP/1.1\r\nHost: 127.0.0.1:{self.port}\r\n"
            f"Authorization: Bearer {self.token}\r\nConnection: close\r\n\r\n"
        ).encode()

    def tool(self, after: int) -> bytes:
        body = tool_call("chat_wait", after=after, timeout=50)
        raw = json.dumps(body).encode()
        lines = [f"POST /mcp HTTP/1.1\r\nHost: 127.0.0.1:{self.port}\r\nConnection: close\r\n"]
        lines += [f"{name}: {value}\r\n" for name, value in headers(self.token, body).items()]
        return "".join([*lines, f"Content-Length: {len(raw)}\r\n\r\n"]).encode() + raw


@pytest.fixture(scope="module")
def bench(live: Live) -> Iterator[Bench]:
    alice, port = live.person("alice"), free_port()
    token = account_token(alice)
    process = Process(
        [sys.executable, "-m", "tests.bench.waiting", str(port)],
        env=live.environment
        | {
            "DJANGO_SETTINGS_MODULE": "agentroom.settings",
            "PUBLIC_URL": f"http://127.0.0.1:{port}",
            "MCP_CALLS_PER_MINUTE": "1000000",
            "API_CALLS_PER_MINUTE": "1000000",
        },
        log=live.folder / "waiting.log",
    )  # fmt: skip
    try:
        until(lambda: "Ready" in process.said() or not process.alive, seconds=60, what=process.said)
        assert process.alive, process.said()
        yield Bench(port, token, psutil.Process(process.pid))
    finally:
        process.kill()


@dataclass(frozen=True)
class Measured:
    cpu: float
    """Seconds of the server's processor for each wait, from its arrival to its answer."""
    threads: int
    """More than before, while they wait."""


async def measure(bench: Bench, request: Request, count: int) -> Measured:
    after = bench.latest()
    threads = bench.process.num_threads()
    before = _cpu(bench.process)
    opened = await asyncio.gather(*(_open(bench.port, request(after)) for _ in range(count)))
    await _quiet(bench.process)
    waiting = bench.process.num_threads() - threads
    await asyncio.to_thread(bench.say)
    answers = await asyncio.gather(*(reader.read() for reader, _ in opened))
    for _, writer in opened:
        writer.close()
    assert all(b" 200 " in answer[:20] and b"Wake up, all of you." in answer for answer in answers), answers[0][:500]
    return Measured((_cpu(bench.process) - before) / count, waiting)


async def _open(port: int, request: bytes) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(request)
    return reader, writer


async def _quiet(process: psutil.Process) -> None:
    """Everybody has arrived and waits: nothing is worked on any more."""
    while True:
        spent = _cpu(process)
        await asyncio.sleep(0.5)
        if _cpu(process) - spent < 0.03:
            return


def _cpu(process: psutil.Process) -> float:
    times = process.cpu_times()
    return times.user + times.system


async def test_five_hundred_waits_cost_a_quarter_of_an_async_view(bench: Bench) -> None:
    ways: dict[str, Request] = {
        "view": bench.get("/usual/"), "rest": bench.get("/api/chat/wait"), "tool": bench.tool,
    }  # fmt: skip
    for request in ways.values():
        await measure(bench, request, 20)
    # In turns, so that what else the machine does falls on all of them.
    found = {name: [await measure(bench, request, WAITS) for _ in range(2)] for name, request in ways.items()}
    cpu = {name: min(each.cpu for each in runs) for name, runs in found.items()}
    threads = {name: max(each.threads for each in runs) for name, runs in found.items()}
    print({name: f"{seconds * 1e6:.0f} µs, {threads[name]} threads" for name, seconds in cpu.items()})
    assert threads["rest"] <= MOST_THREADS
    assert threads["tool"] <= MOST_THREADS
    assert cpu["rest"] <= cpu["view"] * QUARTER, cpu
    assert cpu["tool"] <= cpu["view"] * QUARTER, cpu
