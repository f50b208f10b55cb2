"""Looks for what is missing, and names the command that mends it."""

from __future__ import annotations

import click

from agentroom_machine.cli.output import Context, as_json, say, say_json
from agentroom_machine.doctor import Finding, examine


@click.command()
@as_json
@click.pass_obj
def doctor(context: Context, as_json: bool) -> None:
    """Check this machine: what is missing, and the command that mends it. Exits 1 when something must be mended."""
    findings = examine(context.profile)
    if as_json:
        say_json([{"state": f.state, "about": f.about, "text": f.text, "mend": f.mend} for f in findings])
    else:
        for finding in findings:
            _tell(finding)
    if any(finding.state == "broken" for finding in findings):
        raise click.exceptions.Exit(1)


def _tell(finding: Finding) -> None:
    word = {"good": "ok     ", "hint": "note   ", "broken": "mend   "}[finding.state]
    say(f"{word}{finding.about}: {finding.text}")
    if finding.mend:
        say(f"         {finding.mend}")
