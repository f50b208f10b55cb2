"""The agents of this machine's owner: list, add, edit, move, remove."""

from __future__ import annotations

import shutil
from pathlib import Path

import click
from rich.console import Console
from rich.table import Table
from rich.text import Text

from agentroom_machine import wire
from agentroom_machine.cli.output import Context, as_json, inert, run, say, say_json
from agentroom_machine.confine import support
from agentroom_machine.confine.choice import Choice
from agentroom_machine.demo_agent import prepare_demo_repository
from agentroom_machine.errors import Trouble
from agentroom_machine.runtimes.launch import shown_name

PROGRAMS = {"claude": "claude-agent-acp", "codex": "codex-acp", "opencode": "opencode", "gemini": "gemini"}
_RUNTIME = (
    "claude, codex, opencode, gemini, demo, or the command line of any ACP agent (which runs what it does not ask for)."
)


def found_runtimes() -> list[str]:
    """The runtimes that are installed here; the demo always is."""
    return [name for name, program in PROGRAMS.items() if shutil.which(program)] + ["demo"]


@click.group(invoke_without_command=True)
@as_json
@click.pass_context
def agents(context: click.Context, as_json: bool) -> None:
    """List your agents; add, edit, move or remove one."""
    if context.invoked_subcommand is None:
        show(context.obj, as_json)


def show(context: Context, as_json: bool) -> None:
    seen = run(context, lambda client: client.agents())
    if as_json:
        say_json([agent.model_dump(mode="json") for agent in seen])
        return
    if not seen:
        say(f"You have no agents yet. Found here: {', '.join(found_runtimes())}.")
        say(f"Add one: agentroom agents add HANDLE --runtime {found_runtimes()[0]} --workdir DIR")
        return
    unconfined = Choice(context.profile).unconfined()
    table = Table(box=None, pad_edge=False)
    for heading in ("agent", "runtime", "machine", "status", "rooms", "waiting", "working directory"):
        table.add_column(heading, overflow="fold")
    for agent in seen:
        where = "this machine" if agent.here else agent.machine or "nowhere"
        status = "paused" if agent.paused else agent.status
        if agent.here and agent.id in unconfined:
            status = f"{status}, not confined".removeprefix(", ")
        row = (agent.handle, shown_name(agent.runtime), where, status)
        rest = (", ".join(agent.rooms), str(agent.waiting), agent.workdir)
        table.add_row(*(Text(inert(text)) for text in row + rest))
    Console().print(table)


@agents.command("list")
@as_json
@click.pass_obj
def list_agents(context: Context, as_json: bool) -> None:
    """List your agents."""
    show(context, as_json)


@agents.command()
@click.argument("handle")
@click.option("--runtime", required=True, help=_RUNTIME)
@click.option("--workdir", type=click.Path(path_type=Path), default=Path(), help="Where it works; here otherwise.")
@click.option("--model", default="", help="The model; the runtime's own choice otherwise.")
@click.option("--role", default="", help="What it is for, in a few words.")
@click.option("--name", default="", help="The name that people see.")
@as_json
@click.pass_obj
def add(
    context: Context, handle: str, runtime: str, workdir: Path, model: str, role: str, name: str, as_json: bool
) -> None:
    """Register an agent that lives on this machine."""
    folder = _folder(workdir, runtime)
    new = wire.AgentNew(
        handle=_handle(handle), runtime=runtime, workdir=str(folder), display_name=name, role=role, model=model
    )
    agent = run(context, lambda client: client.add_agent(new))
    _tell(agent, as_json, f"Added {agent.handle}: {shown_name(agent.runtime)} in {agent.workdir}. Run it: agentroom up")


@agents.command()
@click.argument("handle")
@click.option("--runtime", help=_RUNTIME)
@click.option("--workdir", type=click.Path(path_type=Path), help="Where it works.")
@click.option("--model", help="The model; “” for the runtime's own choice.")
@click.option("--role", help="What it is for.")
@click.option("--name", help="The name that people see.")
@click.option(
    "--share-diffs/--no-share-diffs", default=None, help="Show the rooms what changed in files, not only counts."
)
@click.option("--worktree-per-room/--shared-directory", default=None, help="Give each room a git worktree of its own.")
@click.option(
    "--wake-for-mail/--no-wake-for-mail", default=None, help="Let mail from other agents start it when it sleeps."
)
@click.option("--pause/--resume", default=None, help="Take no requests for a while.")
@click.option(
    "--confined/--unconfined",
    default=None,
    help="Keep its commands from the network, from secrets and from other folders (the default), or don’t.",
)
@as_json
@click.pass_obj
def edit(
    context: Context,
    handle: str,
    runtime: str | None,
    workdir: Path | None,
    model: str | None,
    role: str | None,
    name: str | None,
    share_diffs: bool | None,
    worktree_per_room: bool | None,
    wake_for_mail: bool | None,
    pause: bool | None,
    confined: bool | None,
    as_json: bool,
) -> None:
    """Change an agent; what you don't give stays."""
    change = wire.AgentEdit(
        runtime=runtime,
        workdir=str(_folder(workdir, runtime or "")) if workdir else None,
        display_name=name,
        role=role,
        model=model,
        share_diffs=share_diffs,
        worktree_per_room=worktree_per_room,
        wake_for_mail=wake_for_mail,
        paused=pause,
    )
    changes = bool(change.model_dump(exclude_none=True, exclude={"here"}))
    if not changes and confined is None:
        raise click.UsageError("Nothing to change. See: agentroom agents edit --help")
    name_of_it = _handle(handle)
    agent = (
        run(context, lambda client: client.edit_agent(name_of_it, change)) if changes else _find(context, name_of_it)
    )
    words = f"Changed {agent.handle}."
    if confined is not None:
        words = f"{words} {_confine(context, agent, confined)}"
    _tell(agent, as_json, words)


def _find(context: Context, handle: str) -> wire.AgentConfig:
    for agent in run(context, lambda client: client.agents()):
        if agent.handle == handle and agent.here:
            return agent
    raise Trouble(f"No agent “{handle}” lives on this machine. See: agentroom agents")


def _confine(context: Context, agent: wire.AgentConfig, confined: bool) -> str:
    """Keeps the choice on this machine, and says what it means from the next request on."""
    Choice(context.profile).choose(agent.id, confined=confined)
    if not confined:
        return (
            "From its next request on its commands run WITHOUT confinement: they can reach the network, read your "
            "secrets and change files outside of its working directory. Its rooms see “not confined”."
        )
    missing = support.missing()
    return f"It can’t be confined yet: {missing}." if missing else "From its next request on its commands run confined."


@agents.command()
@click.argument("handle")
@click.option("--runtime", help=_RUNTIME)
@click.option("--workdir", type=click.Path(path_type=Path), default=Path(), help="Where it works; here otherwise.")
@as_json
@click.pass_obj
def move(context: Context, handle: str, runtime: str | None, workdir: Path, as_json: bool) -> None:
    """Bring an agent to this machine: same address, history and unread mail."""
    change = wire.AgentEdit(here=True, runtime=runtime, workdir=str(_folder(workdir, runtime or "")))
    agent = run(context, lambda client: client.edit_agent(_handle(handle), change))
    _tell(agent, as_json, f"{agent.handle} lives here now, in {agent.workdir}. Run it: agentroom up")


@agents.command()
@click.argument("handle")
@click.option("--yes", is_flag=True, help="Don't ask.")
@as_json
@click.pass_obj
def remove(context: Context, handle: str, yes: bool, as_json: bool) -> None:
    """Retire an agent: it leaves its rooms, and its requests are cancelled. Files here stay."""
    if not yes and not as_json:
        click.confirm(f"Retire {inert(handle)}? It leaves its rooms", abort=True)
    run(context, lambda client: client.remove_agent(_handle(handle)))
    if as_json:
        say_json({"removed": handle})
    else:
        say(f"Removed {handle}.")


def _handle(text: str) -> str:
    handle = text.removeprefix("@").lower()
    if not handle.replace("-", "").replace("_", "").isalnum() or not handle.isascii() or len(handle) > 32:
        raise click.BadParameter(
            "use up to 32 of a-z, 0-9, - and _, beginning with a letter or digit", param_hint="HANDLE"
        )
    return handle


def _folder(workdir: Path, runtime: str) -> Path:
    folder = workdir.expanduser().absolute()
    if runtime == "demo" and not folder.exists():
        return prepare_demo_repository(folder)
    if not folder.is_dir():
        raise click.BadParameter(f"{folder} is no directory", param_hint="--workdir")
    return folder.resolve()


def _tell(agent: wire.AgentConfig, as_json: bool, words: str) -> None:
    if as_json:
        say_json(agent.model_dump(mode="json"))
    else:
        say(words)
