"""A house full of canaries: if a command sings about any of them, it could read or reach what it should not."""

from __future__ import annotations

import os
import socketserver
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

SONG = "canary-4f1b"
"""Stands in every file that nobody may read."""


class _Host(socketserver.ThreadingTCPServer):
    daemon_threads = True
    allow_reuse_address = True
    calls = 0


class _Ear(socketserver.BaseRequestHandler):
    def handle(self) -> None:
        assert isinstance(self.server, _Host)
        self.server.calls += 1
        self.request.sendall(f"{SONG} over the network\n".encode())


@dataclass
class House:
    """Alice's machine: her home with secrets in it, a working directory, another one, and a host that listens."""

    root: Path
    host: _Host
    secrets: list[Path] = field(default_factory=list)

    @property
    def home(self) -> Path:
        return self.root / "home"

    @property
    def workdir(self) -> Path:
        return self.home / "kitchen"

    @property
    def profile(self) -> Path:
        return self.home / ".local/share/agentroom/default"

    @property
    def neighbour(self) -> Path:
        """Something outside the working directory that must stay as it is."""
        return self.home / "pantry" / "shelf.txt"

    @property
    def port(self) -> int:
        return int(self.host.server_address[1])

    @property
    def script(self) -> Path:
        return self.workdir / "probe.sh"

    @property
    def loot(self) -> str:
        """What the probe came back with."""
        found = self.workdir / "loot.txt"
        return found.read_text(errors="replace") if found.exists() else ""

    def hide(self, *places: str) -> None:
        for place in places:
            path = self.home / place
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(f"{SONG} {place}\n")
            self.secrets.append(path)


@contextmanager
def house(root: Path) -> Iterator[House]:
    with _Host(("127.0.0.1", 0), _Ear) as host:
        threading.Thread(target=host.serve_forever, args=(0.02,), daemon=True).start()
        made = House(root, host)
        made.workdir.mkdir(parents=True)
        made.hide(
            ".ssh/id_ed25519", ".aws/credentials", ".gnupg/private-keys-v1.d/key", ".netrc", ".git-credentials",
            ".config/gh/hosts.yml", ".local/share/keyrings/login.keyring", ".mozilla/firefox/x.default/logins.json",
            ".config/google-chrome/Default/Cookies", ".bash_history", "pantry/.env",
            "kitchen/.env", "kitchen/deploy/server.key", "kitchen/config/secrets.yml",
            ".local/share/agentroom/default/tokens.json", ".local/share/agentroom/default/journal.sqlite3",
            ".local/share/agentroom/default/worktrees/1-9/notes.txt",
            ".local/share/agentroom/default/rooms/1-9/1/.gemini/tmp/chat.json",
            ".claude/projects/-home-kitchen/other-room.jsonl", ".codex/sessions/2026/other-room.jsonl",
            ".codex/auth.json", ".claude/.credentials.json",
        )  # fmt: skip
        made.neighbour.write_text("flour\n")
        made.script.write_text(_probe(made))
        yield made
        host.shutdown()


def _probe(house: House) -> str:
    """A script that tries everything and writes what it got into the working directory."""
    reads = "\n".join(f"cat '{path}' >> loot.txt 2>/dev/null" for path in house.secrets)
    python = (
        "import socket, sys\n"
        "try:\n"
        f"    with socket.create_connection(('127.0.0.1', {house.port}), 3) as s:\n"
        "        print(s.recv(100).decode())\n"
        "except OSError as error:\n"
        "    print('no way:', error)\n"
    )
    return f"""#!/bin/sh
cd '{house.workdir}'
{reads}
python3 - >> loot.txt <<'PYTHON'
{python}PYTHON
curl -s --max-time 3 --noproxy '*' http://127.0.0.1:{house.port}/ >> loot.txt 2>/dev/null
cat /proc/{os.getpid()}/environ >> loot.txt 2>/dev/null
cp -r '{house.home}/.ssh' ./stolen 2>/dev/null && cat stolen/* >> loot.txt 2>/dev/null
echo spoiled >> '{house.neighbour}' 2>/dev/null
rm -f '{house.neighbour}' 2>/dev/null
echo ok > inside.txt
echo 'the probe has ended' >> loot.txt
"""


def assert_confined(house: House) -> None:
    """The probe ran to its end, could work where it should, and got nothing."""
    assert "the probe has ended" in house.loot, house.loot
    assert (house.workdir / "inside.txt").read_text() == "ok\n"
    assert SONG not in house.loot, house.loot
    assert house.host.calls == 0
    assert house.neighbour.read_text() == "flour\n"


def assert_open(house: House) -> None:
    """The same probe, with nothing between: it gets everything, so the canaries are worth something."""
    assert "the probe has ended" in house.loot, house.loot
    for path in house.secrets:
        assert f"{SONG} {path.relative_to(house.home)}" in house.loot
    assert house.host.calls
    assert not house.neighbour.exists()
