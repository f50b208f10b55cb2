"""Copies of a working directory's files, each kept once, so that a turn can be undone."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import secrets
import shutil
import stat
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from agentroom_machine.profile import write_private

MOST_ENTRIES = 200_000
MOST_SECONDS = 10.0
"""For one look; what could not be copied in it is copied at the next."""
BIGGEST = 100_000_000
"""Bytes up to which one file is kept."""
MOST_BYTES = 2_000_000_000
"""Bytes of copies for one working directory."""
LEAVE_FREE = 1_000_000_000
_LAST = {"node_modules", ".venv", "venv", "__pycache__", ".tox", "target", ".mypy_cache", ".ruff_cache", ".gradle"}
"""What can be made again: looked at last, so that it never keeps anything else out."""

Kind = Literal["file", "folder", "link"]
Mark = tuple[int, int, int, int]
"""Modification and change time, size, inode."""


@dataclass(frozen=True, slots=True)
class Kept:
    kind: Kind
    mode: int
    mark: Mark
    copy: str = ""
    """Where a link leads; the name of a file's copy, empty when it could not be kept."""

    @property
    def whole(self) -> bool:
        return self.kind != "file" or bool(self.copy)


State = dict[str, Kept]
"""Everything in a working directory, by its relative path."""


class Shelf:
    """The copies for one working directory. Blocks: call it in a thread, one call at a time."""

    def __init__(self, folder: Path, workdir: Path) -> None:
        self.folder, self.workdir = folder, workdir
        self.turns = folder / "turns"
        self._copies = folder / "copies"
        self._latest = folder / "latest.json"
        for place in (folder, self.turns, self._copies):
            place.mkdir(parents=True, exist_ok=True, mode=0o700)

    def look(self, *, copy: bool) -> State:
        """The present state. With ``copy`` every file that changed since the last such look is copied."""
        earlier = load(self._latest)
        state: State = {}
        deadline, room = time.monotonic() + MOST_SECONDS, self._room(earlier) if copy else 0
        for path, name, descriptor, seen in _everything(self.workdir):
            kept = earlier.get(path)
            now = mark(seen)
            if kept and kept.mark == now and kept.mode == seen.st_mode and kept.whole:
                state[path] = kept
            elif stat.S_ISLNK(seen.st_mode):
                state[path] = Kept("link", seen.st_mode, now, os.readlink(name, dir_fd=descriptor))
            elif stat.S_ISDIR(seen.st_mode):
                state[path] = Kept("folder", seen.st_mode, now)
            elif stat.S_ISREG(seen.st_mode):
                made = ""
                if copy and seen.st_size <= min(BIGGEST, room) and time.monotonic() < deadline:
                    made = self._copy(name, descriptor)
                    room -= seen.st_size if made else 0
                state[path] = Kept("file", seen.st_mode, now, made)
        if copy:
            save(self._latest, state)
        return state

    def _room(self, earlier: State) -> int:
        used = sum(kept.mark[2] for kept in earlier.values() if kept.copy)
        return max(0, min(MOST_BYTES - used, shutil.disk_usage(self.folder).free - LEAVE_FREE))

    def _copy(self, name: str, folder: int) -> str:
        """Copies one file; the copy's name, or nothing when it can't be read."""
        copy = secrets.token_hex(12)
        place = self.copy(copy)
        place.parent.mkdir(exist_ok=True, mode=0o700)
        try:
            source = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK, dir_fd=folder)
        except OSError:
            return ""
        try:
            target = os.open(place, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            try:
                pour(source, target)
            finally:
                os.close(target)
        except OSError:
            place.unlink(missing_ok=True)
            return ""
        finally:
            os.close(source)
        return copy

    def keep(self, path: str, folder: int) -> str:
        """Copies what is about to be replaced or removed by an undo."""
        return self._copy(path, folder)

    def copy(self, name: str) -> Path:
        return self._copies / name[:2] / name

    def drop_unused(self, used: set[str]) -> None:
        """Removes every copy that neither a turn nor the latest look names."""
        used = used | {kept.copy for kept in load(self._latest).values()}
        for place in self._copies.glob("??/*"):
            if place.name not in used:
                place.unlink(missing_ok=True)


def _everything(workdir: Path) -> Iterator[tuple[str, str, int, os.stat_result]]:
    """Relative path, name, its folder's descriptor, and how it looks; what can be made again comes last."""
    left, later = [MOST_ENTRIES], list[str]()
    yield from _below(workdir, "", left, later)
    for path in later:
        yield from _below(workdir, path, left, None)


def _below(
    workdir: Path, start: str, left: list[int], later: list[str] | None
) -> Iterator[tuple[str, str, int, os.stat_result]]:
    # By descriptors, so that a folder that becomes a link meanwhile leads nowhere.
    for base, folders, files, descriptor in os.fwalk(workdir / start):
        here = os.path.relpath(base, workdir)
        prefix = "" if here == "." else f"{here}/"
        for name in [*folders, *files]:
            if left[0] <= 0:
                return
            left[0] -= 1
            with contextlib.suppress(OSError):
                yield prefix + name, name, descriptor, os.stat(name, dir_fd=descriptor, follow_symlinks=False)
        if later is not None:
            later += [prefix + name for name in folders if name in _LAST]
            folders[:] = [name for name in folders if name not in _LAST]


def mark(seen: os.stat_result) -> Mark:
    return (seen.st_mtime_ns, seen.st_ctime_ns, seen.st_size, seen.st_ino)


def pour(source: int, target: int) -> None:
    """Copies a file's bytes within the kernel where it can; where the disk knows how, they are shared."""
    try:
        while os.copy_file_range(source, target, 1 << 30):
            pass
    except OSError:
        os.lseek(source, 0, os.SEEK_SET)
        os.ftruncate(target, 0)
        os.lseek(target, 0, os.SEEK_SET)
        while piece := os.read(source, 1 << 20):
            os.write(target, piece)


def digest(descriptor: int) -> str:
    with os.fdopen(descriptor, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def load(path: Path) -> State:
    try:
        kept = json.loads(path.read_bytes())
        return {name: Kept(kind, mode, (a, b, c, d), copy) for name, (kind, mode, a, b, c, d, copy) in kept.items()}
    except (OSError, ValueError, TypeError):
        return {}


def save(path: Path, state: State) -> None:
    rows = {name: (kept.kind, kept.mode, *kept.mark, kept.copy) for name, kept in state.items()}
    write_private(path, json.dumps(rows, ensure_ascii=True))
