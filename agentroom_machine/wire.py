"""What the owner's machine and the server say to each other, as both sides see it.

Every body is JSON. A request carries ``Authorization: Bearer <machine token>``. Instants are ISO 8601 with an
offset and are always the server's. A field that one side does not know is ignored, so either side can be newer.
"""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, StringConstraints

PROTOCOL = 1
MAX_WAIT = 25
"""Seconds that one sync may be held open; shorter than a proxy's 30 s."""
ONLINE_FOR = 45
"""Seconds after the last call in which a machine counts as connected."""
MAX_FACTS = 200
"""Facts in one report."""
MAX_TEXT = 64_000
"""Characters in one text, output tail, action or diff; the machine cuts, the server refuses more."""
UNDO_PATHS = 100
"""Paths in one list of what an undo puts back."""
MAX_FILE = 20_000_000
"""Bytes of one produced or attached file."""
CHAT_PAGE = 100
"""Messages on one page of the account chat."""
SWITCHED_OFF = "switched_off"
"""Code of the problem that answers programs while the account's owner has its chat switched off."""

Handle = Annotated[str, StringConstraints(pattern=r"^[a-z0-9][a-z0-9_-]{0,31}$")]
Sha256 = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{64}$")]
Key = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9_.:-]{1,100}$")]
Text = Annotated[str, StringConstraints(max_length=MAX_TEXT)]
Line = Annotated[str, StringConstraints(max_length=2_000)]

Subject = Literal["push", "delete", "spend", "credentials", "unreadable", "tool", "question"]
"""What a question is about: the four kinds, what can't be read, any other tool call, or a plain question."""
TurnEnd = Literal["done", "failed", "stopped", "interrupted"]


class Wire(BaseModel):
    model_config = ConfigDict(extra="ignore", frozen=True)


# --- pairing: the machine makes its own two secrets and sends only their hashes -----------------------------------


class PairRequest(Wire):
    """POST /api/machine/pairings, without a token."""

    name: Annotated[str, StringConstraints(min_length=1, max_length=60)]
    token_hash: Sha256
    """SHA-256, hex, of the machine token."""
    connection_hash: Sha256
    """SHA-256, hex, of the token of the account connection."""


class PairReply(Wire):
    user_code: str
    """Eight characters, as ABCD-EFGH, for the person to compare."""
    url: str
    """Where the person confirms."""
    expires_at: datetime
    interval: int = 2


class PairState(Wire):
    """GET /api/machine/pairing, with the machine token: what became of it."""

    state: Literal["waiting", "paired", "declined", "expired"]
    machine_id: int | None = None
    name: str = ""
    owner: str = ""


# --- agents ---------------------------------------------------------------------------------------------------------


class AgentConfig(Wire):
    """An agent of this machine, as its owner set it."""

    id: int
    handle: Handle
    display_name: str
    role: str = ""
    runtime: str
    """claude, codex, opencode, gemini, demo, or the command line of any ACP agent."""
    workdir: str
    model: str = ""
    share_diffs: bool = False
    worktree_per_room: bool = False
    wake_for_mail: bool = False
    """Mail starts this agent when it is asleep."""
    paused: bool = False


class AgentNew(Wire):
    """POST /api/machine/agents."""

    handle: Handle
    runtime: Annotated[str, StringConstraints(min_length=1, max_length=500)]
    workdir: Annotated[str, StringConstraints(min_length=1, max_length=1000)]
    display_name: Annotated[str, StringConstraints(max_length=60)] = ""
    role: Annotated[str, StringConstraints(max_length=200)] = ""
    model: Annotated[str, StringConstraints(max_length=100)] = ""


class AgentEdit(Wire):
    """PATCH /api/machine/agents/{handle}: what is given changes. ``here`` brings the agent to this machine."""

    runtime: Annotated[str, StringConstraints(min_length=1, max_length=500)] | None = None
    workdir: Annotated[str, StringConstraints(min_length=1, max_length=1000)] | None = None
    display_name: Annotated[str, StringConstraints(min_length=1, max_length=60)] | None = None
    role: Annotated[str, StringConstraints(max_length=200)] | None = None
    model: Annotated[str, StringConstraints(max_length=100)] | None = None
    share_diffs: bool | None = None
    worktree_per_room: bool | None = None
    wake_for_mail: bool | None = None
    paused: bool | None = None
    here: bool = False


class AgentSeen(AgentConfig):
    """GET /api/machine/agents: every agent of this machine's owner, with where it lives and sits."""

    machine: str | None = None
    here: bool = False
    status: str = ""
    rooms: list[str] = Field(default_factory=list)
    waiting: int = 0
    """Requests asked or queued."""


# --- the loop -------------------------------------------------------------------------------------------------------


class Kept(Wire):
    """A live session: one agent's, in one room."""

    agent_id: int
    room_id: int


class SyncRequest(Wire):
    """POST /api/machine/sync: what the machine has; held up to ``wait`` seconds until it lacks something."""

    protocol: int = PROTOCOL
    instance: Key
    """Random, one for each start of the daemon."""
    journal_id: Key
    epoch: int | None = None
    """None says hello: the reply names the epoch, and every later call carries it."""
    offers: list[int] = Field(default_factory=list)
    """Turns that are in the journal as offered, not yet started."""
    running: list[int] = Field(default_factory=list)
    """Turns that are started and have no end acknowledged yet."""
    questions: list[Key] = Field(default_factory=list)
    """Keys of questions that still wait for a verdict here."""
    ready: list[int] = Field(default_factory=list)
    """Agents that could take a turn now: runtime found, nothing running."""
    slots: int = 0
    """How many more turns fit."""
    asleep: list[int] = Field(default_factory=list)
    """Agents without a live session."""
    live: list[Kept] | None = None
    """The live sessions, so that mail goes into one that is there; None from a daemon that only knows ``asleep``."""
    problems: dict[int, Line] = Field(default_factory=dict)
    """Agents that can't run, and why, in words for the owner."""
    confined: dict[int, Line] = Field(default_factory=dict)
    """For each agent nothing when its commands run confined, else why not. One that is absent is not confined."""
    wait: float = MAX_WAIT
    draining: bool = False
    """The daemon takes no more turns."""


class Attached(Wire):
    sha256: Sha256
    name: str
    content_type: str
    size: int


class Said(Wire):
    """A message of the room that came before the request."""

    seq: int
    author: str
    is_agent: bool
    at: datetime
    body: str


class Notice(Wire):
    """A letter that waits in the agent's inbox. Its text comes by the inbox call, which alone marks it read."""

    number: int
    """Its number in the room."""
    from_: Annotated[str, Field(alias="from")]
    """The handle of who wrote it."""
    subject: str = ""
    preview: str = ""
    """Its beginning, bounded; or what a receipt says: accepted, declined, done."""
    in_the_name_of: str = ""
    """The person behind it; empty where nobody stands behind it."""

    model_config = ConfigDict(extra="ignore", frozen=True, validate_by_name=True, serialize_by_alias=True)


class Offer(Wire):
    """A turn that may run here, once ``start`` said so."""

    turn_id: int
    claim_id: Key
    agent_id: int
    room_id: int
    room: str
    memory: int
    """Number of the room's memory; another one than last time: begin a new session."""
    principal: str
    principal_is_owner: bool
    cause: Literal["message", "mail"] = "message"
    """Mail: the body only says that something waits in the inbox; ``notices`` say what."""
    author: str
    body: str
    notices: list[Notice] = Field(default_factory=list)
    """Mail in the principal's name that goes along with this turn."""
    mcp_url: str = ""
    """Where the session finds the tools for its inbox; empty for none."""
    attachments: list[Attached] = Field(default_factory=list)
    context: list[Said] = Field(default_factory=list)
    """What was said in the room since this agent's last turn, oldest first, bounded."""
    agent: AgentConfig


class Verdict(Wire):
    key: Key
    verdict: Literal["once", "no"]
    answer: str = ""
    """For a plain question, the answer; for a refusal, the note."""
    decided_by: str = ""


class SyncReply(Wire):
    epoch: int
    server_time: datetime
    agents: list[AgentConfig] = Field(default_factory=list)
    offers: list[Offer] = Field(default_factory=list)
    withdrawn: list[int] = Field(default_factory=list)
    """Turns of ``offers`` or ``running`` that the server has ended: drop them, kill what runs."""
    stop: list[int] = Field(default_factory=list)
    """Running turns whose asker or owner pressed Stop."""
    verdicts: list[Verdict] = Field(default_factory=list)
    undo: list[int] = Field(default_factory=list)
    """Ended turns whose changes the owner wants back; told until an UndoneFact says what became of it."""
    keep: list[Kept] = Field(default_factory=list)
    """Sessions to keep live: their agent waits for an answer to what it sent in the last day."""
    max_running: int = 2


class ConnectionNew(Wire):
    """POST /api/machine/connections: the token of one agent's session in one room, for the tools at ``mcp_url``.

    The machine makes the token itself and sends only its hash. It takes the place of the one before.
    """

    agent_id: int
    room_id: int
    token_hash: Sha256


class ConnectionMade(Wire):
    id: int


class StartRequest(Wire):
    """POST /api/machine/turns/{id}/start: idempotent for the same claim; 409 when the turn may not run any more."""

    claim_id: Key
    journal_id: Key
    epoch: int


class StartReply(Wire):
    started_at: datetime


class StopRequest(Wire):
    """POST /api/machine/stop: cancels what waits for this machine; ``now`` also ends what runs.

    With ``person`` or ``agent``, only what waits in that person's name, or for that agent, and nothing that runs.
    """

    now: bool = False
    person: Annotated[str, StringConstraints(max_length=32)] = ""
    agent: Annotated[str, StringConstraints(max_length=32)] = ""


class StopReply(Wire):
    cancelled: int
    stopping: int


# --- facts: what happened in a turn, numbered in the journal ----------------------------------------------------------


class TextFact(Wire):
    kind: Literal["text"] = "text"
    part: Key
    """Pieces of one passage share it; the page shows them as one."""
    text: Text


class PlanItem(Wire):
    text: Line
    state: Literal["pending", "running", "done"]


class PlanFact(Wire):
    kind: Literal["plan"] = "plan"
    items: Annotated[list[PlanItem], Field(max_length=100)]


class ToolCallFact(Wire):
    """The whole state of one call; a later fact with the same ``call`` takes the place of the earlier one."""

    kind: Literal["tool_call"] = "tool_call"
    call: Key
    tool: Literal["read", "edit", "delete", "move", "search", "execute", "think", "fetch", "other"] = "other"
    title: Line
    state: Literal["running", "done", "failed", "refused"]
    duration_ms: int | None = None
    output: Text = ""
    """The last lines, redacted, with control sequences still in it; the server makes them safe."""
    output_cut: int = 0
    """Bytes of output that came before and are not sent."""


class FileChangeFact(Wire):
    """One file, counted since the turn began; a later fact with the same path takes the place of the earlier one."""

    kind: Literal["file_change"] = "file_change"
    path: Line
    """Relative to the working directory."""
    change: Literal["created", "changed", "deleted"] = "changed"
    plus: int
    minus: int
    diff: Text = ""
    """Only when the owner shares diffs."""


class ArtifactFact(Wire):
    """A file that the turn produced; its bytes went up before by PUT /api/machine/files/{sha256}."""

    kind: Literal["artifact"] = "artifact"
    sha256: Sha256
    name: Annotated[str, StringConstraints(min_length=1, max_length=255)]
    content_type: Annotated[str, StringConstraints(max_length=100)]
    size: int


class QuestionFact(Wire):
    kind: Literal["question"] = "question"
    key: Key
    subject: Subject
    title: Line
    """One sentence: what is wanted."""
    action: Text
    """The exact command, arguments or question, whole. Only who may answer sees it."""
    short: Line
    """What the others in the room see."""
    options: Annotated[list[Line], Field(max_length=20)] = Field(default_factory=list)
    """For a plain question."""
    call: str = ""


class QuestionGoneFact(Wire):
    """The agent no longer waits for it (cancelled, ended)."""

    kind: Literal["question_gone"] = "question_gone"
    key: Key


class NoticeFact(Wire):
    """The machine's own words about the turn: a new session, a file that was too large, a runtime that restarts."""

    kind: Literal["notice"] = "notice"
    text: Line


class UndoableFact(Wire):
    """What the turn left different in its working directory, before it ends; ``UNDO_PATHS`` of each at most.

    Paths are relative. A folder stands for all that was in it and ends with a slash; ``.git`` for a repository's
    branches, index and settings.
    """

    kind: Literal["undoable"] = "undoable"
    created: Annotated[list[Line], Field(max_length=UNDO_PATHS)] = Field(default_factory=list)
    changed: Annotated[list[Line], Field(max_length=UNDO_PATHS)] = Field(default_factory=list)
    deleted: Annotated[list[Line], Field(max_length=UNDO_PATHS)] = Field(default_factory=list)
    more: int = 0
    """Paths that are not listed."""
    lost: int = 0
    """Files that could not be kept, and can't be put back."""


class UndoneFact(Wire):
    """What became of an undo; it comes after the turn's end."""

    kind: Literal["undone"] = "undone"
    restored: Annotated[list[Line], Field(max_length=UNDO_PATHS)] = Field(default_factory=list)
    removed: Annotated[list[Line], Field(max_length=UNDO_PATHS)] = Field(default_factory=list)
    conflicts: Annotated[list[Line], Field(max_length=UNDO_PATHS)] = Field(default_factory=list)
    """Left as they are: somebody changed them since the turn ended."""
    lost: Annotated[list[Line], Field(max_length=UNDO_PATHS)] = Field(default_factory=list)
    more: int = 0
    gone: bool = False
    """The snapshot is no longer there; nothing was done."""


class Usage(Wire):
    input_tokens: int = 0
    output_tokens: int = 0
    cost_usd: str = ""


class EndFact(Wire):
    kind: Literal["end"] = "end"
    state: TurnEnd
    reason: Line = ""
    usage: Usage | None = None


Fact = Annotated[
    TextFact
    | PlanFact
    | ToolCallFact
    | FileChangeFact
    | ArtifactFact
    | QuestionFact
    | QuestionGoneFact
    | NoticeFact
    | UndoableFact
    | UndoneFact
    | EndFact,
    Field(discriminator="kind"),
]


class Numbered(Wire):
    n: int
    """Number in the journal: 1, 2, 3 … without a gap."""
    turn_id: int
    fact: Fact


class Report(Wire):
    """POST /api/machine/facts: at most MAX_FACTS, in order; the same ones again are no harm."""

    journal_id: Key
    facts: Annotated[list[Numbered], Field(max_length=MAX_FACTS)]


class Receipt(Wire):
    acked: int
    """Everything up to this number is stored."""
    refused: dict[int, Line] = Field(default_factory=dict)
    """Numbers that were dropped for good, and why."""


# --- the account chat, with the account's connection instead of the machine's token -----------------------------------


class ChatNew(Wire):
    """POST /api/chat/messages, with an Idempotency-Key: the same key again is the same message."""

    body: str
    topic: str = ""
    """Empty: that of the message that it answers, or ``general``."""
    reply_to: int | None = None
    session: str = ""
    """What the sender calls itself."""


class ChatMessage(Wire):
    number: int
    account: str
    session: str = ""
    connection: str = ""
    """How the hash of the sender's token begins; empty for the owner's own words."""
    by_owner: bool = False
    topic: str
    parent: int | None = None
    parent_removed: bool = False
    blanked: bool = False
    """The owner took its words out."""
    body: str
    at: datetime


class ChatPage(Wire):
    """GET /api/chat/messages: what comes after a number, without what the reader leaves out."""

    messages: list[ChatMessage]
    cursor: int
    """The number that the page reached: what to ask for next."""
    has_more: bool
    latest_seq: int


class ChatHeard(ChatPage):
    """GET /api/chat/wait: the same, as soon as there is something, or ``messages`` is empty for that reason."""

    reason: Literal["messages", "timeout", "switched_off"]


class Problem(Wire):
    """Every error: RFC 9457."""

    type: str = "about:blank"
    title: str
    status: int
    detail: str = ""
    """What to do."""
    code: str = ""
    """not_found, refused, invalid, conflict, superseded, revoked, second_daemon, journal_gap, too_large,
    switched_off."""
