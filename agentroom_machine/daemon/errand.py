"""One approved command done outside of the confinement, exactly as it was shown: a single program and its words."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import signal
import stat
import subprocess
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from agentroom_machine.daemon import named
from agentroom_machine.daemon.named import Unclear

TIME = 120.0
"""Seconds; after that it is ended, and what it did is not known."""
MAX_OUTPUT = 60_000
_SHELL = re.compile(r"[;&|<>()$`\\*?\[\]{}!#\n\r\x00]")
"""Whatever a shell would read as more than words."""
MAX_INPUT = 256 * 1024 * 1024
"""Bytes of a file that is copied for it; a longer one keeps the command inside."""
_MORE = re.compile(r"-[A-Za-z]*K.*|--(conf|eng|cli-input|flags-file).*|.*fileb?://.*", re.DOTALL)
"""Words that fetch further words, or code, from a file."""
_Stamp = tuple[int, int, int, int]


@dataclass(frozen=True)
class Errand:
    program: Path
    words: tuple[str, ...]
    cwd: Path
    names: tuple[str, ...] = ()
    """For each word after the first its end that names a file, or nothing."""
    files: Mapping[Path, _Stamp] = field(default_factory=dict)
    """The files that are there, as they were when the owner was shown the command."""

    def shown(self) -> str:
        """What will happen, whole: to be shown to the owner, and bound by the question's digest."""
        line = shlex.join([str(self.program), *self.words[1:]])
        return f"{line}\n\nAgentroom does this itself, outside of the agent's box, exactly so and once."

    def short(self) -> str:
        """The same in one line, for the room."""
        return shlex.join(self.words)


@dataclass(frozen=True)
class ErrandResult:
    state: Literal["done", "failed", "unknown"]
    output: str
    code: int | None = None


def resolve(command: str, cwd: Path, workdir: Path, environ: Mapping[str, str] | None = None) -> Errand | None:
    """A command of one known program with plain words; None for any other, which then stays confined. Blocks.

    A file is named by its own name alone: what the project makes a link of could lead anywhere.
    """
    words = _words(command)
    if not words or words[0] not in named.PROGRAMS or any(_MORE.fullmatch(word) for word in words[1:]):
        return None
    env = environ if environ is not None else os.environ
    found = shutil.which(words[0], path=env.get("PATH"))
    if not found or not Path(found).is_absolute():
        return None
    program, inside = Path(os.path.realpath(found)), Path(os.path.realpath(workdir))
    if program.is_relative_to(inside) or Path(found).is_relative_to(inside):
        return None
    here, top, real = Path(os.path.normpath(cwd)), Path(os.path.normpath(workdir)), Path(os.path.realpath(cwd))
    if real != (inside / here.relative_to(top) if here.is_relative_to(top) else here):
        return None
    try:
        names = named.names(words, real)
        seen = {path: _seen(path) for path in (Path(os.path.normpath(real / name)) for name in names if name)}
    except (Unclear, OSError):
        return None
    files = {path: stamp for path, stamp in seen.items() if stamp}
    return Errand(Path(found), tuple(words), real, tuple(names), files)


def _seen(path: Path) -> _Stamp | None:
    """What tells a file from any other and from its own later states; None where there is none."""
    if os.path.realpath(path) != str(path):
        raise Unclear
    try:
        found = path.lstat()
    except (FileNotFoundError, NotADirectoryError):
        return None
    if not stat.S_ISREG(found.st_mode) or found.st_size > MAX_INPUT:
        raise Unclear
    return _stamp(found)


def _stamp(found: os.stat_result) -> _Stamp:
    # Whoever writes to a file can set every time of it but this one.
    return found.st_dev, found.st_ino, found.st_size, found.st_ctime_ns


def _words(command: str) -> list[str] | None:
    text = command.strip()
    if _SHELL.search(text) or not text.isprintable():
        return None
    try:
        words = shlex.split(text)
    except ValueError:
        return None
    if not words or "=" in words[0]:
        return None
    home = os.path.realpath(Path.home())
    opened = [f"{home}{word[1:]}" if word == "~" or word.startswith("~/") else word for word in words]
    return None if any(word.startswith("~") for word in opened) or "'~" in text or '"~' in text else opened


def _passes(name: str) -> bool:
    return not name.startswith(("GIT_", "AGENTROOM_", "LD_", "DYLD_", "BASH_"))


def run(errand: Errand, environ: Mapping[str, str] | None = None, *, within: Path | None = None) -> ErrandResult:
    """Does it, without a shell, with the owner's own environment and sign-ins. Blocks; call it once.

    It works in a folder of its own, on copies: whatever the project changes meanwhile, no name leads anywhere else.
    ``within``: where that folder lies; in the system's folder for such, where others may write too, if nothing is said.
    """
    env = {name: value for name, value in (environ if environ is not None else os.environ).items() if _passes(name)}
    with tempfile.TemporaryDirectory(prefix="ar-errand-", dir=within, ignore_cleanup_errors=True) as folder:
        top = Path(os.path.realpath(folder))
        try:
            _below(top, errand.cwd).mkdir(parents=True, exist_ok=True)
            for path, stamp in errand.files.items():
                _copy(path, stamp, _below(top, path))
        except (_Changed, OSError) as error:
            return ErrandResult("failed", f"It was not begun: {error}")
        return _run(errand, top, env)


class _Changed(Exception):
    """A file is not what the owner was shown."""


def _below(top: Path, path: Path) -> Path:
    return top.joinpath(*path.parts[1:])


def _copy(path: Path, stamp: _Stamp, to: Path) -> None:
    """Copies a file as it was shown; raises where it is another one by now, or lies behind a link."""
    changed = _Changed(f"{path} is not what it was when it was shown.")
    to.parent.mkdir(parents=True, exist_ok=True)
    with open(_opened(path), "rb") as source, to.open("xb") as target:
        if _stamp(os.fstat(source.fileno())) != stamp:
            raise changed
        shutil.copyfileobj(source, target)
        if _stamp(os.fstat(source.fileno())) != stamp:
            raise changed


def _opened(path: Path) -> int:
    """The file, come to without following a link anywhere on the way."""
    way = getattr(os, "O_PATH", os.O_RDONLY) | os.O_DIRECTORY | os.O_NOFOLLOW
    folder = os.open("/", way)
    try:
        for name in path.parts[1:-1]:
            inner = os.open(name, way, dir_fd=folder)
            os.close(folder)
            folder = inner
        return os.open(path.name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK, dir_fd=folder)
    finally:
        os.close(folder)


def _run(errand: Errand, top: Path, env: Mapping[str, str]) -> ErrandResult:
    words = list(errand.words[1:])
    for at, name in enumerate(errand.names):
        if name.startswith("/") or ".." in name.split("/"):
            there = _below(top, Path(os.path.normpath(errand.cwd / name)))
            words[at] = f"{words[at].removesuffix(name)}{there}"
    try:
        process = subprocess.Popen(
            [str(errand.program), *words], cwd=_below(top, errand.cwd), env=env, stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True,
        )  # fmt: skip
    except OSError as error:
        return ErrandResult("failed", f"It could not be started: {error}")
    try:
        raw, _ = process.communicate(timeout=TIME)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        return ErrandResult("unknown", f"It was ended after {TIME:.0f} s; what it did is not known.")
    text = raw.decode(errors="replace").replace(str(top), "")
    if len(text) > MAX_OUTPUT:
        text = f"{text[:MAX_OUTPUT]}\n[cut: {len(text) - MAX_OUTPUT} more characters]"
    copies = {_below(top, path) for path in errand.files}
    if written := sorted(path.name for path in top.rglob("*") if path.is_file() and path not in copies):
        text = f"{text}\n[not kept, because nothing is written by name outside of the box: {', '.join(written)[:500]}]"
    return ErrandResult("done" if process.returncode == 0 else "failed", text, process.returncode)
