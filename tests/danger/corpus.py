"""Commands and what must come of each: ``corpus.jsonl`` beside this file, one JSON object a line."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple


class Line(NamedTuple):
    command: str
    expect: str | None


LINES = [
    Line(said["command"], said["expect"])
    for said in map(json.loads, (Path(__file__).parent / "corpus.jsonl").read_text().splitlines())
]
ATTACKS = [json.loads(said)["command"] for said in (Path(__file__).parent / "attacks.jsonl").read_text().splitlines()]
"""Commands made to get past the reader; whatever kind they are of, they pause."""
DANGEROUS = [line for line in LINES if line.expect is not None]
HARMLESS = [line for line in LINES if line.expect is None]


def quoted(command: str) -> str:
    return "'" + command.replace("'", "'\\''") + "'"


def closed(command: str) -> bool:
    """Whether a command can stand inside of another: nothing that it opens is left open."""
    return command not in {"echo 'unterminated", "if true; then", "cat <<EOF"}


WRAPPERS: dict[str, Callable[[str], str]] = {
    "after another": lambda command: f"ls; {command}",
    "on a line of its own": lambda command: f"cd src\n{command}\n",
    "in a subshell": lambda command: f"(\n{command}\n)",
    "in a group": lambda command: f"{{\n{command}\n}}",
    "in a condition": lambda command: f"if true; then\n{command}\nfi",
    "in a loop": lambda command: f"for i in 1 2; do\n{command}\ndone",
    "in a substitution": lambda command: f'echo "$(\n{command}\n)"',
    "for another shell": lambda command: f"bash -c {quoted(command)}",
    "for a shell in a shell": lambda command: f"sh -c {quoted(f'bash -lc {quoted(command)}')}",
    "in a function": lambda command: f"work() {{\n{command}\n}}\nwork",
    "evaluated": lambda command: f"eval {quoted(command)}",
    "as a here-document": lambda command: f"bash <<'A_LINE_OF_ITS_OWN'\n{command}\nA_LINE_OF_ITS_OWN",
    "piped": lambda command: f"printf %s {quoted(command)} | timeout 60 bash",
    "with a shell's options": lambda command: f"env -u X nice -n 5 bash -euo pipefail -c {quoted(command)}",
}
