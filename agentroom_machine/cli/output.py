"""How the command speaks: words or JSON on the output, trouble on the error output, nothing that a terminal obeys."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from typing import Any

import click

from agentroom_machine import tokens
from agentroom_machine.client import Client
from agentroom_machine.errors import Trouble
from agentroom_machine.profile import Profile


class NotPaired(Trouble):
    exit_code = 4


def inert(text: str) -> str:
    """The text with control, bidirectional and other hidden characters written out, so that a terminal obeys none."""
    return "".join(c if c in "\n\t" or c.isprintable() else _written(c) for c in text)


def _written(character: str) -> str:
    code = ord(character)
    return f"\\x{code:02x}" if code < 0x100 else f"U+{code:04X}"


def say(text: str) -> None:
    click.echo(inert(text))


def complain(text: str) -> None:
    click.echo(inert(text), err=True)


def say_json(value: object) -> None:
    # ASCII only, so that nothing in it reaches the terminal as a control sequence.
    click.echo(json.dumps(value, indent=None if not sys.stdout.isatty() else 2, default=str))


as_json = click.option("--json", "as_json", is_flag=True, help="Print JSON, for programs.")


@dataclass
class Context:
    profile: Profile

    def client(self) -> Client:
        """A client that speaks for this machine; raises NotPaired."""
        return Client(self.profile.settings().server, self.tokens().machine)

    def chat(self) -> Client:
        """A client that speaks for the owner's account, in its chat; raises NotPaired."""
        return Client(self.profile.settings().server, self.tokens().connection)

    def tokens(self) -> tokens.Tokens:
        settings, kept = self.profile.settings(), tokens.load(self.profile)
        if kept is None:
            raise NotPaired(f"This machine's token is gone. Pair it again: agentroom login {settings.server}")
        return kept


def run[Result](context: Context, work: Callable[[Client], Coroutine[Any, Any, Result]]) -> Result:
    """What the work gives, with a client that is closed after it."""

    async def with_client() -> Result:
        async with context.client() as client:
            return await work(client)

    return asyncio.run(with_client())
