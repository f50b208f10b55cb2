import asyncio
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from uuid import uuid4

import psutil
import pytest

from agentroom_machine.daemon.family import still_runs
from agentroom_machine.daemon.processes import Tree, sweep
from tests.live.waiting import until

ESCAPES = {
    "a child": "subprocess.Popen([sys.executable, 'worker.py'])",
    "a session of its own": "subprocess.Popen([sys.executable, 'worker.py'], start_new_session=True)",
    "an orphan": "subprocess.Popen([sys.executable, 'parent.py']).wait()",
    "without environment": "subprocess.Popen([sys.executable, 'worker.py'], env={})",
}
OWNER = f"test{uuid4().hex}"
"""Of this run alone: on other workers others start processes, and sweep."""
WORKER = "import os, pathlib, time\npathlib.Path('pid').write_text(str(os.getpid()))\ntime.sleep(60)\n"
PARENT = "import subprocess, sys\nsubprocess.Popen([sys.executable, 'worker.py'], start_new_session=True)\n"
DAEMON = """
import asyncio, os, pathlib, sys
from agentroom_machine.daemon.processes import Tree, adopt_orphans

async def main():
    adopt_orphans()
    own = pathlib.Path(sys.argv[1])
    tree = await Tree.start([sys.executable, own / "agent.py"], cwd=own, env=dict(os.environ), owner=sys.argv[2])
    print(tree.process.pid, tree._heir._process.pid, flush=True)
    await asyncio.sleep(60)

asyncio.run(main())
"""


async def started(tmp_path: Path, body: str) -> tuple[Tree, int]:
    """A tree with a grandchild, and the grandchild's process id."""
    (tmp_path / "worker.py").write_text(WORKER)
    (tmp_path / "parent.py").write_text(PARENT)
    program = f"import subprocess, sys, time\n{body}\ntime.sleep(60)\n"
    tree = await Tree.start([sys.executable, "-c", program], cwd=tmp_path, env=dict(os.environ), owner=OWNER)
    async with asyncio.timeout(10):
        while not (tmp_path / "pid").exists() or not (tmp_path / "pid").read_text():
            await asyncio.sleep(0.01)
    return tree, int((tmp_path / "pid").read_text())


@pytest.mark.parametrize("how", ESCAPES)
async def test_ending_an_agent_ends_its_grandchildren(tmp_path: Path, how: str) -> None:
    tree, grandchild = await started(tmp_path, ESCAPES[how])
    assert psutil.pid_exists(grandchild)
    await tree.kill()
    assert not tree.alive
    assert not psutil.pid_exists(grandchild) or psutil.Process(grandchild).status() == psutil.STATUS_ZOMBIE


async def test_a_child_whose_agent_was_killed_is_still_found(tmp_path: Path) -> None:
    tree, grandchild = await started(tmp_path, ESCAPES["a session of its own"])
    tree.process.kill()
    async with asyncio.timeout(10):
        await tree.ended()
    assert psutil.pid_exists(grandchild)
    await tree.kill()
    assert not psutil.pid_exists(grandchild) or psutil.Process(grandchild).status() == psutil.STATUS_ZOMBIE


async def test_a_new_daemon_ends_what_a_dead_one_left(tmp_path: Path) -> None:
    tree, grandchild = await started(tmp_path, ESCAPES["a session of its own"])
    assert await asyncio.to_thread(sweep, "another") == 0
    assert psutil.pid_exists(grandchild)
    assert await asyncio.to_thread(sweep, OWNER) == 2
    await tree.kill()
    assert not psutil.pid_exists(grandchild) or psutil.Process(grandchild).status() == psutil.STATUS_ZOMBIE


async def test_the_last_words_on_the_error_output_are_kept_and_never_block(tmp_path: Path) -> None:
    program = "import sys\nfor n in range(20000): print('line', n, file=sys.stderr)\n"
    tree = await Tree.start([sys.executable, "-c", program], cwd=tmp_path, env=dict(os.environ), owner=OWNER)
    async with asyncio.timeout(10):
        await tree.process.wait()
        while "line 19999" not in tree.last_words():
            await asyncio.sleep(0.01)
    assert tree.last_words().count("\n") == 7
    await tree.kill()


@pytest.mark.parametrize("how", ESCAPES)
def test_a_killed_daemons_agent_and_its_grandchildren_end_at_once(tmp_path: Path, how: str) -> None:
    (tmp_path / "worker.py").write_text(WORKER)
    (tmp_path / "parent.py").write_text(PARENT)
    (tmp_path / "agent.py").write_text(f"import subprocess, sys, time\n{ESCAPES[how]}\ntime.sleep(60)\n")
    program = [sys.executable, "-c", DAEMON, str(tmp_path), OWNER]
    stranger = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"], start_new_session=True)
    with subprocess.Popen(program, stdout=subprocess.PIPE, text=True, start_new_session=True) as daemon, stranger:
        assert daemon.stdout is not None
        agent, heir = map(psutil.Process, map(int, daemon.stdout.readline().split()))
        until(lambda: (tmp_path / "pid").exists() and (tmp_path / "pid").read_text(), what="the grandchild")
        grandchild = psutil.Process(int((tmp_path / "pid").read_text()))
        # Who ends a service may ask all its processes to end; while the daemon lives, its heir stays.
        until(lambda: ignores_sigterm(heir.pid), what="the heir being ready")
        heir.terminate()
        assert all(map(still_runs, (agent, grandchild, heir)))
        daemon.kill()
        killed_at = time.monotonic()
        until(lambda: not any(map(still_runs, (agent, grandchild, heir))), seconds=10, what="the end of all")
        took = time.monotonic() - killed_at
        assert stranger.poll() is None
        stranger.kill()
    assert took < 3, "it takes a tenth of a second where nothing else is to do"


async def test_an_agent_that_ended_leaves_no_heir(tmp_path: Path) -> None:
    tree, _ = await started(tmp_path, ESCAPES["a child"])
    heir = psutil.Process(tree._heir._process.pid)
    assert "agentroom_machine.daemon.heir" in heir.cmdline()
    await tree.kill()
    assert not heir.is_running()


async def test_a_program_that_is_not_there_leaves_no_heir(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        await Tree.start([str(tmp_path / "nothing")], cwd=tmp_path, env=dict(os.environ), owner=OWNER)
    mine = psutil.Process().children()
    assert not [child for child in mine if still_runs(child) and "agentroom_machine.daemon.heir" in child.cmdline()]


def ignores_sigterm(pid: int) -> bool:
    status = Path(f"/proc/{pid}/status")
    if not status.exists():  # not on Linux, where nobody says it
        return True
    [line] = [line for line in status.read_text().splitlines() if line.startswith("SigIgn:")]
    return bool(int(line.split()[1], 16) & 1 << (signal.SIGTERM - 1))
