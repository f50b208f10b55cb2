"""An owner's machine: a home folder, the command line in it, and the daemon."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tests.live.person import Person
from tests.live.processes import Process, surroundings
from tests.live.waiting import until


class Machine:
    def __init__(self, folder: Path, url: str, **environment: str) -> None:
        """``environment`` is the owner's: what the agents get to see, such as AGENTROOM_DEMO_LOG."""
        self.folder = folder
        self.url = url
        folder.mkdir(parents=True)
        self.environment = surroundings(
            HOME=str(folder), AGENTROOM_HOME=str(folder / "agentroom"), AGENTROOM_NO_KEYRING="1", **environment
        )
        for name in ("XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_CACHE_HOME", "XDG_STATE_HOME"):
            self.environment.pop(name, None)
        self.daemon: Process | None = None
        self.program: Sequence[str] = (sys.executable, "-m", "agentroom_machine.cli")
        """Another one for tests that patch the daemon from outside."""

    def cli(self, *args: str, code: int | None = 0, seconds: float = 60) -> subprocess.CompletedProcess[str]:
        done = subprocess.run(
            [sys.executable, "-m", "agentroom_machine.cli", *args],
            env=self.environment,
            cwd=self.folder,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=seconds,
            check=False,
        )
        assert code is None or done.returncode == code, (
            f"agentroom {args}: {done.returncode}\n{done.stdout}{done.stderr}"
        )
        return done

    def cli_json(self, *args: str) -> Any:
        return json.loads(self.cli(*args, "--json").stdout)

    def pair(self, owner: Person, *, name: str = "laptop") -> None:
        """agentroom login; the owner opens the link that it prints and presses the button there."""
        login = Process(
            [*self.program, "login", self.url, "--name", name, "--no-browser"],
            env=self.environment,
            log=self.folder / "login.log",
            cwd=self.folder,
        )
        try:
            link = until(lambda: re.search(r"https?://\S+/pair/\S*", login.said()), what=login.said)
            owner.press(link[0], f"Connect {name}")
            until(lambda: not login.alive, what="the end of agentroom login")
        finally:
            login.kill()
        assert login.returncode == 0, login.said()

    def repository(self, name: str = "shop") -> Path:
        """A small git repository with a remote, as the demo agent likes it."""
        path = self.folder / name
        prepare = "import sys; from agentroom_machine.demo_agent import prepare_demo_repository as p; p(sys.argv[1])"
        code = f"import pathlib; {prepare.replace('sys.argv[1]', 'pathlib.Path(sys.argv[1])')}"
        subprocess.run([sys.executable, "-c", code, str(path)], env=self.environment, check=True, timeout=60)
        return path

    def add_agent(self, handle: str, *, runtime: str = "demo", workdir: Path) -> None:
        self.cli("agents", "add", handle, "--runtime", runtime, "--workdir", str(workdir))

    def up(self) -> Process:
        """Start the daemon in the background."""
        assert self.daemon is None or not self.daemon.alive
        self.daemon = Process(
            [*self.program, "up"], env=self.environment, log=self.folder / "daemon.log", cwd=self.folder
        )
        return self.daemon

    def kill(self) -> None:
        """SIGKILL: the daemon and all that it started."""
        assert self.daemon is not None
        self.daemon.kill()

    def stop(self, *, within: float = 12) -> int:
        assert self.daemon is not None
        return self.daemon.end(signal.SIGTERM, within=within)

    def close(self) -> None:
        if self.daemon is not None and self.daemon.alive:
            self.daemon.kill()
