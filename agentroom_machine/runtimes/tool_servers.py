"""Which servers of tools (MCP) a session sees: the daemon's own, and those that the owner's policy names."""

from __future__ import annotations

import copy
import dataclasses
import re
import tomllib
from pathlib import Path
from typing import Any

from agentroom_machine.danger.policy import Policy
from agentroom_machine.danger.tools import OWN_SERVER
from agentroom_machine.errors import Trouble
from agentroom_machine.runtimes.launch import Launch

_NAME = re.compile(r"[A-Za-z0-9_-]+")


def only_named(how: Launch, mail: bool, policy: Policy, cwd: Path) -> Launch:
    """The launch without the servers that nobody named; raises Trouble where one has our own name. Blocks.

    ``mail``: whether the session gets the daemon's own. What can't be left out is asked about at each call.
    """
    if policy.server_is_fine(OWN_SERVER):
        raise Trouble(f"The policy names {OWN_SERVER} as a server of tools, which is Agentroom's own name. Rename it.")
    match how.runtime:
        case "claude":
            return dataclasses.replace(how, meta=_claude(how.meta, mail, policy))
        case "codex":
            return dataclasses.replace(how, codex_settings=(*how.codex_settings, *_codex(how, policy, cwd)))
        case "gemini":
            names = [*([OWN_SERVER] if mail else []), *policy.mcp_servers]
            allowed = [f"--allowed-mcp-server-names={','.join(names) or 'none'}"]
            return dataclasses.replace(how, command=[*how.command, *allowed])
        case _:
            return how


def _claude(meta: dict[str, Any], mail: bool, policy: Policy) -> dict[str, Any]:
    meta = copy.deepcopy(meta)
    options = meta["claudeCode"]["options"]
    names = [*([OWN_SERVER] if mail else []), *policy.mcp_servers]
    options["managedSettings"] |= {
        "allowedMcpServers": [{"serverName": name} for name in names],
        "allowManagedMcpServersOnly": True,
    }
    if not policy.mcp_servers:
        options["strictMcpConfig"] = True
    return meta


def _codex(how: Launch, policy: Policy, cwd: Path) -> list[str]:
    home = Path(how.env.get("CODEX_HOME") or Path(how.env.get("HOME") or Path.home()) / ".codex")
    places = [home / "config.toml", *(folder / ".codex" / "config.toml" for folder in (cwd, *cwd.parents))]
    found = {name for place in places for name in _servers(place)}
    if OWN_SERVER in found:
        raise Trouble(
            f"Codex's settings have a server of tools called {OWN_SERVER}, which is Agentroom's own name. Rename it."
        )
    unwanted = sorted(name for name in found if not policy.server_is_fine(name) and _NAME.fullmatch(name))
    return [f"mcp_servers.{name}.enabled=false" for name in unwanted]


def _servers(place: Path) -> list[str]:
    try:
        servers = tomllib.loads(place.read_text(encoding="utf-8")).get("mcp_servers")
    except (OSError, ValueError):
        return []
    return [str(name) for name in servers] if isinstance(servers, dict) else []
