"""What is different in a working directory between two looks at it."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from pydantic import TypeAdapter

from agentroom_machine.daemon.git import GitFailed, git
from agentroom_machine.daemon.shelf import Kept, Shelf, State, digest
from agentroom_machine.profile import write_private

Change = Literal["created", "changed", "deleted"]


@dataclass
class Changed:
    """One path that a turn left different."""

    path: str
    before: Kept | None
    after: Kept | None
    sha256: str = ""
    """Of what it held when the turn ended."""

    @property
    def change(self) -> Change:
        return "created" if self.before is None else "deleted" if self.after is None else "changed"

    @property
    def restorable(self) -> bool:
        return self.before is None or self.before.whole


def changes(shelf: Shelf, before: State, after: State) -> Iterator[Changed]:
    for path in sorted(before.keys() | after.keys()):
        old, new = before.get(path), after.get(path)
        if old and new and (old.kind, old.mode) == (new.kind, new.mode):
            same = old.kind == "folder" or (old.copy == new.copy if old.kind == "link" else old.mark == new.mark)
            if same:
                continue
        sha = sha256(shelf.workdir, path) if new and new.kind == "file" else ""
        files = old and new and old.kind == new.kind == "file" and old.mode == new.mode
        if files and old and old.copy and sha and sha == sha256_of_copy(shelf, path, old.copy):
            continue  # touched, or written anew as it was
        yield Changed(path, old, new, sha)


def sha256(workdir: Path, path: str) -> str:
    """Of a file; of git's index, of what it says, because git writes it anew whenever it looks."""
    try:
        if _is_index(path):
            return _says(workdir, path, workdir / path)
        return digest(os.open(workdir / path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK))
    except (OSError, GitFailed):
        return ""


def sha256_of_copy(shelf: Shelf, path: str, copy: str) -> str:
    try:
        if _is_index(path):
            return _says(shelf.workdir, path, shelf.copy(copy))
        return digest(os.open(shelf.copy(copy), os.O_RDONLY))
    except (OSError, GitFailed):
        return ""


def _is_index(path: str) -> bool:
    return path == f"{repository_of(path) or '.git'}/index"


def _says(workdir: Path, path: str, index: Path) -> str:
    listed = git((workdir / path).parent.parent, "ls-files", "--stage", "-z", index=index)
    return hashlib.sha256(listed).hexdigest()


def repository_of(path: str) -> str:
    """The ``.git`` in which a path lies; nothing when it lies in none."""
    parts = path.split("/")
    return "/".join(parts[: parts.index(".git") + 1]) if ".git" in parts[:-1] else ""


_ROWS: TypeAdapter[list[Changed]] = TypeAdapter(list[Changed])


def write(place: Path, changed: Iterable[Changed]) -> None:
    write_private(place, _ROWS.dump_json(list(changed)).decode())


def read(place: Path) -> list[Changed]:
    return _ROWS.validate_json(place.read_bytes())
