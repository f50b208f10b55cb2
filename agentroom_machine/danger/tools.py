"""Tools of an agent that are no shell: files by their path, MCP tools by their server, addresses by their host."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from agentroom_machine.danger import addresses, places
from agentroom_machine.danger.policy import Policy
from agentroom_machine.danger.reading import Finding, Reading, verdict

_NOTHING = Policy()
_READS = {"read", "search", "list", "glob", "grep", "ls", "view"}
_CHANGES = {"edit", "write", "move", "create", "notebook", "patch", "rename"}
OWN_SERVER = "room"
"""The tools that the daemon gives to each session. People call a server of their own “agentroom”."""


def classify_file(
    tool: str, paths: Sequence[str], workdir: Path, *, confined: bool = True, policy: Policy = _NOTHING
) -> Reading:
    """A file tool (``read``, ``search``, ``edit``, ``write``, ``move``, ``delete``) by the paths that it names."""
    findings: list[Finding] = []
    kind = tool.casefold()
    if not paths and kind not in {"list", "search", "glob", "grep"}:
        findings.append(Finding("unreadable", "which file it means can't be told"))
    for path in paths:
        findings += _file(kind, path, workdir, policy)
    return verdict(findings, confined=confined)


def _file(kind: str, path: str, workdir: Path, policy: Policy) -> list[Finding]:
    if "\0" in path:
        return [Finding("unreadable", "a path holds a character that no path has")]
    real = _real(path, workdir)
    if any(places.secret(one) or policy.secret(one) for one in (path, real)):
        return [Finding("credentials", f"{path} holds secrets")]
    if kind == "delete":
        return [Finding("delete", f"it deletes {path}")]
    outside = places.outside(path, "", workdir)
    if kind in _READS:
        git = "/.git/" in f"/{real}/"
        if outside or git:
            return [Finding("unreadable", f"{path} is {'part of git' if git else 'outside the working directory'}")]
        return []
    if kind not in _CHANGES:
        return [Finding("unreadable", f"what the tool {kind} does with {path} can't be told")]
    if places.runs_code(path) or places.runs_code(real):
        return [Finding("unreadable", f"{path} decides what runs later")]
    if outside:
        return [Finding("delete", f"it changes {path}, outside the working directory")]
    return []


def _real(path: str, workdir: Path) -> str:
    """Where a path leads from the working directory, links followed."""
    try:
        target = (workdir / Path(path).expanduser()).resolve()
        root = workdir.resolve()
        return str(target.relative_to(root)) if target.is_relative_to(root) else str(target)
    except (OSError, ValueError, RuntimeError):
        return path


def classify_mcp(
    server: str, tool: str, annotations: Mapping[str, object] | None = None, policy: Policy = _NOTHING
) -> Reading:
    """A tool of an MCP server: its own word that it only reads counts only where the owner trusts the server."""
    said = annotations or {}
    if server == OWN_SERVER:
        return verdict([], confined=False)
    reads, destroys = said.get("readOnlyHint") is True, said.get("destructiveHint") is True
    if destroys and not reads:
        return verdict([Finding("delete", f"the tool {tool} of {server} says that it destroys")], confined=False)
    if policy.server_is_fine(server) and reads:
        return verdict([], confined=False)
    if reads:
        return verdict([Finding("unreadable", f"{server} is no server that the owner has named")], confined=False)
    return verdict([Finding("spend", f"the tool {tool} of {server} does not say that it only reads")], confined=False)


def classify_url(url: str, policy: Policy = _NOTHING, *, method: str = "GET", confined: bool = True) -> Reading:
    """A request to an address; where nothing confines the network, a host that the owner has not named pauses."""
    findings = addresses.judge(url, method, policy)
    host = addresses.host_of(url)
    scheme = url.partition("://")[0].casefold()
    if scheme == "file":
        findings.append(Finding("unreadable", "it reads a file by an address"))
    elif scheme not in {"http", "https"} or not host:
        findings.append(Finding("unreadable", "it is no address of a page"))
    elif addresses.loopback(host) or addresses.private(host):
        findings.append(Finding("unreadable", f"{host} is a machine in the owner's own network"))
    elif not policy.host_is_fine(host):
        findings.append(Finding("unreadable", f"{host} is no host that the owner has named", confinable=True))
    return verdict(findings, confined=confined)
