"""How a tool call is shown: whole to who decides about it, short to the others in the room."""

from __future__ import annotations

import difflib
import json
from collections import Counter
from pathlib import Path
from typing import Any

from agentroom_machine.daemon.call import Call
from agentroom_machine.daemon.push import PushPlan
from agentroom_machine.daemon.within import inside


def words(call: Call) -> tuple[str, str]:
    """The sentence's end for the owner ("wants to …"), and what the others in the room see."""
    if call.command is not None:
        return "run a command", f"run {_code(_clip(call.command))}"
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


def push(plan: PushPlan) -> str:
    """The sentence's end for a push that is known whole: what goes where."""
    pushed, gone = ([_plain(ref.name) for ref in plan.refs if bool(ref.sha) is there] for there in (True, False))
    where = _called(plan.url)
    how = " by force" if any(ref.force for ref in plan.refs) else ""
    said = [f"push {_some(pushed)} to {where}{how}"] if pushed else []
    said += [f"remove {_some(gone)} {'there' if pushed else f'at {where}'}"] if gone else []
    return " and ".join(said)


def _called(url: str) -> str:
    """What people call a repository by its address: host and path, or a folder's name."""
    if url.startswith(("/", "file://")):
        return Path(url).name
    _, scheme, rest = url.rpartition("://")
    host, _, path = rest.partition("/" if scheme else ":")
    return f"{host.rpartition('@')[2]}/{path.strip('/').removesuffix('.git')}"


def _plain(ref: str) -> str:
    """A branch by its name alone, a tag as one."""
    return ref.removeprefix("refs/heads/").replace("refs/tags/", "tag ", 1)


def _some(names: list[str]) -> str:
    return ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")


def _code(text: str) -> str:
    """As code, unless it holds the mark that would end it."""
    return text if "`" in text else f"`{text}`"


def _clip(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= 120 else line[:119] + "…"


def action(call: Call) -> str:
    """Everything that is wanted, exactly."""
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
