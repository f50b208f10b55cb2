"""The protocol's own conformance suite, on our mount, under both servers and for both eras of the protocol."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.live import HandMachine, Live
from tests.mcp.peers import agent_of, peer_server, suite, token_of

pytestmark = pytest.mark.timeout(300)
BOTH = pytest.mark.parametrize("server", ["uvicorn", "daphne"])

STATELESS = """\
# What a server without sessions can't do: ask the client something in the middle of a call, and resume a stream.
server:
  - tools-call-sampling
  - tools-call-elicitation
  - elicitation-sep1034-defaults
  - elicitation-sep1330-enums
  - server-sse-multiple-streams
"""
WITHOUT_FIXTURES = [
    ("2025-11-25", "server-initialize"),
    ("2025-11-25", "ping"),
    *((version, scenario) for version in ("2025-11-25", "2026-07-28") for scenario in (
        "tools-list", "tools-call-error", "resources-list", "prompts-list", "dns-rebinding-protection",
    )),
    *(("2026-07-28", scenario) for scenario in (
        "caching", "http-header-validation", "sep-2164-resource-not-found",
        "input-required-result-unsupported-methods", "input-required-result-ignore-extra-params",
    )),
]  # fmt: skip


@pytest.fixture(scope="module")
def token(live: Live) -> Iterator[str]:
    alice = live.person("alice")
    kitchen = alice.make_room("the kitchen")
    machine = HandMachine(alice)
    agent_of(alice, machine, "claude")
    alice.seat_agent(kitchen, "claude")
    yield token_of(live, alice, "claude", kitchen)
    machine.close()


@BOTH
def test_the_mount_passes_what_2026_07_28_requires(live: Live, token: str, server: str, tmp_path: Path) -> None:
    with peer_server(live, token, what="fixtures", server=server) as url:
        done = suite("--url", url, "--requirements", "2026-07-28", folder=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr


@BOTH
def test_the_mount_passes_what_2025_11_25_requires_of_a_server_without_sessions(
    live: Live, token: str, server: str, tmp_path: Path
) -> None:
    baseline = tmp_path / "baseline.yml"
    baseline.write_text(STATELESS)
    with peer_server(live, token, what="fixtures", server=server) as url:
        done = suite(
            "--url", url, "--requirements", "2025-11-25", "--expected-failures", str(baseline), folder=tmp_path
        )
    # Also an exception that passes meanwhile ends with an error.
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_product_itself_passes_what_needs_no_fixtures(live: Live, token: str, tmp_path: Path) -> None:
    failed = {}
    with peer_server(live, token, what="product", server="uvicorn") as url:
        for version, scenario in WITHOUT_FIXTURES:
            done = suite("--url", url, "--scenario", scenario, "--spec-version", version, folder=tmp_path)
            if done.returncode != 0:
                failed[version, scenario] = done.stdout + done.stderr
    assert not failed
