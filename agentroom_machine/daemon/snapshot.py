"""What the working directory held before a turn, and what is different after it, whatever tool did it."""

from __future__ import annotations

import os
import re
import stat
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from agentroom_machine.daemon.git import GitFailed, git, is_repository, names

MOST_FILES = 50_000
MOST_SECONDS = 10.0
_TEXT = 1_000_000
"""Bytes up to which a file's lines are counted."""
_KEEP = 32_000_000
"""Bytes of file contents that one snapshot keeps, so that lines can be counted where git has no earlier text."""
_SKIPPED = {".git", "node_modules", ".venv", "venv", "__pycache__", ".tox", ".mypy_cache", ".ruff_cache", ".agentroom"}

_ENTRY = re.compile(
    rb"\d+ (?P<object>[0-9a-f]+) \d\t(?P<name>[^\0]+)\0  ctime: \d+:\d+\n"
    rb"  mtime: (?P<seconds>\d+):(?P<nanoseconds>\d+)\n[^\n]*\n[^\n]*\n  size: (?P<size>\d+)\t[^\n]*\n"
)
Mark = tuple[int, int, int, int]
"""Modification and change time, size, inode."""


@dataclass(frozen=True)
class Difference:
    path: Path
    """Relative to the working directory."""
    change: Literal["created", "changed", "deleted"]
    old: str | None
    """The text before; None where it is none, or unknown."""
    new: str | None


@dataclass
class Snapshot:
    workdir: Path
    repository: bool
    marks: dict[str, Mark] = field(default_factory=dict)
    blobs: dict[str, str] = field(default_factory=dict)
    """The object that holds a clean tracked file's content."""
    texts: dict[str, bytes] = field(default_factory=dict)
    complete: bool = True


def take(workdir: Path) -> Snapshot:
    """Looks at the working directory; bounded in files and seconds. Blocks: call it in a thread."""
    snapshot = Snapshot(workdir, is_repository(workdir))
    snapshot.marks, snapshot.complete = _marks(workdir, snapshot.repository)
    dirty = set(snapshot.marks)
    if snapshot.repository:
        try:
            written = _written(workdir)
            for name, (blob, size, at) in _index(workdir).items():
                mark = snapshot.marks.get(name)
                # As young as the index itself: it may have changed in that same instant.
                if mark and mark[2] == size and mark[0] == at and at < written:
                    snapshot.blobs[name] = blob
            dirty -= set(snapshot.blobs)
        except (GitFailed, OSError):
            snapshot.blobs = {}
    kept = 0
    for name in sorted(dirty):
        size = snapshot.marks[name][2] if name in snapshot.marks else _TEXT
        if size < _TEXT and kept + size <= _KEEP and (content := _read(workdir / name)) is not None:
            snapshot.texts[name] = content
            kept += len(content)
    return snapshot


def differences(before: Snapshot) -> list[Difference]:
    """What changed since; blocks too."""
    after, complete = _marks(before.workdir, before.repository)
    found = []
    for name in sorted(set(before.marks) | set(after)):
        if before.marks.get(name) == after.get(name):
            continue
        if (name not in before.marks and not before.complete) or (name not in after and not complete):
            continue  # it may have been there, unseen
        old = _before(before, name) if name in before.marks else b""
        new = _read(before.workdir / name) if name in after else b""
        if old is not None and old == new and (name in before.marks) == (name in after):
            continue
        change: Literal["created", "changed", "deleted"] = (
            "created" if name not in before.marks else "deleted" if name not in after else "changed"
        )
        found.append(Difference(Path(name), change, _text(old), _text(new)))
    return found


def _marks(workdir: Path, repository: bool) -> tuple[dict[str, Mark], bool]:
    deadline = time.monotonic() + MOST_SECONDS
    marks: dict[str, Mark] = {}
    for name in _listed(workdir) if repository else _walked(workdir):
        if len(marks) >= MOST_FILES or time.monotonic() > deadline:
            return marks, False
        try:
            seen = (workdir / name).lstat()
        except (OSError, ValueError):
            continue
        if stat.S_ISREG(seen.st_mode):
            marks[name] = (seen.st_mtime_ns, seen.st_ctime_ns, seen.st_size, seen.st_ino)
    return marks, True


def _listed(workdir: Path) -> Iterator[str]:
    try:
        output = git(workdir, "ls-files", "-z", "--cached", "--others", "--exclude-standard")
    except GitFailed:
        yield from _walked(workdir)
        return
    yield from names(output)


def _walked(workdir: Path) -> Iterator[str]:
    for base, folders, files in os.walk(workdir):
        folders[:] = [name for name in folders if name not in _SKIPPED]
        for name in files:
            yield os.path.relpath(Path(base, name), workdir)


def _index(workdir: Path) -> dict[str, tuple[str, int, int]]:
    """Each tracked file's object, and the size and modification time that it had when git last looked.

    The comparison is ours: git itself would compare contents through whatever filter the repository names.
    """
    entries = {}
    for found in _ENTRY.finditer(git(workdir, "ls-files", "-z", "--stage", "--debug")):
        seconds, nanoseconds = int(found["seconds"]), int(found["nanoseconds"])
        name = os.fsdecode(found["name"])
        entries[name] = (found["object"].decode(), int(found["size"]), seconds * 1_000_000_000 + nanoseconds)
    return entries


def _written(workdir: Path) -> int:
    index = Path(os.fsdecode(git(workdir, "rev-parse", "--git-path", "index").strip()))
    return (workdir / index).stat().st_mtime_ns


def _before(snapshot: Snapshot, name: str) -> bytes | None:
    if name in snapshot.texts:
        return snapshot.texts[name]
    if name in snapshot.blobs and snapshot.marks[name][2] < _TEXT:
        try:
            return git(snapshot.workdir, "cat-file", "blob", snapshot.blobs[name])
        except GitFailed:
            return None
    return None


def _read(path: Path) -> bytes | None:
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except (OSError, ValueError):
        return None
    with os.fdopen(descriptor, "rb") as file:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            return None
        content = file.read(_TEXT + 1)
    return content if len(content) <= _TEXT else None


def _text(content: bytes | None) -> str | None:
    if content is None or b"\0" in content[:8192]:
        return None
    return content.decode("utf-8", errors="replace")
