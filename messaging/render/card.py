"""One turn, folded from its entries: what its card shows, and what a new entry changes about it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, Protocol

ENDED = frozenset({"done", "failed", "stopped", "interrupted", "refused", "cancelled"})
NEWEST_STEPS = 20
"""Finished steps that a card holds; earlier ones are fetched when somebody asks for them."""
OPEN_STEPS = 12
PASSAGES = 3
"""Passages of text that stand open; earlier ones are folded among the steps."""
FILES = 100
PICTURES = 24
NOTICES = 10
DECISIONS = 50
"""Decisions that a card holds; earlier ones are fetched when somebody asks for them."""


class Happened(Protocol):
    """What folding needs of an entry."""

    @property
    def seq(self) -> int: ...
    @property
    def kind(self) -> str: ...
    @property
    def body(self) -> str: ...
    @property
    def data(self) -> Any: ...
    @property
    def created_at(self) -> datetime: ...


@dataclass(frozen=True)
class Away:
    """A machine that does not answer, though one of its turns runs."""

    machine: str
    since: datetime | None
    stop_waits: bool
    """Somebody pressed Stop, and the machine has not heard it."""
    answer_waits: bool
    """A question was answered since the machine was last heard."""


@dataclass(frozen=True)
class Facts:
    """What the turn's entries don't say: who it is about."""

    agent: str
    """Its handle in the room."""
    owner: str
    principal: str
    asker: str
    """Who wrote the message; another than ``principal`` when an agent passed it on."""
    deputy: str = ""
    cause: str = ""
    """*mail*: the line under the message says how it waits; *ask*: no work hangs on it, only a question."""
    away: Away | None = None
    """Set while the turn runs on a machine that does not answer."""

    @property
    def may_act(self) -> str:
        """Handles whose browsers ask for the turn's forms."""
        return " ".join(sorted({self.owner, self.principal, self.asker, self.deputy} - {""}))


@dataclass
class Passage:
    part: str
    seq: int
    pieces: list[str] = field(default_factory=list)

    @property
    def key(self) -> str:
        return f"p{self.seq}"

    @property
    def text(self) -> str:
        return "".join(self.pieces)


@dataclass
class Step:
    call: str
    seq: int
    """Of its first entry: its place."""
    at: datetime
    tool: str = "other"
    title: str = ""
    state: str = "running"
    duration_ms: int | None = None
    output: str = ""
    output_cut: int = 0

    @property
    def key(self) -> str:
        return f"s{self.seq}"

    @property
    def seconds(self) -> float | None:
        return None if self.duration_ms is None else self.duration_ms / 1000


@dataclass
class FileChange:
    path: str
    change: str
    plus: int
    minus: int
    seq: int
    has_diff: bool


@dataclass
class Produced:
    seq: int
    name: str
    content_type: str
    size: int
    sha256: str


@dataclass
class Question:
    id: int
    subject: str
    short: str
    state: str
    by: str
    note: str
    seq: int
    at: datetime
    last_seq: int
    """Of its newest entry: once decided, of the decision."""

    @property
    def open(self) -> bool:
        return self.state == "asked"


@dataclass
class Card:
    room: int
    turn: int
    facts: Facts
    seq: int = 0
    """Everything up to this entry is folded in."""
    state: str = "asked"
    by: str = ""
    note: str = ""
    until: str = ""
    state_at: datetime | None = None
    started_at: datetime | None = None
    confined: bool | None = None
    """Whether its commands ran confined, as its machine said when it started."""
    passages: dict[str, Passage] = field(default_factory=dict)
    steps: dict[str, Step] = field(default_factory=dict)
    plan: list[Mapping[str, str]] = field(default_factory=list)
    files: dict[str, FileChange] = field(default_factory=dict)
    produced: list[Produced] = field(default_factory=list)
    notices: list[str] = field(default_factory=list)
    questions: dict[int, Question] = field(default_factory=dict)
    unread_steps: int = 0
    """Finished steps that were not read from the log."""
    whole: bool = True
    """Whether every entry was read; a long finished turn is read from its end."""

    def fold(self, entries: Iterable[Happened]) -> set[str]:
        """Fold in what is newer; says which sections look different now."""
        changed: set[str] = set()
        for entry in entries:
            if entry.seq > self.seq and entry.data.get("turn") == self.turn:
                changed |= self._take(entry)
                self.seq = entry.seq
        return changed

    def _take(self, entry: Happened) -> set[str]:
        data = entry.data
        match entry.kind:
            case "turn":
                stopping_by = self.by if self.state == "stopping" else ""
                self.state, self.by = str(data["state"]), str(data.get("by") or stopping_by)
                self.note, self.until = str(data.get("note") or ""), str(data.get("until") or "")
                self.state_at = entry.created_at
                if self.state == "running":
                    self.started_at = entry.created_at
                    self.confined = data.get("confined")
                if not self.ended:
                    return {"state"}
                left_open = {f"step:{step.call}" for step in self.steps.values() if step.state == "running"}
                return {"state", "open", "history"} | left_open
            case "text":
                return self._take_text(entry)
            case "tool_call":
                return self._take_step(entry)
            case "plan":
                self.plan = list(data.get("items") or [])
                return {"plan"}
            case "file_change":
                path = str(data["path"])
                self.files[path] = FileChange(
                    path, str(data.get("change", "changed")), int(data["plus"]), int(data["minus"]), entry.seq,
                    bool(entry.body),
                )  # fmt: skip
                return {"files"}
            case "artifact":
                self.produced.append(
                    Produced(entry.seq, data["name"], data["content_type"], int(data["size"]), data["sha256"])
                )
                return {"produced"}
            case "notice":
                self.notices.append(entry.body)
                return {"notices"}
            case "blanked":
                # Its words may stand in any section; whoever draws this card live reads it anew.
                self.notices.append(entry.body)
                return {"notices"}
            case "approval":
                return self._take_question(entry)
        return set()

    def _take_text(self, entry: Happened) -> set[str]:
        part = str(entry.data.get("part", ""))
        passage = self.passages.get(part)
        if passage is None:
            self.passages[part] = Passage(part, entry.seq, [entry.body])
            if len(self.passages) <= PASSAGES:
                return {"texts"}
            folded = list(self.passages)[-PASSAGES - 1]
            return {"texts", "history", f"said:{folded}"}
        passage.pieces.append(entry.body)
        return {f"text:{part}"}

    def _take_step(self, entry: Happened) -> set[str]:
        data = entry.data
        call = str(data["call"])
        step = self.steps.get(call)
        if step is None:
            step = self.steps[call] = Step(call, entry.seq, entry.created_at)
        was_running = step.state == "running"
        step.tool, step.title, step.state = str(data.get("tool", "other")), str(data["title"]), str(data["state"])
        step.duration_ms = data.get("duration_ms")
        step.output, step.output_cut = entry.body, int(data.get("output_cut") or 0)
        if step.state == "running":
            return {"open"} if was_running else {"open", "history"}
        # The page fetches a finished step's output when somebody opens it.
        step.output = step.output and "…"
        return {"open", "history", f"step:{call}"}

    def _take_question(self, entry: Happened) -> set[str]:
        data = entry.data
        number = int(data["approval"])
        known = self.questions.get(number)
        self.questions[number] = Question(
            number, str(data["subject"]), str(data.get("short") or ""), str(data["state"]), str(data.get("by") or ""),
            entry.body, known.seq if known else entry.seq, entry.created_at, entry.seq,
        )  # fmt: skip
        return {"state", f"question:{number}"}

    @property
    def ended(self) -> bool:
        return self.state in ENDED

    @property
    def asks_to_start(self) -> Question | None:
        return next((question for question in self.questions.values() if question.subject == "start"), None)

    @property
    def open_questions(self) -> list[Question]:
        """What stands below the card; a request to start is part of the card itself."""
        return [question for question in self.questions.values() if question.open and question.subject != "start"]

    @property
    def decided(self) -> list[Question]:
        """In the order of the decisions. A start that was not allowed is how the turn ended, and stands there."""
        decided = [q for q in self.questions.values() if not q.open]
        return sorted(
            (q for q in decided if q.subject != "start" or q.state in {"once", "always"}), key=lambda q: q.last_seq
        )

    @property
    def waits_for_a_person(self) -> bool:
        return not self.ended and any(question.open for question in self.questions.values())

    @property
    def open_passages(self) -> list[Passage]:
        return list(self.passages.values())[-PASSAGES:]

    @property
    def open_steps(self) -> list[Step]:
        """Steps that run now; the end of the turn ends them all."""
        if self.ended:
            return []
        return [step for step in self.steps.values() if step.state == "running"][-OPEN_STEPS:]

    @property
    def finished(self) -> list[Step | Passage]:
        """What is folded, oldest first: finished steps, and the passages that newer ones followed."""
        steps = [step for step in self.steps.values() if self.ended or step.state != "running"]
        passages = list(self.passages.values())[:-PASSAGES]
        return sorted([*steps, *passages], key=lambda item: item.seq)

    @property
    def finished_steps(self) -> int:
        return self.unread_steps + sum(1 for s in self.steps.values() if self.ended or s.state != "running")

    @property
    def ran_for(self) -> timedelta | None:
        if self.started_at is None or self.state_at is None:
            return None
        return max(self.state_at - self.started_at, timedelta(0))
