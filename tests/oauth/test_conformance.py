"""The conformance suite's part for authorization servers, against ours, with a person who answers by script."""

from __future__ import annotations

import re
from pathlib import Path

import httpx

from tests.live import Live, until
from tests.live.processes import Process
from tests.mcp.peers import PEERS
from tests.oauth.at_the_server import lets_in
from tests.ports import free_port


def test_the_suite_finds_nothing(live: Live, tmp_path: Path) -> None:
    port = free_port()
    callback = f"http://127.0.0.1:{port}/callback"
    introduced = httpx.post(
        f"{live.url}/identity/o/api/clients",
        json={"client_name": "Suite", "redirect_uris": [callback], "token_endpoint_auth_method": "none"},
        trust_env=False,
    ).json()
    alice = live.person("alice")
    suite = Process(
        [
            str(PEERS / ".bin" / "node"),
            str(PEERS / "@modelcontextprotocol/conformance/dist/index.js"),
            "authorization",
            *("--url", live.url, "--client-id", introduced["client_id"], "--resource", f"{live.url}/mcp"),
            *("--port", str(port), "--spec-version", "2026-07-28"),
        ],
        env=live.environment | {"NO_COLOR": "1"},
        log=tmp_path / "suite.log",
        cwd=tmp_path,
    )
    try:

        def asks() -> str:
            found = re.search(rf"{re.escape(live.url)}/identity/o/authorize\?\S+", suite.said())
            return found[0] if found else ""

        until(lambda: asks() or not suite.alive, seconds=60, what=suite.said)
        led = lets_in(alice, asks())
        assert led.startswith(callback)
        httpx.get(led, trust_env=False)
        until(lambda: not suite.alive, seconds=60, what=suite.said)
    finally:
        suite.kill()
    assert suite.returncode == 0, suite.said()
    assert "0 failed" in suite.said(), suite.said()
