"""Where an agent works for a room: its working directory, or a git worktree of the room's own."""

from __future__ import annotations

from pathlib import Path

from agentroom_machine import wire
from agentroom_machine.daemon.git import GitFailed, git, is_repository
from agentroom_machine.errors import Trouble


class NoWorkspace(Trouble):
    """The working directory can't be used; the words say why."""


def check(agent: wire.AgentConfig) -> Path:
    """The agent's real working directory."""
    folder = Path(agent.workdir).expanduser()
    if not folder.is_absolute() or not folder.is_dir():
        raise NoWorkspace(
            f"The working directory {agent.workdir} is missing. Make it, or choose another: "
            f"agentroom agents edit {agent.handle} --workdir DIR"
        )
    return folder.resolve()


def prepare(agent: wire.AgentConfig, room_id: int, worktrees: Path) -> Path:
    """The folder for this agent in this room; makes the room's worktree when it is wanted. Blocks."""
    workdir = check(agent)
    if not agent.worktree_per_room:
        return workdir
    if not is_repository(workdir):
        raise NoWorkspace(f"{agent.workdir} is no git repository, so it can't have a worktree for each room.")
    place = worktrees / f"{agent.id}-{room_id}"
    if place.is_dir() and is_repository(place):
        return place.resolve()
    branch = f"agentroom/{room_id}"
    worktrees.mkdir(parents=True, exist_ok=True, mode=0o700)
    try:
        git(workdir, "worktree", "prune")
        known = git(workdir, "for-each-ref", "--format=%(refname)", f"refs/heads/{branch}").strip()
        new = [] if known else ["-b", branch]
        git(
            workdir,
            *_no_filters(workdir),
            "worktree",
            "add",
            *new,
            str(place),
            *([branch] if known else []),
            timeout=120,
        )
    except GitFailed as error:
        raise NoWorkspace(f"The worktree for this room can't be made: {error}") from None
    return place.resolve()


def _no_filters(workdir: Path) -> list[str]:
    """Options that keep a checkout from running programs that the repository's own settings name."""
    try:
        listed = git(workdir, "config", "--local", "--name-only", "--get-regexp", r"^filter\.").decode(errors="replace")
    except GitFailed:
        return []
    filters = {line.split(".", 1)[1].rsplit(".", 1)[0] for line in listed.splitlines() if line.count(".") >= 2}
    options = []
    for name in sorted(filters - {"lfs"}):
        for key in ("smudge", "clean", "process"):
            options += ["-c", f"filter.{name}.{key}="]
        options += ["-c", f"filter.{name}.required=false"]
    return options
