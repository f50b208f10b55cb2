"""Files that cross the line: what a turn produced goes up, what was attached to a request comes down."""

from __future__ import annotations

import hashlib
import os
import re
import stat
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from agentroom_machine import wire
from agentroom_machine.daemon.redact import Redactor
from agentroom_machine.daemon.snapshot import Difference
from agentroom_machine.daemon.within import inside, secret

MOST_FILES = 20
TYPES = {
    ".png": "image/png", ".jpg": "image/jpeg", ".jpeg": "image/jpeg", ".gif": "image/gif", ".webp": "image/webp",
    ".svg": "image/svg+xml", ".pdf": "application/pdf", ".csv": "text/csv",
}  # fmt: skip
_TEXTS = {".svg", ".csv"}
_FOLDER = ".agentroom"


@dataclass(frozen=True)
class Produced:
    """A file that may leave, and the fact that names it."""

    fact: wire.ArtifactFact
    path: Path


def produced(workdir: Path, found: Iterable[Difference], redact: Redactor) -> tuple[list[Produced], list[str]]:
    """The pictures, PDFs and tables among a turn's changes, and words about those that stay. Blocks."""
    files: list[Produced] = []
    words: list[str] = []
    wanted = [item.path for item in found if item.change != "deleted" and item.path.suffix.lower() in TYPES]
    for path in wanted:
        if inside(str(path), workdir) is None or secret(path):
            continue
        if len(files) >= MOST_FILES:
            words.append(
                f"Only {MOST_FILES} of {len(wanted)} produced files are shown; the others stay on the machine."
            )
            break
        content = _read(workdir / path)
        name = redact(path.name)[:255]
        if content is None:
            words.append(f"{name} is too large to be shown; it stays on the machine.")
        elif path.suffix.lower() in _TEXTS and redact.finds(content.decode("utf-8", errors="replace")):
            words.append(f"{name} holds something that looks like a secret; it stays on the machine.")
        elif content:
            files.append(Produced(_fact(content, name, TYPES[path.suffix.lower()]), workdir / path))
    return files, words


def _fact(content: bytes, name: str, content_type: str) -> wire.ArtifactFact:
    digest = hashlib.sha256(content).hexdigest()
    return wire.ArtifactFact(sha256=digest, name=name, content_type=content_type, size=len(content))


def picture(data: bytes, content_type: str, name: str, folder: Path) -> Produced | None:
    """An image that came through the protocol, kept in ``folder`` until the journal has it."""
    suffix = next((suffix for suffix, known in TYPES.items() if known == content_type.lower()), None)
    if not data or len(data) > wire.MAX_FILE or suffix is None:
        return None
    with tempfile.NamedTemporaryFile(dir=folder, prefix="picture-", delete=False) as file:
        file.write(data)
    return Produced(_fact(data, f"{name}{suffix}", content_type.lower()), Path(file.name))


def _read(path: Path) -> bytes | None:
    """A regular file's content, no link followed; None when it is none or too large."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError:
        return None
    with os.fdopen(descriptor, "rb") as file:
        seen = os.fstat(descriptor)
        if not stat.S_ISREG(seen.st_mode) or seen.st_size > wire.MAX_FILE:
            return None
        content = file.read(wire.MAX_FILE + 1)
    return content if len(content) <= wire.MAX_FILE else None


def place_for(workdir: Path, turn_id: int) -> Path:
    """The folder for a turn's attached files, below the working directory and ignored by git."""
    top = workdir / _FOLDER
    if top.is_symlink():
        raise OSError(f"{_FOLDER} is a link")
    top.mkdir(exist_ok=True)
    ignore = top / ".gitignore"
    if not ignore.exists():
        ignore.write_text("*\n", encoding="utf-8")
    folder = top / str(turn_id)
    folder.mkdir(exist_ok=True)
    if folder.is_symlink():
        raise OSError(f"{_FOLDER}/{turn_id} is a link")
    return folder


def save(folder: Path, name: str, content: bytes) -> Path:
    """Writes an attached file under a name that is only a name, never over another one."""
    safe = re.sub(r"[^\w.\- ]", "_", name.replace("\\", "/").rsplit("/", 1)[-1]).strip(". ")[:100] or "file"
    stem, dot, suffix = safe.partition(".")
    for n in range(1, 1000):
        path = folder / (safe if n == 1 else f"{stem}-{n}{dot}{suffix}")
        try:
            descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o644)
        except FileExistsError:
            if path.is_file() and not path.is_symlink() and path.read_bytes() == content:
                return path
            continue
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
        return path
    raise OSError("too many files of that name")
