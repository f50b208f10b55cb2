"""Pairing this machine with a server, and forgetting it."""

from __future__ import annotations

import asyncio
import platform
import time
import webbrowser
from datetime import UTC, datetime
from urllib.parse import urlsplit

import click

from agentroom_machine import tokens, wire
from agentroom_machine.cli.output import Context, as_json, inert, say, say_json
from agentroom_machine.client import Client
from agentroom_machine.daemon.journal import Journal
from agentroom_machine.daemon.lock import holder
from agentroom_machine.errors import Offline, Trouble
from agentroom_machine.profile import Settings
from agentroom_machine.tokens import Tokens, hashed


@click.command()
@click.argument("url")
@click.option("--name", help="What to call this machine; its host name otherwise.")
@click.option("--no-browser", is_flag=True, help="Only print the link.")
@as_json
@click.pass_obj
def login(context: Context, url: str, name: str | None, no_browser: bool, as_json: bool) -> None:
    """Pair this machine with the server at URL.

    Opens a page on which you confirm a short code. No password is typed here, and the machine's tokens never leave
    it: the server only learns their hashes.
    """
    server = _server(url)
    if holder(context.profile):
        raise Trouble("Agentroom runs with this profile. End it before you pair again: agentroom stop")
    state, place = asyncio.run(_pair(context, server, name or platform.node() or "machine", no_browser, as_json))
    if as_json:
        say_json({"server": server, "machine": state.name, "machine_id": state.machine_id, "owner": state.owner})
        return
    say(f"Paired: this machine is “{state.name}” of {state.owner}. Its tokens are in {place}.")
    say("Next: agentroom agents add HANDLE --runtime claude --workdir DIR, then agentroom up")


@click.command()
@as_json
@click.pass_obj
def logout(context: Context, as_json: bool) -> None:
    """Forget the pairing here. (To end it for good, revoke the machine on the server's page.)"""
    if holder(context.profile):
        raise Trouble("Agentroom runs with this profile. End it first: agentroom stop")
    tokens.forget(context.profile)
    context.profile.settings_file.unlink(missing_ok=True)
    if as_json:
        say_json({"forgotten": True})
    else:
        say("Forgotten here. Revoke the machine on the server's page to end its access.")


def _server(url: str) -> str:
    url = url if "//" in url else f"https://{url}"
    parts = urlsplit(url)
    if parts.scheme not in {"http", "https"} or not parts.hostname:
        raise click.BadParameter("give the server's address, such as https://rooms.example.com", param_hint="URL")
    if parts.username or parts.password:
        raise click.BadParameter("leave name and password out of the address", param_hint="URL")
    local = parts.hostname in {"localhost", "127.0.0.1", "::1"}
    if parts.scheme == "http" and not local:
        click.echo(
            inert(f"Warning: {parts.hostname} is not reached over https; the token can be read on the way."), err=True
        )
    return f"{parts.scheme}://{parts.netloc}"


async def _pair(
    context: Context, server: str, name: str, no_browser: bool, as_json: bool
) -> tuple[wire.PairState, str]:
    fresh = Tokens.make()
    request = wire.PairRequest(
        name=name[:60], token_hash=hashed(fresh.machine), connection_hash=hashed(fresh.connection)
    )
    async with Client(server, fresh.machine) as client:
        reply = await client.pair(request)
        show = (lambda text: click.echo(inert(text), err=True)) if as_json else say
        show(f"Confirm this code on the page:  {reply.user_code}")
        show(reply.url)
        if not no_browser and not as_json:
            await asyncio.to_thread(webbrowser.open, reply.url)
        state = await _wait(client, reply)
    if state.state != "paired":
        words = {"declined": "It was declined on the page.", "expired": "The code has expired. Run it again."}
        raise Trouble(words.get(state.state, "It was not confirmed in time. Run it again."))
    place = await asyncio.to_thread(tokens.keep, context.profile, fresh)
    if context.profile.journal_file.exists():  # what another identity ran is not this one's to report
        journal = Journal(context.profile.journal_file)
        journal.start_over()
        journal.close()
    context.profile.keep(Settings(server=server, name=state.name, machine_id=state.machine_id, owner=state.owner))
    return state, place


async def _wait(client: Client, reply: wire.PairReply) -> wire.PairState:
    # By our own monotonic clock: the wall clock may be a day off.
    left = min(max((reply.expires_at - datetime.now(UTC)).total_seconds(), 600), 3600)
    until = time.monotonic() + left
    while True:
        try:
            state = await client.pairing()
        except Offline:
            state = wire.PairState(state="waiting")
        if state.state != "waiting" or time.monotonic() > until:
            return state
        await asyncio.sleep(max(1, min(reply.interval, 30)))
