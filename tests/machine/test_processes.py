import asyncio
import os
import sys
from pathlib import Path

import psutil
import pytest

from agentroom_machine.daemon.processes import Tree, sweep

ESCAPES = {
    "a child": "subprocess.Popen([sys.executable, 'worker.py'])",
    "a session of its own": "subprocess.Popen([sys.executable, 'worker.py'], start_new_session=True)",
    "an orphan": "subprocess.Popen([sys.executable, 'parent.py']).wait()",
    "without environment": "subprocess.Popen([sys.executable, 'worker.py'], env={})",
}
WORKER = "import os, pathlib, time\npathlib.Path('pid').write_text(str(os.getpid()))\ntime.sleep(60)\n"
PARENT = "import subprocess, sys\nsubprocess.Popen([sys.executable, 'worker.py'], start_new_session=True)\n"


async def started(tmp_path: Path, body: str) -> tuple[Tree, int]:
    """A tree with a grandchild, and the grandchild's process id."""
    (tmp_path / "worker.py").write_text(WORKER)
    (tmp_path / "parent.py").write_text(PARENT)
    program = f"import subprocess, sys, time\n{body}\ntime.sleep(60)\n"
    tree = await Tree.start([sys.executable, "-c", program], cwd=tmp_path, env=dict(os.environ), owner="test")
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
    assert await asyncio.to_thread(sweep, "test") == 2
    await tree.kill()
    assert not psutil.pid_exists(grandchild) or psutil.Process(grandchild).status() == psutil.STATUS_ZOMBIE


async def test_the_last_words_on_the_error_output_are_kept_and_never_block(tmp_path: Path) -> None:
    program = "import sys\nfor n in range(20000): print('line', n, file=sys.stderr)\n"
    tree = await Tree.start([sys.executable, "-c", program], cwd=tmp_path, env=dict(os.environ), owner="test")
    async with asyncio.timeout(10):
        await tree.process.wait()
        while "line 19999" not in tree.last_words():
            await asyncio.sleep(0.01)
    assert tree.last_words().count("\n") == 7
    await tree.kill()
