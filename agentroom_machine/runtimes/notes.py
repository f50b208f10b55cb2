"""What a repository tells Claude Code in words: its CLAUDE.md. Its settings are not read, so neither would this be."""

from __future__ import annotations

from pathlib import Path

NAMES = ("CLAUDE.md", ".claude/CLAUDE.md", "CLAUDE.local.md")
MOST = 100_000
"""Characters of all of them together."""


def notes(workdir: Path) -> str:
    """The words of these files, each under its name; empty when there are none.

    A link that leads out of the working directory, or to what is no Markdown, is not followed.
    """
    here, told = workdir.resolve(), ""
    for name in NAMES:
        path = here / name
        real = path.resolve()
        if not real.is_relative_to(here) or real.suffix != ".md" or not real.is_file():
            continue
        try:
            with real.open(encoding="utf-8", errors="replace") as file:
                words = file.read(max(0, MOST - len(told)))
        except OSError:
            continue
        if words.strip():
            told += f"# {name} of this repository\n\n{words.strip()}\n\n"
    if not told:
        return ""
    return f"{told}Where these notes name a file with @ before it, read that file when it matters.\n"
