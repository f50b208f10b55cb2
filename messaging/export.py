"""A room's log to take away, as Markdown and as JSON Lines: what its page shows every member, and nothing besides.

Hashes, ids of people and connections, and what was put to an owner alone are not in it.
"""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import datetime
from typing import Any

from django.utils import timezone

from approvals import mailbox
from messaging import former, log
from messaging.log import BLANK
from messaging.models import Attachment, Entry
from messaging.render.hidden import code_of, is_hidden
from messaging.render.terminal import BIDI, CONTROL, picture
from messaging.render.words import DECIDED
from rooms.access import member_for
from rooms.models import Room, User

PAGE = 500
ABOUT = (
    "turn", "state", "by", "note", "until", "confined", "late", "call", "tool", "title", "duration_ms", "output_cut",
    "path", "change", "plus", "minus", "part", "items", "name", "subject", "short", "verdict", "answers", "asks",
    "again", "changes", "what", "handle", "is_agent", "status", "seqs", "through", "count",
)  # fmt: skip
"""Of an entry's data, what its room may read."""

_ACTS = re.compile("[\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")

Written = Callable[[Entry, "Around"], str]


class Around:
    """What a page of entries names: people, and files."""

    def __init__(self, entries: Sequence[Entry]) -> None:
        self.names = mailbox.names_of(entries)
        self.files: dict[int, list[Attachment]] = defaultdict(list)
        for attachment in Attachment.objects.filter(entry__in=[entry.pk for entry in entries]).order_by("pk"):
            self.files[attachment.entry_id].append(attachment)

    def behind(self, entry: Entry) -> str:
        """In whose name an agent did it; empty for nobody, and where somebody did it themselves."""
        if entry.principal is None or entry.author is None or not entry.author.is_agent:
            return ""
        return self.names.get((entry.room_id, entry.principal), "")


def pages(user: User, room_id: int, write: Written, *, through: int | None = None) -> Iterator[str]:
    """The whole log, a page at a time; NotFound when the reader's right has ended meanwhile.

    It ends with what was the newest entry at the beginning, so that it ends in a room where much is written.
    """
    cursor = 0
    while True:
        # Not as the request knew them: an administrator may have shut them out meanwhile.
        member = member_for(User.objects.filter(pk=user.pk).first(), room_id)
        through = member.room.last_seq if through is None else through
        page = log.after(room_id, cursor, limit=PAGE)
        entries = [entry for entry in page.entries if entry.seq <= through]
        around = Around(entries)
        yield "".join(write(entry, around) for entry in joined(former.named(room_id, entries)))
        cursor = page.cursor
        if cursor >= through:
            return


def joined(entries: Iterable[Entry]) -> list[Entry]:
    """An agent's text came in pieces: those that follow each other are one passage."""
    whole: list[Entry] = []
    for entry in entries:
        last = whole[-1] if whole else None
        if last is not None and last.kind == entry.kind == Entry.Kind.TEXT and last.data == entry.data != BLANK:
            last.body += entry.body
        else:
            whole.append(entry)
    return whole


# --- JSON Lines


def as_line(entry: Entry, around: Around) -> str:
    """One object for each entry, oldest first; times with their offset."""
    told: dict[str, Any] = {
        "number": entry.seq,
        "at": entry.created_at.isoformat(),
        "kind": entry.kind,
        "from": entry.author.handle if entry.author else None,
        "from_is_agent": bool(entry.author and entry.author.is_agent),
        "in_the_name_of": around.behind(entry) or None,
        "to": [str(one["handle"]) for one in entry.data.get("mentions", [])],
        "answers": entry.parent_seq if entry.kind == Entry.Kind.MESSAGE else None,
        "under": entry.parent_seq if entry.kind != Entry.Kind.MESSAGE else None,
        "topic": entry.topic,
        "subject": entry.subject,
        "ticket": entry.ticket,
        "session": entry.session,
        "body": entry.body,
        "about": {key: entry.data[key] for key in ABOUT if key in entry.data},
        "files": [
            {"name": file.name, "content_type": file.content_type, "size": file.size}
            for file in around.files.get(entry.pk, [])
        ],
        "blanked": entry.data == BLANK,
    }
    # Outside of ASCII a line may end too, and a terminal or an editor may be told to do something.
    return _ACTS.sub(lambda sign: f"\\u{ord(sign[0]):04x}", json.dumps(told, ensure_ascii=False)) + "\n"


# --- Markdown


def heading(room: Room, user: User, at: datetime | None = None) -> str:
    """What stands above the entries."""
    gone = log.begins_after(room.pk)
    cleaned = f" Entries up to {gone} were removed by the clean-up." if gone else ""
    about = f"{line(room.about)}\n\n" if room.about else ""
    at = at or timezone.now()
    return f"# {line(room.name)}\n\n{about}Exported for {user.username} on {at:%Y-%m-%d at %H:%M} UTC.{cleaned}\n\n"


def as_markdown(entry: Entry, around: Around) -> str:
    """A heading for each message and what it says as a quotation: nothing that was written can pass for a heading."""
    if entry.kind == Entry.Kind.MESSAGE:
        return _message(entry, around)
    who = line(entry.author.handle) if entry.author else "Agentroom"
    words, quoted = _happened(entry)
    at = f"{entry.created_at:%H:%M:%S}"
    under = f" (under {entry.parent_seq})" if entry.parent_seq is not None else ""
    return f"- {entry.seq}, {at} UTC, {who}{under}: {words}\n{quote(quoted, '  ') if quoted else ''}\n"


def _message(entry: Entry, around: Around) -> str:
    who = line(entry.author.handle) if entry.author else "Agentroom"
    behind = around.behind(entry)
    to = ", ".join(line(str(one["handle"])) for one in entry.data.get("mentions", []))
    facts = [
        f"for {line(behind)}" if behind else "",
        f"to {to}" if to else "",
        f"answers {entry.parent_seq}" if entry.parent_seq is not None else "",
        f"session {line(entry.session)}" if entry.session else "",
        f"topic {line(entry.topic)}" if entry.topic != "general" else "",
        f"ticket {line(entry.ticket)}" if entry.ticket else "",
        f"subject: {line(entry.subject)}" if entry.subject else "",
    ]
    below = " · ".join(fact for fact in facts if fact)
    files = "".join(
        f"- file: {line(file.name)} ({line(file.content_type)}, {file.size} bytes)\n"
        for file in around.files.get(entry.pk, [])
    )
    said = "*Blanked.*\n" if entry.data == BLANK else quote(entry.body)
    title = f"## {entry.seq} · {who} · {entry.created_at:%Y-%m-%d %H:%M:%S} UTC"
    return f"{title}\n\n{f'{below}{chr(10) * 2}' if below else ''}{said}\n{f'{files}{chr(10)}' if files else ''}"


def _happened(entry: Entry) -> tuple[str, str]:
    """An entry that is no message in words, and what of it is quoted."""
    data = {key: entry.data.get(key) for key in ABOUT}
    by = f" by {line(str(data['by']))}" if data["by"] else ""
    if entry.data == BLANK:
        return "blanked", ""
    match entry.kind:
        case Entry.Kind.TURN:
            return f"{line(str(data['state']))}{by}", str(data["note"] or "")
        case Entry.Kind.APPROVAL:
            state = DECIDED.get(str(data["state"]), str(data["state"]))
            about = f": {code(str(data['short']))}" if data["short"] else ""
            return f"{line(str(data['subject']))} {line(state)}{by}{about}", entry.body
        case Entry.Kind.TOOL_CALL:
            put_out = entry.body if data["state"] != "running" else ""
            return (
                f"{line(str(data['tool'] or 'step'))} {line(str(data['state']))}: {code(str(data['title']))}",
                put_out,
            )
        case Entry.Kind.FILE_CHANGE:
            lines = f"+{data['plus']} −{data['minus']}"
            return f"{line(str(data['change']))} {code(str(data['path']))} ({lines})", entry.body
        case Entry.Kind.ARTIFACT:
            return f"produced {code(str(data['name']))}", ""
        case Entry.Kind.PLAN:
            steps = [(step.get("state") == "done", step.get("text")) for step in data["items"] or []]
            return "plan", "\n".join(f"[{'x' if done else ' '}] {text}" for done, text in steps)
    return entry.kind, entry.body


def line(text: str) -> str:
    """On one line, with nothing hidden and nothing that Markdown would take for its own."""
    shown = "".join(code_of(sign) if is_hidden(sign) else " " if sign == "\n" else sign for sign in text)
    return "".join(f"\\{sign}" if sign in "\\`*_{}[]<>()#!|~&" else sign for sign in shown)


def code(text: str) -> str:
    """On one line, as code."""
    shown = "".join(code_of(sign) if is_hidden(sign) else " " if sign == "\n" else sign for sign in text)
    ticks = "`" * (max((len(run) for run in _runs(shown)), default=0) + 1)
    return f"{ticks} {shown} {ticks}"


def _runs(text: str) -> list[str]:
    """The runs of backquotes in it."""
    return "".join(sign if sign == "`" else " " for sign in text).split()


def quote(text: str, before: str = "") -> str:
    """Every line of it behind a ``>``, with nothing in it that a terminal would obey."""
    plain = re.sub("\r\n?|[\x85\u2028\u2029]", "\n", text)
    shown = CONTROL.sub(lambda sign: picture(sign[0]), plain)
    shown = BIDI.sub(lambda sign: code_of(sign[0]), shown)
    return "".join(f"{before}> {one}\n" for one in shown.removesuffix("\n").split("\n"))
