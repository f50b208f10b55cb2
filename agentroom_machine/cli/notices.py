"""``agentroom notices`` and ``agentroom hook``: mail of an agent that its owner runs by hand."""

from __future__ import annotations

import json
import os
import shlex
import sys
from pathlib import Path
from typing import Any, Literal

import click

from agentroom_machine import notices as mail
from agentroom_machine.cli.output import Context, say
from agentroom_machine.errors import Offline, Trouble

Program = Literal["claude", "codex"]
PROGRAMS = click.Choice(["claude", "codex"])
SECONDS = 15
"""After which a program goes on without the hook's answer."""

server_option = click.option(
    "--server", metavar="URL", help="The server; else the one that this machine is paired with."
)
token_file = click.option(
    "--token-file",
    type=click.Path(dir_okay=False, path_type=Path),
    help=f"Has the connection's token, and only you can read it; else the variable {mail.VARIABLE} has it.",
)


@click.command()
@click.option("--hook", type=PROGRAMS, help="Answer that program's hook, which asks by standard input.")
@server_option
@token_file
@click.pass_obj
def notices(context: Context, hook: Program | None, server: str | None, token_file: Path | None) -> None:
    """Shows what waits in an agent's inbox, one line a letter. It marks nothing as read."""
    if hook is None:
        for line in mail.lines(_waiting(context, server, token_file)) or ["No mail waits."]:
            say(line)
        return
    event = _event()
    if event is None:
        return
    try:
        letters = _waiting(context, server, token_file)
    except Offline:
        return
    told = mail.Told(context.profile.folder / "notices", mail.token(os.environ, token_file), str(event["session_id"]))
    if answer := mail.said_to(event, letters, told):
        # On one line and in ASCII, whatever reads it.
        click.echo(json.dumps(answer))


@click.command()
@click.argument("program", type=PROGRAMS)
@server_option
@token_file
@click.pass_obj
def hook(context: Context, program: Program, server: str | None, token_file: Path | None) -> None:
    """Prints settings that let Claude Code or Codex, run by hand, hear of mail at its start and after each turn."""
    file = token_file.absolute() if token_file else None
    words = [sys.executable, "-P", "-m", "agentroom_machine", "notices", "--hook", program]
    words += ["--server", _server(context, server), *(["--token-file", str(file)] if file else [])]
    # 2 would be a no to whatever the program does; a mistake here is none.
    command = f"{shlex.join(words)} || exit 1"
    entry = [{"hooks": [{"type": "command", "command": command, "timeout": SECONDS}]}]
    click.echo(json.dumps({"hooks": dict.fromkeys((*mail.AT_START, mail.AT_END), entry)}, indent=2))
    where = {
        "claude": "Put this into ~/.claude/settings.json, or into .claude/settings.local.json of one project.",
        "codex": "Put this into ~/.codex/hooks.json, start Codex, and let it trust the hooks with /hooks.",
    }
    click.echo(where[program], err=True)
    if file is None:
        click.echo(f"{program} must be started with {mail.VARIABLE} in its environment.", err=True)


def _waiting(context: Context, server: str | None, file: Path | None) -> list[mail.Letter]:
    return mail.waiting(_server(context, server), mail.token(os.environ, file))


def _server(context: Context, given: str | None) -> str:
    if given or context.profile.paired():
        return given or context.profile.settings().server
    raise Trouble("Say which server: --server https://…")


def _event() -> dict[str, Any] | None:
    """What the program says with its question; None when that is not a session's."""
    try:
        event = json.loads(sys.stdin.read(1_000_000))
    except (ValueError, RecursionError):
        return None
    return event if isinstance(event, dict) and isinstance(event.get("session_id"), str) else None
