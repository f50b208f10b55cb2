"""How things stand, and ending them."""

from __future__ import annotations

import contextlib
import os
import time

import click

from agentroom_machine import wire
from agentroom_machine.cli.output import Context, as_json, run, say, say_json
from agentroom_machine.client import Client
from agentroom_machine.daemon.lock import DRAIN, NOW, holder
from agentroom_machine.errors import Offline, Trouble


@click.command()
@as_json
@click.pass_obj
def status(context: Context, as_json: bool) -> None:
    """Show whether the daemon runs, whether the server is there, and what waits."""
    settings = context.profile.settings()
    pid = holder(context.profile)
    seen: list[wire.AgentSeen] = []
    trouble: Trouble | None = None
    try:
        me, seen = run(context, _look)
        server = str(me.state)
    except Trouble as said:
        trouble, server = said, "offline" if isinstance(said, Offline) else "refused"
    if as_json:
        say_json(
            {
                "server": settings.server,
                "machine": settings.name,
                "owner": settings.owner,
                "running": pid is not None,
                "pid": pid,
                "connection": server,
                "agents": [agent.model_dump(mode="json") for agent in seen if agent.here],
            }
        )
    else:
        say(
            f"{settings.name} of {settings.owner}, at {settings.server}: {'reached' if server == 'paired' else server}."
        )
        say(f"The daemon runs (process {pid})." if pid else "The daemon does not run. Start it: agentroom up")
        for agent in seen:
            if agent.here:
                waits = f", {agent.waiting} waiting" if agent.waiting else ""
                say(f"  {agent.handle}: {'paused' if agent.paused else agent.status}{waits}")
    if trouble:
        raise trouble


async def _look(client: Client) -> tuple[wire.PairState, list[wire.AgentSeen]]:
    return await client.me(), await client.agents()


@click.command()
@click.option("--now", is_flag=True, help="End what runs, too.")
@click.option("--person", metavar="NAME", default="", help="Only cancel what waits in this person's name.")
@click.option("--agent", metavar="HANDLE", default="", help="Only cancel what waits for this agent.")
@as_json
@click.pass_obj
def stop(context: Context, now: bool, person: str, agent: str, as_json: bool) -> None:
    """Cancel what waits for this machine and end the daemon when what runs has ended.

    With --person or --agent nothing else ends: what runs goes on, and so does the daemon.
    """
    if person or agent:
        if now:
            raise click.UsageError("--now ends everything; leave out --person and --agent.")
        _cancel(context, person.lower().removeprefix("@"), agent.lower().removeprefix("@"), as_json)
        return
    pid = holder(context.profile)
    trouble: Trouble | None = None
    reply = wire.StopReply(cancelled=0, stopping=0)
    try:
        reply = run(context, lambda client: client.stop(wire.StopRequest(now=now)))
    except Trouble as said:  # whatever the server says: what runs here ends all the same
        trouble = said
    if pid:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, NOW if now else DRAIN)
    ended = _wait(context, 20 if now else 2)
    if as_json:
        say_json({"cancelled": reply.cancelled, "stopping": reply.stopping, "ended": ended, "was_running": bool(pid)})
    else:
        say(
            f"Cancelled {reply.cancelled} waiting."
            if not trouble
            else "What waits on the server could not be cancelled."
        )
        if not pid:
            say("The daemon was not running.")
        elif ended:
            say("The daemon has ended.")
        else:
            say("The daemon ends when what runs has ended. To end that too: agentroom stop --now")
    if trouble:
        raise trouble


def _cancel(context: Context, person: str, agent: str, as_json: bool) -> None:
    request = wire.StopRequest(person=person, agent=agent)
    reply = run(context, lambda client: client.stop(request))
    if as_json:
        say_json({"cancelled": reply.cancelled})
    else:
        say(f"Cancelled {reply.cancelled} waiting. What runs goes on.")


def _wait(context: Context, seconds: float) -> bool:
    """Whether the daemon has ended within so many seconds."""
    until = time.monotonic() + seconds
    while holder(context.profile):
        if time.monotonic() > until:
            return False
        time.sleep(0.1)
    return True
