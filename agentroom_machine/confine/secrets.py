"""Which files hold secrets: in the working directory by their names, in /etc by who may read them."""

from __future__ import annotations

import os
import re
import stat
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from agentroom_machine.danger import places
from agentroom_machine.danger.policy import Policy

MOST_FILES = 100_000
MOST_SECONDS = 5.0
_FOLDERS = {".ssh", ".aws", ".gnupg", ".kube", ".docker", ".azure", ".gcloud", ".password-store", ".secrets"}
_SKIPPED = {"node_modules", ".venv", "venv", "__pycache__", ".tox", "site-packages", ".mypy_cache", ".ruff_cache"}
"""What packages bring along: certificates by the hundred, and nobody's secrets."""
_ONLY_WITH_TOKEN = {".npmrc", ".mcp.json", ".wgetrc", ".curlrc"}
"""Plain settings in most projects; secret when a token stands in them."""
_TOKEN = re.compile(rb"(?i)_auth|_password|token|secret|bearer|api[_-]?key|^\s*(?:user|password)\b", re.MULTILINE)


@dataclass
class Found:
    """What a look through a working directory found."""

    files: list[Path] = field(default_factory=list)
    folders: list[Path] = field(default_factory=list)
    repositories: list[Path] = field(default_factory=list)
    """Every ``.git``, folder or file."""
    complete: bool = True


def look(workdir: Path, policy: Policy | None = None) -> Found:
    """Looks through the working directory; bounded in files and seconds. Blocks."""
    found, named = Found(), _named(policy or Policy())
    deadline, seen = time.monotonic() + MOST_SECONDS, 0
    for base, folders, files in os.walk(workdir):
        here = Path(base)
        if ".git" in folders or ".git" in files:
            found.repositories.append(here / ".git")
        found.folders += [here / name for name in folders if name.casefold() in _FOLDERS and _filled(here / name)]
        folders[:] = [name for name in folders if name not in _SKIPPED | {".git"} and name.casefold() not in _FOLDERS]
        found.files += [here / name for name in files if _secret(here / name, workdir, named)]
        seen += len(files) + 1
        if seen > MOST_FILES or time.monotonic() > deadline:
            found.complete = False
            break
    return found


def _filled(folder: Path) -> bool:
    """Codex makes empty ones itself, to keep them from being made; to hide these too would break its sandbox."""
    try:
        return any(folder.iterdir())
    except OSError:
        return True


def _named(policy: Policy) -> Callable[[str], bool]:
    return policy.secret if policy.secrets else lambda path: False


def _secret(path: Path, workdir: Path, named: Callable[[str], bool]) -> bool:
    name = path.name
    if name.casefold() in _ONLY_WITH_TOKEN:
        return _holds_token(path)
    inside = path.relative_to(workdir).as_posix()
    return (places.secret(name) and places.secret(inside)) or named(inside)


def _holds_token(path: Path) -> bool:
    try:
        if not stat.S_ISREG(path.lstat().st_mode):
            return False
        with path.open("rb") as file:
            return bool(_TOKEN.search(file.read(100_000)))
    except OSError:
        return True


def closed(root: Path) -> Iterator[Path]:
    """What not everybody may read below a folder of the system: a daemon that runs as root could read it."""
    for base, folders, files in os.walk(root):
        for name in list(folders):
            if not _open(Path(base, name), stat.S_IROTH | stat.S_IXOTH):
                folders.remove(name)
                yield Path(base, name)
        for name in files:
            if not _open(Path(base, name), stat.S_IROTH):
                yield Path(base, name)


def _open(path: Path, wanted: int) -> bool:
    try:
        seen = path.lstat()
    except OSError:
        return True  # gone, or not ours to see
    return stat.S_ISLNK(seen.st_mode) or seen.st_mode & wanted == wanted
