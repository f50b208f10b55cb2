"""From ACP updates to facts: lists exactly what may leave the machine; what is not named here stays."""

from __future__ import annotations

import base64
import binascii
import re
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from agentroom_machine import wire
from agentroom_machine.daemon.call import Tool, command_of, paths_of, tool_of
from agentroom_machine.daemon.changes import Changes
from agentroom_machine.daemon.passage import Passages
from agentroom_machine.daemon.redact import Redactor
from agentroom_machine.daemon.within import inside

OUTPUT_TAIL = 4096
_KEPT_OUTPUT = 16 * 1024
"""Raw characters kept of an output: more than is sent, so that a secret is seen whole before its beginning is cut."""
_FENCE = re.compile(r"\A```[a-z]*\n([\s\S]*?)\n?```\s*\Z")
_STATES: dict[str, Literal["running", "done", "failed"]] = {
    "pending": "running", "in_progress": "running", "completed": "done", "failed": "failed",
}  # fmt: skip
_PLAN: dict[str, Literal["pending", "running", "done"]] = {
    "pending": "pending", "in_progress": "running", "completed": "done",
}  # fmt: skip
_VERBS = {"read": "Read", "edit": "Edit", "delete": "Delete", "move": "Move", "search": "Search"}


def line(text: str, limit: int = 2000) -> str:
    """The text as one bounded line."""
    text = " ".join(text.split())
    return text if len(text) <= limit else text[: limit - 1] + "…"


def _mappings(value: Any) -> list[Mapping[str, Any]]:
    """The objects in a JSON list; nothing when it is no list."""
    return [item for item in value if isinstance(item, Mapping)] if isinstance(value, list) else []


def _place_name(place: Path | None) -> str:
    if place is None:
        return "a file outside the working directory"
    return "the working directory" if place == Path() else str(place)


@dataclass
class SeenCall:
    """What is known of one tool call so far."""

    id: str
    began: float
    tool: Tool = "other"
    name: str = ""
    title: str = ""
    raw: Any = None
    paths: tuple[str, ...] = ()
    state: Literal["running", "done", "failed", "refused"] = "running"
    output: str = ""
    cut: int = 0
    exit_code: int | None = None
    ended: float | None = None
    diffs: dict[str, tuple[str, str]] = field(default_factory=dict)
    counted: bool = False
    ours: bool = False
    """Agentroom did it itself: what the runtime says of it counts no more."""
    said: wire.ToolCallFact | None = None
    due: float | None = None
    gap: float = 1.0


@dataclass(frozen=True)
class Picture:
    """An image that came through the protocol itself."""

    data: bytes
    content_type: str


class Translator:
    """Turns one turn's updates into facts, in order; ``emit`` gets each when it is due."""

    def __init__(
        self,
        turn_id: int,
        *,
        emit: Callable[[wire.Fact], None],
        picture: Callable[[Picture], None],
        redact: Redactor,
        workdir: Path,
        changes: Changes,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._emit, self._picture, self._redact, self._clock = emit, picture, redact, clock
        self._workdir = workdir
        self._changes = changes
        self._passages = Passages(turn_id, emit, redact)
        self.calls: dict[str, SeenCall] = {}
        self._plan: wire.PlanFact | None = None
        self._prefix = f"{turn_id}."
        self.cost = ""

    def take(self, update: Mapping[str, Any]) -> None:
        """One ACP session update, as the runtime sent it; unknown kinds are passed over."""
        kind = update.get("sessionUpdate")
        if kind == "agent_message_chunk":
            self._message(update)
        elif kind in {"tool_call", "tool_call_update"}:
            self._tool_call(update)
        elif kind == "plan":
            self._plan_update(update.get("entries"))
        elif kind == "usage_update":
            cost = update.get("cost")
            if (
                isinstance(cost, Mapping)
                and cost.get("currency") == "USD"
                and isinstance(cost.get("amount"), int | float)
            ):
                self.cost = f"{cost['amount']:.6f}"

    def tick(self) -> None:
        """Says what has become due; called a few times a second."""
        now = self._clock()
        self._passages.tick(now)
        for call in self.calls.values():
            if call.due is not None and now >= call.due:
                self._say(call)

    def flush_text(self) -> None:
        """Says the text so far, before something that must stand after it."""
        self._passages.end()

    def refused(self, id: str, name: str, raw: Any, title: str) -> None:
        """Marks a call as refused; a runtime whose hook said no may never mention the call itself."""
        call = self._call(id, name, raw, title)
        call.state = "refused"
        call.ended = call.ended or self._clock()
        self._say(call)

    def did(self, id: str, name: str, raw: Any, title: str, *, done: bool, output: str) -> None:
        """Tells of a call that Agentroom did in the runtime's place."""
        call = self._call(id, name, raw, title)
        call.ours, call.state, call.ended = True, "done" if done else "failed", self._clock()
        call.output, call.cut = "", 0
        self._append(call, output)
        self._say(call)

    def _call(self, id: str, name: str, raw: Any, title: str) -> SeenCall:
        call = self.calls.get(id)
        if call is None:
            self.flush_text()
            call = self.calls[id] = SeenCall(id, self._clock(), tool=tool_of(name), name=name, raw=raw, title=title)
            call.paths = paths_of(raw)
        return call

    def finish(self, *, completed: bool) -> None:
        """Says all that is left and closes calls that never said how they ended."""
        self._passages.end()
        for call in self.calls.values():
            if call.state == "running":
                call.state, call.ended = "done" if completed else "failed", self._clock()
            self._say(call)

    # --- text and plan

    def _message(self, update: Mapping[str, Any]) -> None:
        content = update.get("content")
        if not isinstance(content, Mapping):
            return
        if content.get("type") == "text" and isinstance(content.get("text"), str):
            self._passages.add(content["text"], str(update.get("messageId") or ""), self._clock())
        else:
            self._look_for_picture(content)

    def _plan_update(self, entries: Any) -> None:
        items = [
            wire.PlanItem(
                text=line(self._redact(self._local(str(entry.get("content") or "")))),
                state=_PLAN.get(str(entry.get("status")), "pending"),
            )
            for entry in _mappings(entries)[:100]
        ]
        fact = wire.PlanFact(items=items)
        if fact != self._plan:
            self._plan = fact
            self._passages.end()
            self._emit(fact)

    # --- tool calls

    def _tool_call(self, update: Mapping[str, Any]) -> None:
        call_id = str(update.get("toolCallId") or "")
        if not call_id:
            return
        call = self.calls.get(call_id)
        if call is None:
            self._passages.end()
            call = self.calls[call_id] = SeenCall(call_id, self._clock())
        self._learn(call, update)
        if call.ours:
            return
        for content in _mappings(update.get("content")):
            self._content(call, content)
        self._live_output(call, update.get("_meta"))
        state = _STATES.get(str(update.get("status")))
        if state and call.state != "refused":
            call.state = "failed" if state == "done" and call.exit_code else state
            if state != "running" and call.ended is None:
                call.ended = self._clock()
        if call.state == "done" and not call.counted and call.diffs:
            call.counted = True
            for path, (old, new) in call.diffs.items():
                self._changes.edited(path, old, new)
        self._tell(call)

    def _learn(self, call: SeenCall, update: Mapping[str, Any]) -> None:
        meta = update.get("_meta")
        claude = meta.get("claudeCode") if isinstance(meta, Mapping) else None
        name = update.get("name") or (claude.get("toolName") if isinstance(claude, Mapping) else None)
        if isinstance(name, str) and name:
            call.name = name
        if update.get("rawInput") not in (None, {}):
            call.raw = update["rawInput"]
        if isinstance(update.get("title"), str) and update["title"]:
            call.title = update["title"]
        kind = update.get("kind")
        if isinstance(kind, str) or call.name:
            call.tool = tool_of(call.name, kind if isinstance(kind, str) else call.tool)
        found = [spot["path"] for spot in _mappings(update.get("locations")) if isinstance(spot.get("path"), str)]
        call.paths = paths_of(call.raw, found) or call.paths

    def _content(self, call: SeenCall, content: Mapping[str, Any]) -> None:
        if content.get("type") == "diff" and isinstance(content.get("path"), str):
            old, new = content.get("oldText"), content.get("newText")
            call.diffs[content["path"]] = (old if isinstance(old, str) else "", new if isinstance(new, str) else "")
            if content["path"] not in call.paths:
                call.paths = (*call.paths, content["path"])
        elif content.get("type") == "content" and isinstance(block := content.get("content"), Mapping):
            if block.get("type") == "text" and isinstance(block.get("text"), str):
                match = _FENCE.match(block["text"])
                call.output, call.cut = "", 0
                self._append(call, match[1] if match else block["text"])
            else:
                self._look_for_picture(block)

    def _live_output(self, call: SeenCall, meta: Any) -> None:
        if not isinstance(meta, Mapping):
            return
        if isinstance(output := meta.get("terminal_output"), Mapping) and isinstance(output.get("data"), str):
            self._append(call, output["data"])
        if isinstance(end := meta.get("terminal_exit"), Mapping) and isinstance(end.get("exit_code"), int):
            call.exit_code = end["exit_code"]

    @staticmethod
    def _append(call: SeenCall, text: str) -> None:
        call.output += text
        if (over := len(call.output) - _KEPT_OUTPUT) > 0:
            call.cut += len(call.output[:over].encode(errors="replace"))
            call.output = call.output[over:]

    def _tell(self, call: SeenCall) -> None:
        """Says a call at once when its state changed, and its growing output at growing intervals."""
        said = call.said
        if said is None or said.state != call.state or said.title != self._title(call):
            self._say(call)
        elif call.due is None:
            call.due = self._clock() + call.gap

    def _say(self, call: SeenCall) -> None:
        call.due = None
        output, cut = self._output(call)
        fact = wire.ToolCallFact(
            call=self.key(call.id),
            tool=call.tool,
            title=self._title(call),
            state=call.state,
            duration_ms=None if call.ended is None else max(0, round((call.ended - call.began) * 1000)),
            output=output,
            output_cut=cut,
        )
        if fact != call.said:
            if call.said is not None and call.said.state == fact.state:
                call.gap = min(call.gap * 1.5, 10)
            call.said = fact
            self._emit(fact)

    def key(self, id: str) -> str:
        """The name under which a call is told: unique beyond its turn, and only of plain characters."""
        clean = re.sub(r"[^A-Za-z0-9_.:-]", "-", id)
        return (self._prefix + clean)[:100]

    def _output(self, call: SeenCall) -> tuple[str, int]:
        """The end of a command's output. What other tools show is the content of files: it stays here."""
        if call.tool != "execute":
            return "", 0
        settled = call.output if call.state != "running" else call.output[: self._redact.settled(call.output)]
        text = self._redact(self._local(settled))
        tail = text[-OUTPUT_TAIL:]
        return tail, call.cut + len(text[: len(text) - len(tail)].encode(errors="replace"))

    def _title(self, call: SeenCall) -> str:
        if (command := command_of(call.raw)) is not None and call.tool in {"execute", "other"}:
            title = command
        elif call.tool in _VERBS and call.paths:
            places = [inside(path, self._workdir) for path in call.paths]
            names = [_place_name(place) for place in places]
            title = f"{_VERBS[call.tool]} {', '.join(dict.fromkeys(names))}"
        else:
            title = call.title or call.name or "a tool"
        return line(self._redact(self._local(title)), 500) or "a tool"

    def _local(self, text: str) -> str:
        """The text without where on this machine the working directory and the person's home are."""
        for folder in {str(self._workdir), str(self._workdir.resolve())} - {"/"}:
            text = text.replace(folder + "/", "").replace(folder, ".")
        home = str(Path.home())
        return text if home == "/" else text.replace(home, "~")

    def _look_for_picture(self, content: Mapping[str, Any]) -> None:
        if content.get("type") != "image" or not isinstance(content.get("data"), str):
            return
        if len(content["data"]) > wire.MAX_FILE * 4 // 3 + 4:
            self._emit(wire.NoticeFact(text="An image is too large to be shown; it stays on the machine."))
            return
        try:
            data = base64.b64decode(content["data"], validate=False)
        except (binascii.Error, ValueError):
            return
        self._passages.end()
        self._picture(Picture(data, str(content.get("mimeType") or "image/png")))
