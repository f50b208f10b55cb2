"""A tool call in our own words, whichever runtime and whichever way it was put to us."""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

Tool = Literal["read", "edit", "delete", "move", "search", "execute", "think", "fetch", "other"]

_NAMED: dict[str, Tool] = {
    "Read": "read", "NotebookRead": "read", "LS": "search", "Glob": "search", "Grep": "search", "Bash": "execute",
    "Monitor": "execute", "BashOutput": "other", "KillShell": "other", "Edit": "edit", "MultiEdit": "edit",
    "Write": "edit", "NotebookEdit": "edit", "apply_patch": "edit", "exec_command": "execute", "shell": "execute",
    "write_stdin": "execute", "TodoWrite": "think", "TodoRead": "think", "TaskCreate": "think", "TaskUpdate": "think",
    "TaskList": "think", "TaskGet": "think", "update_plan": "think", "todowrite": "think", "todoread": "think",
    "write_todos": "think", "AskUserQuestion": "think", "request_user_input": "think", "ToolSearch": "think",
    "WebFetch": "fetch", "WebSearch": "fetch",
}  # fmt: skip
"""Tools whose names say what they do. ``think``: touches nothing but the agent's own plan or asks a person."""
_KINDS: dict[str, Tool] = {
    "read": "read", "edit": "edit", "delete": "delete", "move": "move", "search": "search", "execute": "execute",
    "think": "think", "fetch": "fetch",
}  # fmt: skip


_SHELLS = {"bash", "sh", "zsh", "dash"}


def is_shell(program: str) -> bool:
    """Whether it is one of the system's shells; one of that name that lies elsewhere may be anything."""
    path = Path(program)
    return path.name in _SHELLS and (program == path.name or str(path.parent) in {"/bin", "/usr/bin", "/usr/local/bin"})


@dataclass(frozen=True)
class Call:
    id: str
    tool: Tool
    name: str
    """The runtime's own name for the tool, empty when it gives none."""
    title: str
    command: str | None
    paths: tuple[str, ...]
    raw: Any
    """The tool's input, exactly."""
    workdir: Path
    cwd: str = ""
    contents: bool = True
    """For a search: whether it shows what is in the files, not only their names."""
    diffs: tuple[tuple[str, str, str], ...] = field(default=())
    """Path, old text and new text, where the runtime says them beside the input."""
    escalates: bool = False
    """The runtime asks for more than its sandbox gives."""


def command_of(raw: Any) -> str | None:
    """The command in a tool's input, as the shell gets it."""
    if not isinstance(raw, Mapping):
        return None
    value = raw.get("command", raw.get("cmd"))
    if isinstance(value, str):
        return value
    if isinstance(value, Sequence) and value and all(isinstance(part, str) for part in value):
        given_to_a_shell = len(value) == 3 and value[1] in {"-c", "-lc"} and is_shell(value[0])
        return str(value[2]) if given_to_a_shell else shlex.join(value)
    return None


def paths_of(raw: Any, locations: Sequence[str] = ()) -> tuple[str, ...]:
    """Every path that a tool's input names."""
    found = list(locations)
    if isinstance(raw, Mapping):
        for key in ("file_path", "filePath", "notebook_path", "path", "absolute_path", "abs_path", "paths", "file"):
            value = raw.get(key)
            found += [value] if isinstance(value, str) else [v for v in value or [] if isinstance(v, str)]
        changes = raw.get("changes")
        if isinstance(changes, Mapping):
            found += [str(path) for path in changes]
        found += [path for _, path in patched(patch_of(raw)) or ()]
    return tuple(dict.fromkeys(path for path in found if path))


_PATCHED = re.compile(r"\*\*\* (Add File|Update File|Delete File|Move to): (.+)")
_PATCH_MARKS = {"*** Begin Patch", "*** End Patch", "*** End of File"}


def patch_of(raw: Any) -> str:
    """The patch in a tool's input, in Codex's words; empty when there is none."""
    if not isinstance(raw, Mapping):
        return ""
    said = (raw.get(key) for key in ("command", "patch", "input"))
    patch = next((value for value in said if isinstance(value, str)), "")
    return patch if patch.lstrip().startswith("*** Begin Patch") else ""


def patched(patch: str) -> list[tuple[str, str]] | None:
    """What a patch does to which file, ``("Delete File", path)``; None when a line of it may be a header of any kind.

    Codex takes a line for a header without the blanks around it, wherever it stands.
    """
    found: list[tuple[str, str]] = []
    for line in patch.split("\n"):
        header = line.strip()
        if not header.startswith("*** ") or header in _PATCH_MARKS:
            continue
        known = _PATCHED.fullmatch(header)
        if known is None or not header.isprintable():
            return None
        found.append((known[1], known[2]))
    return found


PLACES = ("workdir", "cwd", "dir_path")
"""What the runtimes call the folder in which a command is to run."""


def placed(raw: Any, cwd: str) -> str:
    """The folder in which a tool's input has its command run; ``cwd`` where it names none."""
    named = (raw.get(key) for key in PLACES) if isinstance(raw, Mapping) else ()
    place = next((value for value in named if isinstance(value, str) and value), "")
    return os.path.join(cwd, place)  # noqa: PTH118 - as it is written: “..” may lead through a link


def tool_of(name: str, kind: str | None = None) -> Tool:
    """The kind of tool: by its name where it is known, else as the runtime says, which is trusted only for asking."""
    if name in _NAMED:
        return _NAMED[name]
    if name.startswith("mcp__"):
        return "other"
    return _KINDS.get(kind or "", "other")


def from_hook(id: str, name: str, raw: Any, cwd: str, workdir: Path) -> Call:
    tool = tool_of(name)
    command = command_of(raw) if tool in {"execute", "other"} else None
    if name == "write_stdin" and isinstance(raw, Mapping):
        command = f"(typed into a running command) {raw.get('chars', '')}"
    return Call(
        id=id,
        tool=tool,
        name=name,
        title=name,
        command=command,
        paths=paths_of(raw),
        raw=raw,
        workdir=workdir,
        cwd=placed(raw, cwd),
        contents=shows_contents(name, raw),
    )


_REFUSED_BY_CODEX = re.compile(r"\brm\b")


def passable(call: Call) -> str:
    """The command in words that Codex does not refuse: it knows no yes to ``rm -f``, its owner's or anybody's.

    Empty where it needs none. It does the same, and in the same sandbox.
    """
    if call.command is None or not _REFUSED_BY_CODEX.search(call.command) or not isinstance(call.raw, Mapping):
        return ""
    return f"eval {shlex.quote(call.command)}" if call.raw.get("command") == call.command else ""


def as_asked(update: Mapping[str, Any], said: Mapping[str, str]) -> Mapping[str, Any]:
    """What a runtime tells of a call, in the words that the owner approved; ``said`` maps ours to them."""
    title, raw = update.get("title"), update.get("rawInput")
    changed: dict[str, Any] = {"title": said[title]} if isinstance(title, str) and title in said else {}
    if isinstance(raw, Mapping) and (command := command_of(raw)) in said:
        changed["rawInput"] = {**raw, "command": said[str(command)]}
    return {**update, **changed}


def shows_contents(name: str, raw: Any) -> bool:
    if name in {"LS", "Glob", "list", "glob"}:
        return False
    mode = raw.get("output_mode") if isinstance(raw, Mapping) else None
    return not (name == "Grep" and mode in {None, "files_with_matches", "count"})
