"""What of a git repository may be written inside: enough to commit, nothing that would later run outside."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

_PASSWORD = re.compile(r"(://)[^\s/@\"']+@")


@dataclass
class Kept:
    """How a repository's places are to be mounted, in this order."""

    write: list[Path] = field(default_factory=list)
    read: list[Path] = field(default_factory=list)
    replace: dict[Path, str] = field(default_factory=dict)
    """Files shown with another text: settings without the passwords in their addresses."""


def keep(git: Path, workdir: Path) -> Kept:
    """Makes settings and hooks read-only: what an agent wrote there would run when its owner next uses git.

    ``git`` is a ``.git``, a folder or the file of a worktree. The folder to which such a file points is opened only if
    it points back, which nobody who is confined can forge.
    """
    kept = Kept()
    if git.is_symlink():
        return kept
    if git.is_dir():
        kept.write.append(git)  # a mount of its own, so that it can't be moved away and made anew
        _close(git, kept)
    elif git.is_file():
        kept.read.append(git)
        if (common := _common(git)) and not common.is_relative_to(workdir):
            kept.write.append(common)
            _close(common, kept)
    return kept


def common_folder(git: Path) -> Path | None:
    """The folder with a repository's objects and settings, worktrees looked through; None when it can't be trusted."""
    if git.is_symlink():
        return None
    return git if git.is_dir() else _common(git) if git.is_file() else None


_NOT_LOOKED_INTO = {"hooks", "modules", "lfs", "annex"}
"""No commits are looked for in these. Hooks are often links; the others are other repositories', or a program's own."""


def borrows(folder: Path) -> bool:
    """Whether something in a repository's folder would have git read or write elsewhere: a link, another's folder.

    All of it but settings and hooks can be written inside, and git follows links there like everybody.
    """
    if os.path.realpath(folder) != str(folder) or (folder / "commondir").exists():
        return True
    lists = [folder / "objects/info" / name for name in ("alternates", "http-alternates")]
    # An empty one borrows nothing: Claude Code's sandbox makes it, so that nobody else can.
    return _links(folder) or any(path.exists() and path.read_bytes().strip() for path in lists)


def _links(folder: Path) -> bool:
    waiting = [folder]
    while waiting:
        here = waiting.pop()
        with os.scandir(here) as entries:
            for entry in entries:
                if here == folder and entry.name in _NOT_LOOKED_INTO:
                    continue
                if entry.is_symlink():
                    return True
                if entry.is_dir(follow_symlinks=False):
                    waiting.append(Path(entry.path))
    return False


def unplant(git: Path) -> bool:
    """Takes away what would make git read another repository's settings in place of its own; whether it was there.

    Only a worktree's folder has such a file, never a ``.git`` that is a folder itself.
    """
    pointer = git / "commondir"
    if git.is_symlink() or not git.is_dir() or not (pointer.exists() or pointer.is_symlink()):
        return False
    pointer.unlink()
    return True


def _common(git: Path) -> Path | None:
    try:
        pointer = git.read_text(encoding="utf-8").strip()
        if not pointer.startswith("gitdir: "):
            return None
        own = Path(os.path.realpath(git.parent / pointer.removeprefix("gitdir: ")))
        back = own / (own / "gitdir").read_text(encoding="utf-8").strip()
        if os.path.realpath(back) != os.path.realpath(git):
            return None
        common = Path(os.path.realpath(own / (own / "commondir").read_text(encoding="utf-8").strip()))
    except (OSError, UnicodeError, ValueError):
        return None
    return common if own.parent == common / "worktrees" else None


def _close(folder: Path, kept: Kept) -> None:
    for place in _git_folders(folder):
        hooks, config = place / "hooks", place / "config"
        if not hooks.exists() and not hooks.is_symlink():
            hooks.mkdir(exist_ok=True)  # else it could be made inside
        if hooks.is_dir() and not hooks.is_symlink():
            kept.read.append(hooks)
        if config.is_file() and not config.is_symlink():
            kept.read.append(config)
            text = config.read_text(encoding="utf-8", errors="surrogateescape")
            if _PASSWORD.search(text):
                kept.replace[config] = _PASSWORD.sub(r"\1", text)


def _git_folders(folder: Path) -> Iterator[Path]:
    """The folder and those of its submodules."""
    yield folder
    modules = folder / "modules"
    for base, folders, files in os.walk(modules):
        if "HEAD" in files and "config" in files:
            yield Path(base)
            folders[:] = [name for name in folders if name == "modules"]
