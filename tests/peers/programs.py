"""Where the clients by others are, and how each is run: in a home of its own, with nothing of the user's."""

from __future__ import annotations

import json
import os
import re
import subprocess
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Any

from tests.live.processes import ROOT

AGENTS = ROOT / "tests/real_agents/node_modules"
CLAUDE = AGENTS / "@anthropic-ai/claude-agent-sdk-linux-x64/claude"
"""The whole Claude Code: its library for programs brings it along."""
CODEX = AGENTS / ".bin/codex"
PEERS = ROOT / "tests/peers/node_modules/.bin"
PATIENCE = 120
"""Seconds that such a program may take, on a machine that does much else."""
_LINK = re.compile(r"https?://[^\s\x07\x1b]+/identity/o/authorize\?[^\s\x07\x1b]+")


def home(folder: Path, **more: str) -> dict[str, str]:
    """The whole environment of a client."""
    for name in (".claude", ".codex", "tmp"):
        (folder / name).mkdir(parents=True, exist_ok=True)
    return {
        "HOME": str(folder),
        "TMPDIR": str(folder / "tmp"),
        "PATH": os.pathsep.join([str(PEERS), str(AGENTS / ".bin"), "/usr/bin", "/bin"]),
        "TERM": "dumb",
        "CODEX_HOME": str(folder / ".codex"),
        "CLAUDE_CONFIG_DIR": str(folder / ".claude"),
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        "DISABLE_AUTOUPDATER": "1",
        "NO_BROWSER": "1",
        **more,
    }


def ran(*command: str | Path, env: Mapping[str, str], code: int = 0, given: str = "") -> str:
    """What the program said; it ends with this code."""
    done = subprocess.run(
        [str(word) for word in command], env=dict(env), cwd=env["HOME"], input=given, capture_output=True, text=True,
        timeout=PATIENCE, check=False,
    )  # fmt: skip
    assert done.returncode == code, f"{command}: {done.returncode}\n{done.stdout}{done.stderr}"
    return done.stdout


def link_in(shown: str) -> str:
    """Where the program sends its person to sign in."""
    found = _LINK.search(shown)
    assert found, shown
    return found[0]


@contextmanager
def begun(*command: str | Path, env: Mapping[str, str]) -> Iterator[subprocess.Popen[str]]:
    process = subprocess.Popen(
        [str(word) for word in command], env=dict(env), cwd=env["HOME"], text=True, stdin=subprocess.PIPE,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
    )  # fmt: skip
    try:
        yield process
    finally:
        process.kill()
        process.wait()
        for stream in (process.stdin, process.stdout):
            if stream:
                stream.close()


class Said:
    """The lines of a program, as they come."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._lines: SimpleQueue[str | None] = SimpleQueue()
        self.all = ""
        self._reader = threading.Thread(target=self._read, args=[process], daemon=True)
        self._reader.start()

    def _read(self, process: subprocess.Popen[str]) -> None:
        assert process.stdout is not None
        for line in process.stdout:
            self._lines.put(line)
        self._lines.put(None)

    def line(self) -> str:
        """The next one; empty after the last."""
        try:
            line = self._lines.get(timeout=PATIENCE)
        except Empty:
            raise AssertionError(f"nothing more than {self.all}") from None
        self.all += line or ""
        return line or ""

    def until(self, part: str) -> str:
        while part not in self.all:
            assert self.line(), self.all
        return self.all


def asked(process: subprocess.Popen[str], said: Said, number: int, method: str, **params: Any) -> Any:
    """What Codex's server for programs answers."""
    assert process.stdin is not None
    process.stdin.write(json.dumps({"jsonrpc": "2.0", "id": number, "method": method, "params": params}) + "\n")
    process.stdin.flush()
    while line := said.line():
        if line.startswith("{") and (answer := json.loads(line)).get("id") == number and "method" not in answer:
            assert "result" in answer, answer
            return answer["result"]
    raise AssertionError(said.all)
