"""Puts back what a turn changed, unless somebody changed it since; follows no link while it does."""

from __future__ import annotations

import contextlib
import os
import secrets
import stat
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Literal

from agentroom_machine.daemon.differing import Changed, repository_of, sha256, sha256_of_copy
from agentroom_machine.daemon.shelf import Kept, Shelf, mark, pour

_REPOSITORY = ("HEAD", "index", "packed-refs", "config", "config.worktree", "refs", "hooks", "info")
"""What of a ``.git`` is put back, all or nothing; commits made meanwhile stay and are found in its log."""


@dataclass
class Outcome:
    """What an undo did, by relative paths; a repository's own files are one name that ends in ``.git``."""

    restored: list[str] = field(default_factory=list)
    removed: list[str] = field(default_factory=list)
    conflicts: list[str] = field(default_factory=list)
    """Left as they are, because somebody changed them since the turn ended."""
    lost: list[str] = field(default_factory=list)
    """Too large, or too many, to have been kept."""


class Undo:
    def __init__(self, shelf: Shelf) -> None:
        self._shelf = shelf
        self._outcome = Outcome()
        self.kept: dict[str, str] = {}
        """Copies of what was replaced or removed."""

    def run(self, changed: list[Changed]) -> Outcome:
        repositories: dict[str, list[Changed]] = {}
        plain: list[Changed] = []
        for one in changed:
            if repository := repository_of(one.path):
                if one.path[len(repository) + 1 :].split("/")[0] in _REPOSITORY or one.change == "deleted":
                    repositories.setdefault(repository, []).append(one)
            else:
                plain.append(one)
        # What was made goes first, the deepest of it before all; then folders, so that files find them.
        for one in sorted(plain, key=lambda one: one.path, reverse=True):
            if one.before is None:
                self._remove(one)
        for one in sorted(plain, key=lambda one: (_kind(one) != "folder", one.path)):
            if one.before is not None:
                self._put_back(one)
        for repository, parts in repositories.items():
            self._repository(repository, parts)
        return self._outcome

    def _put_back(self, one: Changed) -> None:
        match self._state(one):
            case "conflict":
                self._outcome.conflicts.append(one.path)
            case "untouched" if not one.restorable:
                self._outcome.lost.append(one.path)
            case "untouched":
                try:
                    self._write(one)
                except OSError:
                    self._outcome.conflicts.append(one.path)
                else:
                    self._outcome.restored.append(one.path)

    def _remove(self, one: Changed) -> None:
        match self._state(one):
            case "conflict":
                self._outcome.conflicts.append(one.path)
            case "untouched":
                try:
                    self._take_away(one)
                except OSError:
                    if _kind(one) != "folder":  # a folder with something else in it stays
                        self._outcome.conflicts.append(one.path)
                else:
                    self._outcome.removed.append(one.path)

    def _repository(self, name: str, parts: list[Changed]) -> None:
        states = {one.path: self._state(one) for one in parts}
        if "conflict" in states.values():
            self._outcome.conflicts.append(name)
            return
        open_ones = [one for one in parts if states[one.path] == "untouched"]
        if not all(one.restorable for one in open_ones):
            self._outcome.lost.append(name)
            return
        try:
            for one in sorted(open_ones, key=lambda one: (one.before is None, _kind(one) != "folder", one.path)):
                if one.before is not None:
                    self._write(one)
                else:
                    with contextlib.suppress(OSError):
                        self._take_away(one)
        except OSError:
            self._outcome.conflicts.append(name)
        else:
            if open_ones:
                self._outcome.restored.append(name)

    # --- one path

    def _state(self, one: Changed) -> Literal["untouched", "back", "conflict"]:
        """Whether the path is as the turn left it, as it was before, or neither."""
        with self._parent(one.path) as (parent, name):
            try:
                now = os.stat(name, dir_fd=parent, follow_symlinks=False) if parent is not None else None
            except OSError:
                now = None
            if now is None:
                return "back" if one.before is None else "untouched" if one.after is None else "conflict"
            if one.after and _same_kind(now, one.after.kind):
                if one.after.kind == "folder":
                    return "untouched"
                if one.after.kind == "link":
                    if os.readlink(name, dir_fd=parent) == one.after.copy:
                        return "untouched"
                elif mark(now) == one.after.mark or (
                    one.sha256 and sha256(self._shelf.workdir, one.path) == one.sha256
                ):
                    return "untouched"
            return "back" if self._as_before(one, now, name, parent) else "conflict"

    def _as_before(self, one: Changed, now: os.stat_result, name: str, parent: int | None) -> bool:
        before = one.before
        if before is None or not _same_kind(now, before.kind):
            return False
        if before.kind == "link":
            return os.readlink(name, dir_fd=parent) == before.copy
        if before.kind == "folder":
            return True
        if not before.copy:
            return False
        there = sha256_of_copy(self._shelf, one.path, before.copy)
        return bool(there) and sha256(self._shelf.workdir, one.path) == there

    def _write(self, one: Changed) -> None:
        before = one.before
        assert before is not None
        with self._parent(one.path, make=True) as (parent, name):
            if parent is None:
                raise OSError("its folder is gone")
            if before.kind == "folder":
                if one.after and one.after.kind != "folder":
                    os.unlink(name, dir_fd=parent)
                with contextlib.suppress(FileExistsError):
                    os.mkdir(name, stat.S_IMODE(before.mode) | stat.S_IRWXU, dir_fd=parent)
                return
            if one.after and one.after.kind == "file":
                self.kept[one.path] = self._shelf.keep(name, parent)
            if one.after and one.after.kind == "folder":
                os.rmdir(name, dir_fd=parent)
            draft = f".{secrets.token_hex(6)}.agentroom"
            try:
                if before.kind == "link":
                    os.symlink(before.copy, draft, dir_fd=parent)
                else:
                    self._copy_back(before, draft, parent)
                os.replace(draft, name, src_dir_fd=parent, dst_dir_fd=parent)
            except OSError:
                with contextlib.suppress(OSError):
                    os.unlink(draft, dir_fd=parent)
                raise

    def _copy_back(self, before: Kept, draft: str, parent: int) -> None:
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW
        target = os.open(draft, flags, 0o600, dir_fd=parent)
        try:
            source = os.open(self._shelf.copy(before.copy), os.O_RDONLY)
            try:
                pour(source, target)
            finally:
                os.close(source)
            os.fchmod(target, stat.S_IMODE(before.mode) & 0o777)
        finally:
            os.close(target)

    def _take_away(self, one: Changed) -> None:
        with self._parent(one.path) as (parent, name):
            if parent is None:
                return
            if _kind(one) == "folder":
                os.rmdir(name, dir_fd=parent)
                return
            if _kind(one) == "file":
                self.kept[one.path] = self._shelf.keep(name, parent)
            os.unlink(name, dir_fd=parent)

    @contextlib.contextmanager
    def _parent(self, path: str, *, make: bool = False) -> Iterator[tuple[int | None, str]]:
        """The open folder of a path and its name there; None when there is no such folder. No link is followed."""
        *folders, name = path.split("/")
        flags = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW
        at: int | None = os.open(self._shelf.workdir, flags)
        try:
            for folder in folders:
                assert at is not None
                if make:
                    with contextlib.suppress(FileExistsError):
                        os.mkdir(folder, 0o755, dir_fd=at)
                inner = os.open(folder, flags, dir_fd=at)
                os.close(at)
                at = inner
        except OSError:
            if at is not None:
                os.close(at)
            at = None
        try:
            yield at, name
        finally:
            if at is not None:
                os.close(at)


def _kind(one: Changed) -> str:
    kept = one.before or one.after
    return kept.kind if kept else ""


def _same_kind(seen: os.stat_result, kind: str) -> bool:
    tests = {"file": stat.S_ISREG, "folder": stat.S_ISDIR, "link": stat.S_ISLNK}
    return tests[kind](seen.st_mode)
