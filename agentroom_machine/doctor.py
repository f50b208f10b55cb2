"""What an owner's machine may lack, each with the command that mends it."""

from __future__ import annotations

import asyncio
import os
import platform
import re
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from pathlib import Path
from typing import Literal

from agentroom_machine import tokens, wire
from agentroom_machine.client import Client
from agentroom_machine.confine import support
from agentroom_machine.confine.choice import Choice
from agentroom_machine.daemon import workspace
from agentroom_machine.daemon.hook import HookAnswer, HookCall, HookServer, probe
from agentroom_machine.errors import Trouble
from agentroom_machine.profile import Profile
from agentroom_machine.runtimes.launch import NotReady, Surroundings, launch, shown_name

_WANTED_NODE, _LEAST_NODE = 22, 20
_WRONG_CLOCK = 120
_ALLOW_NAMESPACES = "sudo sysctl kernel.unprivileged_userns_clone=1, or ask whoever looks after this machine"
_INSTALL_NODE = "npm install -g node@22, or see nodejs.org"


@dataclass(frozen=True)
class Finding:
    state: Literal["good", "hint", "broken"]
    about: str
    text: str
    mend: str = ""


def examine(profile: Profile) -> list[Finding]:
    """Everything that was looked at, in the order in which it should be mended."""
    agents, found = asyncio.run(_server(profile))
    return [*found, *_programs(agents), asyncio.run(_hook()), *_agents(agents), *_unconfined(profile, agents)]


def _unconfined(profile: Profile, agents: list[wire.AgentSeen]) -> Iterator[Finding]:
    chosen = Choice(profile).unconfined()
    for agent in agents:
        if agent.id in chosen:
            mend = f"agentroom agents edit {agent.handle} --confined"
            yield Finding("hint", agent.handle, "you switched its confinement off", mend)


async def _server(profile: Profile) -> tuple[list[wire.AgentSeen], list[Finding]]:
    try:
        settings = profile.settings()
    except Trouble as trouble:
        return [], [Finding("broken", "pairing", str(trouble), "agentroom login URL")]
    kept = tokens.load(profile)
    if kept is None:
        return [], [Finding("broken", "pairing", "this machine's token is gone", f"agentroom login {settings.server}")]
    found: list[Finding] = []
    async with Client(settings.server, kept.machine) as client:
        try:
            reply = await client.reachable()
        except Trouble as trouble:
            mend = f"check the network and that {settings.server} runs: curl {settings.server}/healthz"
            return [], [Finding("broken", "server", str(trouble), mend)]
        found.append(Finding("good", "server", f"{settings.server} answers"))
        found += _clock(reply.headers.get("date", ""))
        try:
            me, agents = await client.me(), await client.agents()
        except Trouble as trouble:
            found.append(Finding("broken", "pairing", str(trouble), f"agentroom login {settings.server}"))
            return [], found
    found.append(Finding("good", "pairing", f"“{me.name}” of {me.owner}"))
    return [agent for agent in agents if agent.here], found


def _clock(date: str) -> Iterator[Finding]:
    try:
        off = abs((datetime.now(UTC) - parsedate_to_datetime(date)).total_seconds())
    except (ValueError, TypeError):
        return
    if off > _WRONG_CLOCK:
        text = f"it differs by {off / 60:.0f} minutes from the server's; Agentroom works, other programs may not"
        yield Finding("hint", "clock", text, "sudo timedatectl set-ntp true")
    else:
        yield Finding("good", "clock", "agrees with the server's")


def _programs(agents: list[wire.AgentSeen]) -> Iterator[Finding]:
    if {agent.runtime for agent in agents} & {"claude", "codex", "gemini"} or shutil.which("node"):
        yield _node()
    if not shutil.which("git"):
        yield Finding("broken", "git", "git is not installed", _install("git"))
    if platform.system() == "Linux":
        for program, package in (("bwrap", "bubblewrap"), ("socat", "socat")):
            if not shutil.which(program):
                yield Finding("hint", package, "missing; commands can’t be confined without it", _install(package))
        if shutil.which("bwrap"):
            if missing := support.missing():
                yield Finding("hint", "confinement", missing, _ALLOW_NAMESPACES)
            else:
                yield Finding("good", "confinement", "works: commands run without network, secrets and other folders")


def _node() -> Finding:
    node = shutil.which("node")
    if not node:
        return Finding("broken", "node", "Node.js is not installed; the runtimes need it", _INSTALL_NODE)
    said = _output([node, "--version"])
    match = re.match(r"v(\d+)", said)
    version = int(match[1]) if match else 0
    if version < _LEAST_NODE:
        return Finding("broken", "node", f"{said or 'its version'} is too old; {_WANTED_NODE} is wanted", _INSTALL_NODE)
    if version < _WANTED_NODE:
        return Finding("hint", "node", f"{said} works; the runtimes ask for {_WANTED_NODE}", _INSTALL_NODE)
    return Finding("good", "node", said)


async def _hook() -> Finding:
    async def refuse(call: HookCall) -> HookAnswer:
        return HookAnswer(False, "only a look")

    server = HookServer(refuse)
    try:
        await server.start()
        wrong = await probe(server.path)
    except OSError as error:
        wrong = str(error)
    finally:
        await server.close()
    if wrong:
        return Finding("broken", "hook", wrong, "reinstall: uv tool install --reinstall agentroom")
    return Finding("good", "hook", "each call of Claude Code and Codex can be put to you")


def _agents(agents: list[wire.AgentSeen]) -> Iterator[Finding]:
    if not agents:
        yield Finding("hint", "agents", "none lives here", "agentroom agents add HANDLE --runtime claude --workdir DIR")
    for agent in agents:
        yield _agent(agent)


def _agent(agent: wire.AgentSeen) -> Finding:
    try:
        workspace.check(agent)
        launch(agent, Surroundings())
    except Trouble as trouble:
        words, _, mend = str(trouble).partition(": ") if isinstance(trouble, NotReady) else (str(trouble), "", "")
        mend = mend or f"agentroom agents edit {agent.handle} --workdir DIR"
        return Finding("broken", agent.handle, words, mend)
    if mend := _not_signed_in(agent.runtime):
        return Finding("broken", agent.handle, f"{shown_name(agent.runtime)} is not signed in", mend)
    return Finding("good", agent.handle, f"{shown_name(agent.runtime)} in {agent.workdir}")


def _not_signed_in(runtime: str) -> str:
    """The command that signs in, when no trace of a sign-in is found; nothing otherwise."""
    environ, home = os.environ, Path.home()
    if runtime == "claude":
        folder = Path(environ.get("CLAUDE_CONFIG_DIR") or home / ".claude")
        by_variable = (
            "ANTHROPIC_API_KEY",
            "ANTHROPIC_AUTH_TOKEN",
            "ANTHROPIC_BASE_URL",
            "CLAUDE_CODE_OAUTH_TOKEN",
            "CLAUDE_CODE_USE_BEDROCK",
            "CLAUDE_CODE_USE_VERTEX",
        )
        # On macOS the sign-in is in the keychain, where we don't look.
        known = any(environ.get(name) for name in by_variable) or (folder / ".credentials.json").exists()
        return "" if known or platform.system() == "Darwin" else "claude-agent-acp --cli, then /login"
    if runtime == "codex":
        folder = Path(environ.get("CODEX_HOME") or home / ".codex")
        config = folder / "config.toml"
        own_provider = config.exists() and "model_provider" in config.read_text(encoding="utf-8", errors="replace")
        known = (
            any(environ.get(name) for name in ("OPENAI_API_KEY", "CODEX_API_KEY")) or (folder / "auth.json").exists()
        )
        return "" if known or own_provider else "codex-acp login"
    if runtime == "gemini":
        known = any(environ.get(name) for name in ("GEMINI_API_KEY", "GOOGLE_API_KEY", "GOOGLE_GENAI_USE_VERTEXAI"))
        return "" if known or (home / ".gemini" / "oauth_creds.json").exists() else "gemini, then choose a sign-in"
    return ""


def _output(command: list[str]) -> str:
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=10, check=False)
    except (OSError, subprocess.SubprocessError):
        return ""
    return done.stdout.strip()


def _install(package: str) -> str:
    if shutil.which("apt-get"):
        return f"sudo apt-get install {package}"
    return f"brew install {package}" if shutil.which("brew") else f"install {package} with your system's packages"
