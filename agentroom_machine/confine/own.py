"""Settings for the sandboxes that Claude Code and Codex bring along: the same box, in their words."""

from __future__ import annotations

import json
import os
import platform
import shlex
import shutil
import stat
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from agentroom_machine.confine import repository, secrets
from agentroom_machine.confine.box import SYSTEM, TOOLS
from agentroom_machine.daemon.redact import secret_values
from agentroom_machine.errors import Trouble

CODEX_MODE = "permission-profile:agentroom"
_STAYS = {"proc", "dev", "sys", "tmp"}
"""Top folders that Claude Code's own sandbox looks after."""
_TOKENS = (
    "ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "CLAUDE_CODE_OAUTH_TOKEN", "OPENAI_API_KEY", "CODEX_API_KEY",
    "GEMINI_API_KEY", "GOOGLE_API_KEY",
)  # fmt: skip


def claude(
    options: dict[str, Any],
    *,
    workdir: Path,
    home: Path,
    hide: list[Path],
    show: list[Path],
    found: secrets.Found,
    hosts: tuple[str, ...],
    env: Mapping[str, str],
) -> None:
    """Adds Claude Code's sandbox to the options that go along with each session.

    Its commands then see the system, the tools and the working directory; Claude Code itself keeps its sign-in.
    """
    inside = [*found.files, *found.folders]
    kept = [repository.keep(git, workdir) for git in found.repositories]
    elsewhere = [str(path) for one in kept for path in one.write if not path.is_relative_to(workdir)]
    options["settings"]["sandbox"] = {
        "enabled": True,
        "failIfUnavailable": True,
        "autoAllowBashIfSandboxed": False,
        "allowUnsandboxedCommands": False,
        "excludedCommands": [],
        "network": {
            "allowedDomains": list(hosts), "strictAllowlist": True, "allowUnixSockets": [],
            "allowAllUnixSockets": False, "allowLocalBinding": False,
        },
        "filesystem": {
            "denyRead": [*map(str, _closed(home)), *map(str, hide), *map(str, inside)],
            "allowRead": [str(workdir), *map(str, show), *elsewhere, *map(str, _tools(home))],
            "allowWrite": elsewhere,
            "denyWrite": [str(path) for one in kept for path in one.read],
        },
        "credentials": {"envVars": [{"name": name, "mode": "deny"} for name in _secret_names(env)]},
    }  # fmt: skip
    # Its own tools read outside of the sandbox.
    denied = [f"Read(/{path})" for path in inside] + [f"Read(/{path}/**)" for path in (*found.folders, *hide)]
    permissions = options["managedSettings"]["permissions"]
    permissions["deny"] = [*permissions.get("deny", []), *denied]


def _closed(home: Path) -> Iterator[Path]:
    """Everything at the top that is neither system nor the sandbox's own; the home folder wherever it lies."""
    shown = {name.strip("/") for name in SYSTEM} | _STAYS
    for top in sorted(Path("/").iterdir()):
        if top.name not in shown and top.is_dir() and not top.is_symlink():
            yield top
    yield home
    yield from secrets.closed(Path("/etc"))


def _secret_names(env: Mapping[str, str]) -> list[str]:
    """Variables that a runtime may need itself, and that its commands must not see."""
    named = {name for name, value in env.items() if any(secret_values({name: value}))}
    return sorted({*_TOKENS, *(name for name in named if not name.startswith("GIT_CONFIG_"))})


def _excluded(codex_home: Path) -> list[str]:
    """What the owner's own settings keep from Codex's commands: a list of ours would take its place."""
    try:
        said = tomllib.loads((codex_home / "config.toml").read_text(encoding="utf-8"))
        kept = said["shell_environment_policy"]["exclude"]
    except (OSError, ValueError, KeyError, TypeError):
        return []
    return [name for name in kept if isinstance(name, str)] if isinstance(kept, list) else []


def _tools(home: Path) -> Iterator[Path]:
    return (home / name for name in TOOLS if (home / name).exists())


def codex(
    env: dict[str, str],
    *,
    program: Path,
    workdir: Path,
    home: Path,
    hide: list[Path],
    found: secrets.Found,
    read: list[Path],
    wrapper: Path,
    more: tuple[str, ...] = (),
) -> None:
    """Puts a program between the adapter and Codex that gives Codex a permission profile of ours, and chooses it.

    The adapter passes settings on for a session, but profiles count only from the command line.
    """
    binary = codex_binary(program, env)
    codex_home = Path(env.get("CODEX_HOME") or home / ".codex")
    places: dict[str, str] = {":minimal": "read", str(workdir): "write"}
    for path in [*_tools(home), *read, binary.parent.parent, codex_home / "tmp"]:
        if not path.is_relative_to(workdir):
            places[str(path)] = "read"
    for git in found.repositories:
        kept = repository.keep(git, workdir)
        places |= {str(path): "write" for path in kept.write} | {str(path): "read" for path in kept.read}
    for path in [*found.files, *found.folders, *hide, *secrets.closed(Path("/etc"))]:
        if path.exists() and not path.is_symlink() and not workdir.is_relative_to(path):
            places[str(path)] = "deny"
    filesystem = ",".join(f"{json.dumps(path)}={json.dumps(access)}" for path, access in places.items())
    settings = [
        'default_permissions="agentroom"',
        f"permissions.agentroom.filesystem={{{filesystem}}}",
        # Nothing may be asked out of the sandbox: the hook asks the owner before each call anyway.
        'approval_policy="never"',
        # Its sandbox has a folder of its own there; the owner's, wherever it is, does not exist inside.
        'shell_environment_policy.set.TMPDIR="/tmp"',
        "shell_environment_policy.ignore_default_excludes=false",
        f"shell_environment_policy.exclude={json.dumps([*_excluded(codex_home), *_secret_names(env)])}",
        *more,
    ]
    codex_wrapper(env, binary, settings, wrapper)
    env["INITIAL_AGENT_MODE"] = CODEX_MODE


def codex_wrapper(env: dict[str, str], binary: Path, settings: Sequence[str], wrapper: Path) -> None:
    """Writes a program that starts Codex with these settings, and has the adapter start that."""
    words = [str(binary), *(word for setting in settings for word in ("-c", setting))]
    wrapper.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    wrapper.write_text(f'#!/bin/sh\nexec {shlex.join(words)} "$@"\n', encoding="utf-8")
    wrapper.chmod(stat.S_IRWXU)
    env["CODEX_PATH"] = str(wrapper)


def codex_binary(adapter: Path, environ: Mapping[str, str]) -> Path:
    """Codex itself: the one that the owner's CODEX_PATH names, or the one that came with the adapter."""
    start = environ.get("CODEX_PATH")
    at = Path(os.path.realpath(shutil.which(start, path=environ.get("PATH")) or start if start else adapter))
    if at.suffix != ".js" and start:
        return at
    machine = {"x86_64": "x64", "aarch64": "arm64", "arm64": "arm64"}.get(platform.machine(), platform.machine())
    for folder in at.parents:
        for vendor in folder.glob(f"node_modules/@openai/codex-linux-{machine}/vendor/*/bin/codex"):
            return vendor
        if folder.name == "codex":
            for vendor in folder.glob("vendor/*/bin/codex"):
                return vendor
    raise Trouble(
        "Codex's own program was not found beside its adapter, so it can't be confined. Reinstall the adapter."
    )
