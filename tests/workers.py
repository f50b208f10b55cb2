"""Tests on several workers (pytest-xdist): what stays together, what comes first, and what wants the machine to itself.

A file's tests stay on one worker, because they may share what is dear to make, such as a server; files of long tests
come first, so that no worker has one to itself at the end. A test marked ``alone`` or ``bench`` waits until the tests
that run have ended, and no other one begins before it ends: what it measures is not what its neighbours do.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import tempfile
from collections.abc import Generator, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from xdist.remote import Producer
    from xdist.scheduler import LoadScopeScheduling
    from xdist.workermanage import WorkerController

LONG = (
    "tests/kills/",
    "tests/real_agents/",
    "tests/peers/",
    "tests/browser/",
    "tests/last_word/",
    "tests/test_up.py",
    "tests/test_journey.py",
    "tests/test_doors.py",
    "tests/approvals/test_consent_machine.py",
    "tests/machine/test_loop.py",
    "tests/chat/",
)
APART = (
    "tests/test_up.py",
    "tests/real_agents/test_model.py",
    "tests/real_agents/test_evasions.py",
    "tests/real_agents/test_planted.py",
    "tests/machine/test_loop.py",
)
"""Long files whose tests share nothing: each of them may go to another worker."""
IN_PARTS = ("tests/real_agents/test_in_the_room.py", "tests/real_agents/test_mail.py")
"""Long files that make anew what they share for each value of a parameter, the last thing in the brackets."""
QUIET = pytest.StashKey[Path]()


# --- who runs what ----------------------------------------------------------------------------------------------------


def unit(nodeid: str) -> str:
    """What a test may not be parted from."""
    path = nodeid.partition("::")[0]
    if path in APART:
        return nodeid
    if path in IN_PARTS:
        return f"{path}[{nodeid.partition('[')[2]}"
    return path


def rank(nodeid: str) -> int:
    return next((number for number, path in enumerate(LONG) if nodeid.startswith(path)), len(LONG))


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if is_worker(config):
        items.sort(key=lambda item: rank(item.nodeid))


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> LoadScopeScheduling:
    from xdist.scheduler import LoadScopeScheduling

    config.option.loadscopereorder = False
    scheduling = LoadScopeScheduling(config, log)
    scheduling._split_scope = unit
    return scheduling


# --- alone ------------------------------------------------------------------------------------------------------------


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: WorkerController) -> None:
    """In the process that starts the workers: tells each where the locks are."""
    stash = node.config.stash
    if QUIET not in stash:
        stash[QUIET] = Path(tempfile.mkdtemp(prefix="agentroom-tests-quiet-"))
    node.workerinput["quiet"] = str(stash[QUIET])


def pytest_unconfigure(config: pytest.Config) -> None:
    if folder := config.stash.get(QUIET, None):
        shutil.rmtree(folder, ignore_errors=True)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, Any, Any]:
    if not is_worker(item.config):
        return (yield)
    alone = bool(item.get_closest_marker("alone") or item.get_closest_marker("bench"))
    # Before a time limit starts to count.
    with among_others(Path(worker_input(item.config)["quiet"]), alone=alone):
        return (yield)


@contextmanager
def among_others(folder: Path, *, alone: bool) -> Iterator[None]:
    """Hold the machine with others or, once they have ended, alone."""
    with ExitStack() as held:
        with locked(folder / "door", fcntl.LOCK_EX):
            # Whoever waits for the others' end stands in the door: nobody overtakes.
            held.enter_context(locked(folder / "machine", fcntl.LOCK_EX if alone else fcntl.LOCK_SH))
        yield


@contextmanager
def locked(path: Path, how: int) -> Iterator[None]:
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(descriptor, how)
        yield
    finally:
        os.close(descriptor)


def worker_input(config: pytest.Config) -> dict[str, Any]:
    given: dict[str, Any] = getattr(config, "workerinput", {})
    return given


def is_worker(config: pytest.Config) -> bool:
    return "quiet" in worker_input(config)
