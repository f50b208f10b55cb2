"""Running the daemon in the foreground."""

from __future__ import annotations

import asyncio
import json
import logging
import os
import signal
import sys
import time
from collections import deque
from typing import TYPE_CHECKING, Any

import click
from rich.console import Console, Group
from rich.live import Live
from rich.text import Text

from agentroom_machine import tokens
from agentroom_machine.cli.agents import found_runtimes
from agentroom_machine.cli.output import Context, NotPaired, as_json, inert, say
from agentroom_machine.client import Client
from agentroom_machine.daemon.lock import DRAIN, NOW, Lock
from agentroom_machine.daemon.redact import Redactor, secret_values
from agentroom_machine.errors import Trouble
from agentroom_machine.profile import Settings

if TYPE_CHECKING:
    from agentroom_machine.daemon.loop import Daemon

TERM_GRACE = 3.0


@click.command()
@as_json
@click.pass_obj
def up(context: Context, as_json: bool) -> None:
    """Connect to the server and run what it asks for, in the foreground.

    Ctrl-C finishes what runs, then ends; a second Ctrl-C ends what runs, too. SIGTERM gives what runs three seconds.
    """
    settings = context.profile.settings()
    kept = tokens.load(context.profile)
    if kept is None:
        raise NotPaired("This machine's token is gone. Pair it again: agentroom login URL")
    # Libraries log what passes through them; here only our own words are said.
    logging.getLogger().addHandler(logging.NullHandler())
    lock = Lock(context.profile)
    try:
        asyncio.run(_up(context, settings, kept, as_json))
    finally:
        lock.release()


async def _up(context: Context, settings: Settings, kept: tokens.Tokens, as_json: bool) -> None:
    # What speaks to agents takes half a second to import; the other commands do without.
    from agentroom_machine.daemon.loop import Daemon

    live = not as_json and sys.stdout.isatty()
    display: Lines | Calm = Calm(settings) if live else Lines(as_json)
    redact = Redactor([kept.machine, kept.connection, *secret_values(os.environ)])
    with display:
        display("up", f"{settings.name or 'This machine'} of {settings.owner or 'its owner'}, at {settings.server}.")
        async with Client(settings.server, kept.machine) as client:
            hinted = asyncio.create_task(_hint(client, display))
            daemon = Daemon(context.profile, client, say=display, redact=redact)
            _obey_signals(daemon)
            try:
                await daemon.run()
            finally:
                hinted.cancel()
                await asyncio.gather(hinted, return_exceptions=True)
        display("down", "Ended.")


async def _hint(client: Client, display: Lines | Calm) -> None:
    """Says how to add an agent when none lives here."""
    try:
        here = [agent for agent in await client.agents() if agent.here]
    except Trouble:
        return
    if not here:
        found = found_runtimes()
        display("hint", f"No agent lives here yet. Found here: {', '.join(found)}.")
        display("hint", f"Add one, in another terminal: agentroom agents add HANDLE --runtime {found[0]} --workdir DIR")


def _obey_signals(daemon: Daemon) -> None:
    """Ctrl-C waits for what runs, a second one does not; SIGTERM waits little, because a supervisor soon kills."""
    loop = asyncio.get_running_loop()
    asked = 0

    def end(*, within: float | None) -> None:
        nonlocal asked
        asked += 1
        if asked > 1:
            daemon.stop_now()
            return
        daemon.drain()
        if within is not None:
            loop.call_later(within, daemon.stop_now)

    loop.add_signal_handler(signal.SIGINT, lambda: end(within=None))
    loop.add_signal_handler(signal.SIGTERM, lambda: end(within=TERM_GRACE))
    loop.add_signal_handler(signal.SIGHUP, daemon.stop_now)
    loop.add_signal_handler(NOW, daemon.stop_now)
    loop.add_signal_handler(DRAIN, daemon.drain)


class Lines:
    """One line for each thing that happens; with ``as_json`` one JSON object."""

    def __init__(self, as_json: bool) -> None:
        self._json = as_json

    def __enter__(self) -> Lines:
        return self

    def __exit__(self, *error: object) -> None:
        """Nothing to put back."""

    def __call__(self, event: str, text: str, **facts: object) -> None:
        if self._json:
            click.echo(json.dumps({"event": event, "text": text, **facts}, default=str))
        else:
            say(f"{time.strftime('%H:%M:%S')}  {text}")


class Calm:
    """For a terminal: a few lines that stay in place, the last events under the present state."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._state = "connecting"
        self._running: dict[Any, str] = {}
        self._last: deque[tuple[str, str]] = deque(maxlen=8)
        self._live = Live(self._picture(), console=Console(), auto_refresh=False, transient=False)

    def __enter__(self) -> Calm:
        self._live.__enter__()
        return self

    def __exit__(self, *error: Any) -> None:
        self._live.__exit__(*error)

    def __call__(self, event: str, text: str, **facts: object) -> None:
        text = inert(text)
        turn = facts.get("turn")
        if event in {"online", "offline", "draining", "down"}:
            self._state = {"online": "connected", "offline": "offline", "draining": "ending", "down": "ended"}[event]
        if event == "started":
            self._running[turn] = text
        elif event == "ended":
            self._running.pop(turn, None)
        self._last.append((time.strftime("%H:%M:%S"), text))
        self._live.update(self._picture(), refresh=True)

    def _picture(self) -> Group:
        tone = {"connected": "green", "offline": "yellow", "ended": "dim"}.get(self._state, "blue")
        head = Text.assemble(("agentroom ", "bold"), (self._state, tone), f"  {inert(self._settings.server)}")
        lines = [head]
        lines += [Text.assemble(("  ▶ ", "blue"), text) for text in self._running.values()]
        lines += [Text.assemble((f"  {at}  ", "dim"), text) for at, text in self._last]
        lines.append(Text("  Ctrl-C ends it.", style="dim"))
        return Group(*lines)
