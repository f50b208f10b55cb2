"""Decides about one tool call: harmless, or the owner is asked. What can't be read is never harmless."""

from __future__ import annotations

import difflib
import fnmatch
import json
import os
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from agentroom_machine import wire
from agentroom_machine.daemon.call import Call

_SECRET_NAMES = (
    ".env", ".env.*", "*.env", "*.pem", "*.key", "*.p12", "*.pfx", "*.jks", "*.keystore", "*.kdbx", "*.asc", "*.gpg",
    "*.tfstate", "*.tfvars", "id_*", ".netrc", "_netrc", ".npmrc", ".pypirc", ".pgpass", ".my.cnf", ".htpasswd",
    ".git-credentials", ".envrc", "credentials", "credentials.*", "secrets", "secrets.*", "service-account*.json",
    "*.ovpn", ".dockercfg", ".boto", "token", "tokens", "*.token", "tokens.json", "auth.json", ".mcp.json",
)  # fmt: skip
_OPEN_NAMES = (".env.example", ".env.sample", ".env.template", ".env.dist", "*.pub")
_SECRET_FOLDERS = {
    ".git", ".ssh", ".aws", ".gnupg", ".kube", ".docker", ".azure", ".gcloud", ".claude", ".codex", ".gemini",
    ".opencode", ".cursor", ".mozilla", ".password-store", ".terraform.d", "gcloud",
}  # fmt: skip
_LOOK_AT = 20_000
"""Files that a search for secret names looks at before it gives up, which counts as having found one."""


@dataclass(frozen=True)
class Harmless:
    """Reading inside the working directory, or touching nothing at all."""


@dataclass(frozen=True)
class Ask:
    """The owner decides. ``action`` is the whole truth; None when it can't be shown whole."""

    title: str
    action: str | None
    short: str


def secret(path: Path) -> bool:
    """Whether a file's name, or a folder on the way to it, says that it holds secrets or settings of agents."""
    parts = [part.casefold() for part in path.parts]
    if any(part in _SECRET_FOLDERS for part in parts[:-1]) or (parts[-1:] and parts[-1] in _SECRET_FOLDERS):
        return True
    name = parts[-1] if parts else ""
    if any(fnmatch.fnmatch(name, pattern) for pattern in _OPEN_NAMES):
        return False
    return any(fnmatch.fnmatch(name, pattern) for pattern in _SECRET_NAMES)


def inside(path: str, workdir: Path) -> Path | None:
    """The path below the real working directory, links followed; None when it is outside or no path."""
    if "\x00" in path:
        return None
    try:
        real = Path(os.path.realpath(workdir / Path(path).expanduser()))
        return real.relative_to(os.path.realpath(workdir))
    except (ValueError, OSError, RuntimeError):
        return None


def judge(call: Call) -> Harmless | Ask:
    """The one decision about a tool call; everything that is not surely harmless goes to the owner."""
    if call.tool == "think" and call.command is None and not call.paths:
        return Harmless()
    if call.tool in {"read", "search"} and call.command is None and not call.name.startswith("mcp__"):
        paths = call.paths or (("",) if call.tool == "search" else ())
        if paths and all(_readable(path, call) for path in paths):
            return Harmless()
    return _ask(call)


def _readable(path: str, call: Call) -> bool:
    place = inside(path, call.workdir)
    if place is None or secret(place) or secret(Path(path)):
        return False
    if call.tool == "search":
        return not call.contents or not _holds_secrets(call.workdir / place)
    return True


def _holds_secrets(folder: Path) -> bool:
    return any(found is None or secret(found) for found in _names(folder))


def _names(folder: Path) -> Iterator[Path | None]:
    seen = 0
    for base, folders, files in os.walk(folder):
        folders[:] = [name for name in folders if name not in {".git", "node_modules", ".venv"}]
        for name in files:
            seen += 1
            if seen > _LOOK_AT:
                yield None
                return
            yield Path(base, name).relative_to(folder)


def _ask(call: Call) -> Ask:
    action = _action(call)
    title, short = _words(call)
    return Ask(title=title, action=action if len(action) <= wire.MAX_TEXT else None, short=short)


def _words(call: Call) -> tuple[str, str]:
    """The sentence's end for the owner ("wants to …"), and what the others in the room see."""
    if call.command is not None:
        return "run a command", f"run {_clip(call.command)}"
    places = list(dict.fromkeys(inside(path, call.workdir) for path in call.paths))
    where = ", ".join("a file outside the working directory" if place is None else str(place) for place in places[:3])
    where += f" and {len(places) - 3} more" if len(places) > 3 else ""
    verbs = {"read": "read", "search": "search", "edit": "change", "delete": "delete", "move": "move"}
    if call.tool in verbs and where:
        plus, minus = counts(call)
        sizes = f" (+{plus} −{minus})" if call.tool == "edit" and (plus or minus) else ""
        return f"{verbs[call.tool]} {where}{sizes}", f"{verbs[call.tool]} {where}{sizes}"
    if call.tool == "fetch":
        return "fetch from the network", "fetch from the network"
    name = call.name or call.title or "a tool"
    return f"use {_clip(name)}", f"use {_clip(name)}"


def _clip(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= 120 else line[:119] + "…"


def _action(call: Call) -> str:
    lines: list[str] = []
    if call.command is not None:
        lines += [call.command, "", f"in {call.cwd or call.workdir}"]
        extra = _without(call.raw, {"command", "cmd", "description", "cwd", "workdir"})
        if extra:
            lines += ["", _json(extra)]
        return "\n".join(lines)
    if call.name or call.title:
        lines.append(call.name or call.title)
    places = [(path, inside(path, call.workdir)) for path in call.paths]
    lines += dict.fromkeys(path if place is None else str(place) for path, place in places)
    if call.paths:
        lines.append(f"in {call.workdir}")
    plus, minus = counts(call)
    if plus or minus:
        lines.append(f"+{plus} −{minus}")
    if call.raw not in (None, {}, ""):
        lines += ["", _json(call.raw)]
    for path, old, new in call.diffs if call.raw in (None, {}, "") else ():
        lines += ["", path, *_diff(old, new)]
    return "\n".join(lines)


def _without(raw: Any, keys: set[str]) -> dict[str, Any]:
    return {key: value for key, value in raw.items() if key not in keys} if isinstance(raw, dict) else {}


def _json(value: Any) -> str:
    try:
        return json.dumps(value, ensure_ascii=False, indent=2, default=str)
    except (ValueError, TypeError):
        return str(value)


def _diff(old: str, new: str) -> list[str]:
    return list(difflib.unified_diff(old.splitlines(), new.splitlines(), lineterm="", n=1))[2:]


def counts(call: Call) -> tuple[int, int]:
    """Lines that an edit adds and takes away, from what the call itself says."""
    pairs = [(old, new) for _, old, new in call.diffs]
    raw = call.raw if isinstance(call.raw, dict) else {}
    if not pairs and isinstance(raw.get("new_string"), str):
        pairs = [(str(raw.get("old_string") or ""), raw["new_string"])]
    if not pairs and isinstance(raw.get("content"), str):
        pairs = [("", raw["content"])]
    patch = raw.get("command", raw.get("patch", raw.get("input")))
    if not pairs and isinstance(patch, str) and patch.lstrip().startswith("*** Begin Patch"):
        lines = patch.splitlines()
        return sum(line.startswith("+") for line in lines), sum(line.startswith("-") for line in lines)
    totals = [line_counts(old, new) for old, new in pairs]
    return sum(plus for plus, _ in totals), sum(minus for _, minus in totals)


def line_counts(old: str, new: str) -> tuple[int, int]:
    """Lines added and taken away between two texts; for very long ones by counting lines, not aligning them."""
    before, after = old.splitlines(), new.splitlines()
    if len(before) + len(after) > 8_000:
        gone, come = Counter(before), Counter(after)
        return sum((come - gone).values()), sum((gone - come).values())
    plus = minus = 0
    for tag, a, b, c, d in difflib.SequenceMatcher(None, before, after, autojunk=False).get_opcodes():
        if tag != "equal":
            minus += b - a
            plus += d - c
    return plus, minus
