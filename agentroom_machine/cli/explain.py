"""``agentroom explain``: what would happen to a command, and why, without running it."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TextIO

import click

from agentroom_machine.cli.output import say, say_json
from agentroom_machine.danger import Policy, Reading, classify, load
from agentroom_machine.errors import Trouble

MAX_LINE = 1_000_000


@click.command()
@click.argument("command", required=False)
@click.option("--jsonl", is_flag=True, help='Read lines like {"command": "…"}, write each back with "kind".')
@click.option(
    "--confined/--unconfined", default=True, help="Whether the command would run confined. Confined is usual."
)
@click.option(
    "--policy",
    "policy_file",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="An agent's policy file.",
)
@click.option(
    "--workdir",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="The agent's working directory; this one otherwise.",
)
def explain(command: str | None, jsonl: bool, confined: bool, policy_file: Path | None, workdir: Path | None) -> None:
    """Says what COMMAND would do if an agent ran it, and why. It runs nothing.

    Kinds are push, delete, spend, credentials and unreadable: a turn asks you about these, whatever was granted.
    What is none of them runs unasked.
    """
    policy = _policy(policy_file)
    place = workdir or Path.cwd()
    if jsonl:
        if command is not None:
            raise click.UsageError("With --jsonl, commands come by standard input.")
        unread = _lines(sys.stdin, place, confined=confined, policy=policy)
        if unread:
            raise Trouble(
                f'Not like {{"command": "…"}}: {"line" if len(unread) == 1 else "lines"} {", ".join(unread[:20])}.'
            )
        return
    if command is None:
        raise click.UsageError("Say which command: agentroom explain 'git push'")
    for line in words(classify(command, cwd=place, confined=confined, policy=policy)):
        say(line)


def _policy(path: Path | None) -> Policy:
    try:
        return Policy() if path is None else load(path)
    except ValueError as error:
        raise click.BadParameter(str(error), param_hint="--policy") from error


def words(reading: Reading) -> list[str]:
    """A reading in lines for a person."""
    if reading.kind is None:
        return ["runs unasked", f"  {reading.why}."]
    lines = [f"asks you first: {reading.kind}", f"  {reading.why}."]
    if reading.part:
        lines.append(f"  in: {reading.part}")
    others = [finding for finding in reading.findings if (finding.kind, finding.why) != (reading.kind, reading.why)]
    lines += [f"  also {finding.kind}: {finding.why}." for finding in others[:8]]
    return lines


def _lines(source: TextIO, place: Path, *, confined: bool, policy: Policy) -> list[str]:
    """Answers line by line, and gives the numbers of those that could not be read."""
    unread: list[str] = []
    for number, line in enumerate(source, start=1):
        if not line.strip():
            continue
        try:
            said = json.loads(line) if len(line) <= MAX_LINE else None
        except (ValueError, RecursionError):
            said = None
        if not isinstance(said, dict) or not isinstance(said.get("command"), str):
            answer = said if isinstance(said, dict) else {}
            say_json({**answer, "error": 'not a line like {"command": "…"}'})
            unread.append(str(number))
            continue
        reading = classify(said["command"], cwd=place, confined=confined, policy=policy)
        say_json({**said, "kind": reading.kind, "why": reading.why})
    return unread
