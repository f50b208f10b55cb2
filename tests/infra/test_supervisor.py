from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from agentroom.supervisor import Failed, Program, Tree
from tests.live import until

SLEEPS = [sys.executable, "-c", "import signal; print('up', flush=True); signal.pause()"]
DEAF = [
    sys.executable,
    "-c",
    (
        "import pathlib, signal, sys\n"
        "signal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
        "pathlib.Path(sys.argv[1]).touch()\n"
        "while True: signal.pause()"
    ),
]


@pytest.fixture
def tree() -> Iterator[Tree]:
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)}
    with Tree() as tree:
        yield tree
    for number, handler in before.items():
        signal.signal(number, handler)


def test_a_program_that_dies_is_started_again(tree: Tree) -> None:
    program = Program("sleeper", SLEEPS)
    tree.start(program)
    assert program.process
    first = program.process.pid
    os.kill(first, signal.SIGKILL)
    assert tree.wait_until(lambda: program.process is not None and program.process.pid != first, seconds=10)


def test_a_program_that_never_stays_alive_ends_it_all(tree: Tree) -> None:
    tree.start(Program("sleeper", SLEEPS))
    tree.start(Program("The broken one", [sys.executable, "-c", "raise SystemExit(3)"]))
    with pytest.raises(Failed, match="The broken one ended 3 times"):
        tree.wait_until(lambda: False, seconds=20)


def test_a_signal_ends_the_watch_and_everything(tree: Tree) -> None:
    program = Program("sleeper", SLEEPS)
    tree.start(program)
    assert program.process
    os.kill(os.getpid(), signal.SIGTERM)
    tree.watch()
    tree.end()
    assert program.process.poll() is not None


def test_what_will_not_end_is_killed(tree: Tree, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("agentroom.supervisor.GRACE", 0.2)
    program = Program("deaf", [*DEAF, str(tmp_path / "up")])
    tree.start(program)
    until((tmp_path / "up").exists)
    assert program.process
    tree.end()
    assert program.process.poll() == -signal.SIGKILL


@pytest.mark.skipif(sys.platform != "linux", reason="Linux alone lets a child die with its parent")
def test_the_programs_die_with_a_parent_that_is_killed() -> None:
    parent = subprocess.Popen(
        [
            sys.executable,
            "-c",
            (
                "from agentroom.supervisor import Program, Tree\n"
                "with Tree() as tree:\n"
                f"    program = Program('sleeper', {SLEEPS!r})\n"
                "    tree.start(program)\n"
                "    print(program.process.pid, flush=True)\n"
                "    tree.watch()\n"
            ),
        ],
        stdout=subprocess.PIPE,
        text=True,
        env=os.environ | {"PYTHONPATH": str(Path(__file__).resolve().parents[2])},
    )
    assert parent.stdout
    child = psutil.Process(int(parent.stdout.readline()))
    assert parent.stdout.readline() == "up\n"
    parent.kill()
    parent.wait(10)
    parent.stdout.close()
    until(lambda: not child.is_running() or child.status() == psutil.STATUS_ZOMBIE)
