"""Runs git to look, in a repository whose settings an agent could have written: nothing that it names is run."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

_SAFE = (
    "-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null", "-c", "core.untrackedCache=false",
    "-c", "core.pager=cat", "-c", "protocol.allow=never", "-c", "diff.external=", "-c", "core.attributesFile=/dev/null",
)  # fmt: skip
_LOOK_FOR = 20
"""Seconds after which a look is given up."""


class GitFailed(Exception):
    """Git could not say."""


def git(folder: Path, *args: str, timeout: float = _LOOK_FOR, index: Path | None = None) -> bytes:
    """What a git command prints, looking at another index if one is given; raises GitFailed."""
    env = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    env |= {"GIT_OPTIONAL_LOCKS": "0", "GIT_NO_LAZY_FETCH": "1", "GIT_TERMINAL_PROMPT": "0", "LC_ALL": "C"}
    # What a commit is said to be in place of itself would be shown, and the commit itself pushed.
    env["GIT_NO_REPLACE_OBJECTS"] = "1"
    if index:
        env["GIT_INDEX_FILE"] = str(index)
    try:
        done = subprocess.run(
            ["git", *_SAFE, *args],
            cwd=folder,
            env=env,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=timeout,
            check=False,
        )
    except (OSError, subprocess.SubprocessError) as error:
        raise GitFailed(str(error)) from None
    if done.returncode:
        raise GitFailed(done.stderr.decode(errors="replace").strip()[:500] or f"git ended with {done.returncode}")
    return done.stdout


def names(output: bytes) -> list[str]:
    """The names in a NUL-separated listing."""
    return [os.fsdecode(name) for name in output.split(b"\0") if name]


def is_repository(folder: Path) -> bool:
    try:
        return git(folder, "rev-parse", "--is-inside-work-tree").strip() == b"true"
    except GitFailed:
        return False
