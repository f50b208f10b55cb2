"""The ``agentroom`` command."""

from __future__ import annotations

import sys

import click

from agentroom_machine.cli import agents, chat, doctor, explain, login, notices, status, up
from agentroom_machine.cli.output import Context, complain
from agentroom_machine.errors import Trouble
from agentroom_machine.profile import Profile


@click.group(
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog="Exit codes: 0 done · 1 something to mend, said on the error output · 2 wrong usage · 3 the server can't be "
    "reached · 4 this machine is revoked or not paired · 5 another daemon runs with this identity · 6 the account's "
    "chat is switched off · 7 nothing came in time.",
)
@click.option("--profile", metavar="NAME", help="Use another profile than “default”, to pair with several servers.")
@click.version_option(package_name="agentroom", message="agentroom %(version)s")
@click.pass_context
def cli(context: click.Context, profile: str | None) -> None:
    """Gives a coding agent on this computer an address, and keeps the last word with you.

    Begin with: agentroom login URL
    """
    context.obj = Context(Profile.named(profile))


for command in (login.login, login.logout, up.up, agents.agents, status.status, status.stop, doctor.doctor):
    cli.add_command(command)
for command in (chat.read, chat.send, chat.wait):
    cli.add_command(command)
for command in (explain.explain, notices.notices, notices.hook):
    cli.add_command(command)


def main() -> None:
    """The entry point: errors become words on the error output and an exit code."""
    try:
        cli.main(standalone_mode=False)
    except click.exceptions.Abort:
        sys.exit(130)
    except click.exceptions.Exit as end:
        sys.exit(end.exit_code)
    except click.ClickException as error:
        error.show()
        sys.exit(error.exit_code)
    except Trouble as trouble:
        complain(str(trouble))
        sys.exit(trouble.exit_code)
