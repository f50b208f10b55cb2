"""The one decision about a shell command."""

from __future__ import annotations

from pathlib import Path

from agentroom_machine.danger.policy import Policy
from agentroom_machine.danger.programs import find_program
from agentroom_machine.danger.reader import Reader
from agentroom_machine.danger.reading import Finding, Reading, verdict
from agentroom_machine.danger.unknown import RESERVED

MAX_COMMAND = 64_000
_NOTHING = Policy()


def classify(command: str, *, cwd: Path | None = None, confined: bool = True, policy: Policy = _NOTHING) -> Reading:
    """What a command for the shell would do, read and never run; whatever is not understood pauses.

    ``confined`` says that it runs where it can neither reach the network nor read secrets, and that what it removes can
    be restored: then the project's own code, whose text tells nothing, needs no question.
    """
    if len(command) > MAX_COMMAND:
        return verdict([Finding("unreadable", "it is too long to be read")], confined=confined)
    if RESERVED.search(command):
        return verdict([Finding("unreadable", "it holds characters that no text has")], confined=confined)
    reader = Reader(cwd, policy, find_program)
    try:
        findings = reader.read(command)
    except Exception:  # noqa: BLE001 - whatever goes wrong in reading, the owner is asked
        findings = [*reader.findings, Finding("unreadable", "reading it failed")]
    return verdict(findings, confined=confined)
