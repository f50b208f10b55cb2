"""From an agent's configuration to a command line, an environment and the mode that must hold."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from agentroom_machine import wire
from agentroom_machine.errors import Trouble

HOOK_SOCKET = "AGENTROOM_HOOK"
"""Variable that tells the hook program where the daemon listens."""
HOOK_PROGRAM = Path(__file__).parent.parent / "hook_program.py"
CLAUDE_PLUGIN = Path(__file__).parent / "claude_plugin"
"""A folder of Claude Code's own kind, with the hook that puts every call to us."""
_KEPT_BACK = {
    "SSH_AUTH_SOCK", "SSH_AGENT_PID", "GPG_AGENT_INFO", "GH_TOKEN", "GITHUB_TOKEN", "GITLAB_TOKEN", "GL_TOKEN",
    "BITBUCKET_TOKEN", "NPM_TOKEN", "NODE_AUTH_TOKEN", "PYPI_TOKEN", "TWINE_PASSWORD", "UV_PUBLISH_TOKEN",
    "UV_PUBLISH_PASSWORD", "CARGO_REGISTRY_TOKEN", "HF_TOKEN", "SLACK_TOKEN", "SLACK_BOT_TOKEN", "STRIPE_API_KEY",
    "STRIPE_SECRET_KEY", "DOCKER_PASSWORD", "VAULT_TOKEN", "CLOUDFLARE_API_TOKEN", "DIGITALOCEAN_ACCESS_TOKEN",
    "HEROKU_API_KEY", "VERCEL_TOKEN", "NETLIFY_AUTH_TOKEN", "FLY_API_TOKEN", "AWS_SECRET_ACCESS_KEY",
    "AWS_SESSION_TOKEN", "AZURE_CLIENT_SECRET", "DATABASE_URL", "PGPASSWORD", "SECRET_KEY", "DJANGO_SECRET_KEY",
}  # fmt: skip
"""What an agent's commands must not find by themselves. A runtime's own login is not among them: it needs that."""

_LONGEST_TEMPORARY = 60


class NotReady(Trouble):
    """A runtime can't run here; the words say what mends it."""


@dataclass(frozen=True)
class Surroundings:
    """What a launch depends on beside the agent's configuration."""

    environ: Mapping[str, str] = field(default_factory=lambda: dict(os.environ))
    scratch: Path = Path()
    """Folder of the profile in which runtimes keep what is theirs."""
    socket: str = ""
    """Where the hook program finds the daemon; empty when nobody listens, for a look only."""


@dataclass(frozen=True)
class Launch:
    """How to start a runtime."""

    runtime: str
    command: list[str]
    env: dict[str, str]
    mode: str | None = None
    """The mode that is forced and must hold; None: the runtime's "default" or "ask", if it has modes."""
    meta: dict[str, Any] = field(default_factory=dict)
    """Goes along with every new, load and resume."""
    hook: bool = False
    """The runtime must put each call to our hook; a call that did not come by it ends the turn."""
    codex_hook: bool = False
    """The hook must be trusted by its hash first."""
    writes: tuple[Path, ...] = ()
    """Files outside of the working directory that the runtime must be able to write."""
    codex_settings: tuple[str, ...] = ()
    """Settings that count only from Codex's own command line."""
    told_notes: bool = False
    """What the repository says in words is told with the session: the runtime reads none of it by itself."""
    verbatim: bool = True
    """The runtime takes the text of a prompt as it is."""


def shown_name(runtime: str) -> str:
    """The runtime's name in words, for people."""
    names = {"claude": "Claude Code", "codex": "Codex", "opencode": "OpenCode", "gemini": "Gemini CLI", "demo": "demo"}
    return names.get(runtime) or (shlex.split(runtime) or ["?"])[0]


def agent_environment(environ: Mapping[str, str]) -> dict[str, str]:
    """The owner's environment without what is Agentroom's and without tokens that push, publish or pay."""
    return {
        name: value
        for name, value in environ.items()
        if name not in _KEPT_BACK and not name.startswith("AGENTROOM_") and name != "CLAUDECODE"
    }


def launch(agent: wire.AgentConfig, around: Surroundings) -> Launch:
    """How to start this agent here; raises NotReady when something is missing."""
    makers = {"claude": _claude, "codex": _codex, "opencode": _opencode, "gemini": _gemini, "demo": _demo}
    return makers.get(agent.runtime, _custom)(agent, around)


def find(program: str, around: Surroundings, mend: str) -> str:
    found = shutil.which(program, path=around.environ.get("PATH"))
    if not found:
        raise NotReady(f"{program} is not installed. Install it: {mend}")
    return found


def _claude(agent: wire.AgentConfig, around: Surroundings) -> Launch:
    program = find("claude-agent-acp", around, "npm install -g @agentclientprotocol/claude-agent-acp")
    options: dict[str, Any] = {
        "promptSuggestions": False,
        # Else the mode that asks nothing stays within reach.
        "allowDangerouslySkipPermissions": False,
        # Else "@path" in a message is read and sent to the model without any request.
        "verbatimPrompts": True,
        "managedSettings": {
            "permissions": {
                "ask": [
                    "Bash", "Monitor", "Edit", "Write", "NotebookEdit", "WebFetch", "WebSearch", "Agent", "mcp__*",
                    "Read(//**/.env)", "Read(//**/.env.*)", "Read(~/.ssh/**)", "Read(~/.aws/**)", "Read(//**/*.pem)",
                ],
                "disableBypassPermissionsMode": "disable",
                "disableAutoMode": "disable",
            },
            "strictPluginOnlyCustomization": ["hooks"],
        },
        # A repository's settings would run what they name (hooks, helpers for keys), and send the runtime's key to an
        # address of theirs, unseen. Its owner's hooks would run as unseen; so ours comes by a plugin.
        "settingSources": ["user"],
        "plugins": [{"type": "local", "path": str(CLAUDE_PLUGIN)}],
        "settings": {
            "disableAllHooks": False,
            # What Claude Code writes down for itself would be readable in every other room.
            "autoMemoryEnabled": False,
        },
    }  # fmt: skip
    if agent.model:
        options["model"] = agent.model
    env = agent_environment(around.environ) | {
        HOOK_SOCKET: around.socket,
        "AGENTROOM_HOOK_PYTHON": sys.executable,
        "AGENTROOM_HOOK_PROGRAM": str(HOOK_PROGRAM),
        "CLAUDE_CODE_DISABLE_AUTO_MEMORY": "1",
        # Else the tools for mail may be there only after a search that nothing makes the model do.
        "ENABLE_TOOL_SEARCH": "false",
    }
    if len(env.get("TMPDIR", "")) > _LONGEST_TEMPORARY:
        # Its sandbox keeps sockets there, whose paths have room for about a hundred characters.
        env["TMPDIR"] = "/tmp"  # noqa: S108 - everybody's, as it would be without the variable
    meta = {"claudeCode": {"options": options}}
    return Launch("claude", [program], env, mode="default", meta=meta, hook=True, told_notes=True)


def codex_hook_command() -> str:
    # Codex goes on when a hook crashes; 2 alone means no.
    return f"{shlex.quote(sys.executable)} -I {shlex.quote(str(HOOK_PROGRAM))} || exit 2"


def codex_config(agent: wire.AgentConfig, trusted: Mapping[str, str]) -> dict[str, Any]:
    """Codex's configuration for one process; ``trusted`` maps a hook's key to its hash."""
    hook = {"type": "command", "command": codex_hook_command(), "timeout": 86400}
    config: dict[str, Any] = {
        "features": {"hooks": True, "memories": False},
        "hooks": {
            "PreToolUse": [{"matcher": ".*", "hooks": [hook]}],
            "state": {key: {"trusted_hash": value} for key, value in trusted.items()},
        },
    }
    if agent.model:
        config["model"] = agent.model
    return config


def _codex(agent: wire.AgentConfig, around: Surroundings) -> Launch:
    program = find("codex-acp", around, "npm install -g @agentclientprotocol/codex-acp")
    env = agent_environment(around.environ) | {
        HOOK_SOCKET: around.socket,
        "INITIAL_AGENT_MODE": "workspace-write",
        "CODEX_CONFIG": json.dumps(codex_config(agent, {})),
    }
    return Launch("codex", [program], env, mode="workspace-write", hook=True, codex_hook=True)


def _opencode(agent: wire.AgentConfig, around: Surroundings) -> Launch:
    program = find("opencode", around, "npm install -g opencode-ai")
    env = agent_environment(around.environ)
    try:
        config = json.loads(env.get("OPENCODE_CONFIG_CONTENT") or "{}")
    except ValueError:
        config = {}
    ask = ("bash", "edit", "webfetch", "websearch", "external_directory", "task", "skill", "doom_loop")
    config["permission"] = {"*": "ask", **dict.fromkeys(ask, "ask")} | dict.fromkeys(
        ("todowrite", "todoread", "glob", "list"), "allow"
    )
    config["share"] = "disabled"
    if agent.model:
        config["model"] = agent.model
    env["OPENCODE_CONFIG_CONTENT"] = json.dumps(config)
    return Launch("opencode", [program, "acp"], env)


def _gemini(agent: wire.AgentConfig, around: Surroundings) -> Launch:
    program = find("gemini", around, "npm install -g @google/gemini-cli")
    model = ["--model", agent.model] if agent.model else []
    return Launch("gemini", [program, "--acp", *model], agent_environment(around.environ), mode="default")


def _demo(agent: wire.AgentConfig, around: Surroundings) -> Launch:
    env = agent_environment(around.environ)
    env |= {"AGENTROOM_DEMO_STATE": str(around.scratch / "demo")}
    writes = []
    if log := around.environ.get("AGENTROOM_DEMO_LOG"):
        env["AGENTROOM_DEMO_LOG"] = log
        writes.append(Path(log))
    if (root := str(Path(__file__).parent.parent.parent)) not in sys.path[1:]:
        env["PYTHONPATH"] = os.pathsep.join(filter(None, [root, env.get("PYTHONPATH")]))
    command = [sys.executable, "-P", "-m", "agentroom_machine.demo_agent"]
    return Launch("demo", command, env, mode="ask", writes=tuple(writes))


def _custom(agent: wire.AgentConfig, around: Surroundings) -> Launch:
    try:
        command = shlex.split(agent.runtime)
    except ValueError:
        command = []
    if not command:
        raise NotReady(f"“{agent.runtime}” is no command. Change it: agentroom agents edit {agent.handle} --runtime …")
    program = find(command[0], around, "see its own documentation")
    return Launch(agent.runtime, [program, *command[1:]], agent_environment(around.environ))
