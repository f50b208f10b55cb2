"""One approved command done outside of the confinement, exactly as it was shown: a single program and its words."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import signal
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

TIME = 120.0
"""Seconds; after that it is ended, and what it did is not known."""
MAX_OUTPUT = 60_000
_SHELL = re.compile(r"[;&|<>()$`\\*?\[\]{}!#\n\r\x00]")
"""Whatever a shell would read as more than words."""
PROGRAMS = {
    "cat", "head", "tail", "grep", "wc", "ls", "stat", "diff", "sha256sum", "md5sum", "base64", "jq", "curl", "aws",
    "doctl", "hcloud", "stripe",
}  # fmt: skip
"""Programs whose words say all that they do. None runs what the project names: ``gh`` runs git by the repository's own
settings, ``kubectl`` and ``ssh-keygen`` load what a file or an option says, ``op`` starts other programs."""
_MORE = re.compile(r"-[A-Za-z]*K.*|--(conf|eng|cli-input|flags-file).*|.*fileb?://.*", re.DOTALL)
"""Words that fetch further words, or code, from a file."""


@dataclass(frozen=True)
class Errand:
    program: Path
    words: tuple[str, ...]
    cwd: Path

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
    """A command of one known program with plain words; None for any other, which then stays confined. Blocks."""
    words = _words(command)
    if not words or words[0] not in PROGRAMS or any(_MORE.fullmatch(word) for word in words[1:]):
        return None
    env = environ if environ is not None else os.environ
    found = shutil.which(words[0], path=env.get("PATH"))
    if not found or not Path(found).is_absolute():
        return None
    program, inside = Path(os.path.realpath(found)), Path(os.path.realpath(workdir))
    if program.is_relative_to(inside) or Path(found).is_relative_to(inside):
        return None
    return Errand(Path(found), tuple(words), Path(os.path.realpath(cwd)))


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
    home = str(Path.home())
    opened = [f"{home}{word[1:]}" if word == "~" or word.startswith("~/") else word for word in words]
    return None if any(word.startswith("~") for word in opened) or "'~" in text or '"~' in text else opened


def _passes(name: str) -> bool:
    return not name.startswith(("GIT_", "AGENTROOM_", "LD_", "DYLD_", "BASH_"))


def run(errand: Errand, environ: Mapping[str, str] | None = None) -> ErrandResult:
    """Does it, without a shell, with the owner's own environment and sign-ins. Blocks; call it once."""
    env = {name: value for name, value in (environ if environ is not None else os.environ).items() if _passes(name)}
    try:
        process = subprocess.Popen(
            [str(errand.program), *errand.words[1:]], cwd=errand.cwd, env=env, stdin=subprocess.DEVNULL,
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
    text = raw.decode(errors="replace")
    if len(text) > MAX_OUTPUT:
        text = f"{text[:MAX_OUTPUT]}\n[cut: {len(text) - MAX_OUTPUT} more characters]"
    return ErrandResult("done" if process.returncode == 0 else "failed", text, process.returncode)
