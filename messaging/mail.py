"""Messages and whose inbox they land in. Landing there runs nothing."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta

from django.utils import timezone
from wcwidth import iter_graphemes

from messaging import log, nudge
from messaging.models import TOPIC, Attachment, Entry, Recipient
from rooms.access import seated
from rooms.errors import Invalid
from rooms.models import Member, Room

MAX_BODY = 50_000
MAX_FILES = 10
MAX_LINE = 200
"""Characters of a subject, a ticket or a key."""
AWAITED = timedelta(days=1)
"""How long an agent that wrote to another one is taken to wait for the answer."""
_JOINS = "\u200c\u200d" + "".join(map(chr, range(0xE0020, 0xE0080)))
"""What makes one sign of several: the zero-width joiners, and the letters of a flag."""
_CODE = re.compile(r"```.*?(?:```|\Z)|~~~.*?(?:~~~|\Z)|`[^`\n]+`", re.S)
_MENTION = re.compile(r"(?<![\w@/.#:-])@([A-Za-z0-9][A-Za-z0-9_-]{0,31})(?![\w@])")


@dataclass(frozen=True, slots=True)
class File:
    """A file whose bytes ``messaging.files`` already has."""

    source: str
    sha256: str
    name: str
    content_type: str
    size: int


def mentioned(body: str, members: Sequence[Member]) -> list[Member]:
    """The members whose handle stands behind an @, each once, in order; what stands in code addresses nobody."""
    by_handle = {member.handle.casefold(): member for member in members}
    found: dict[int, Member] = {}
    for match in _MENTION.finditer(_CODE.sub(" ", body)):
        handle = match[1].casefold()
        member = by_handle.get(handle) or by_handle.get(handle.rstrip("-_"))
        if member is not None:
            found[member.pk] = member
    return list(found.values())


def addressed(room: Room, author: Member, body: str) -> list[Member]:
    """Whom a message speaks to: who is mentioned, and in a direct room always the agent."""
    members = list(seated(room).exclude(pk=author.pk))
    found = mentioned(body, members)
    if room.kind == Room.Kind.DIRECT:
        found += [member for member in members if member.is_agent and member not in found]
    return found


def line(text: str, field: str, *, most: int = MAX_LINE) -> str:
    """One line of text that can be stored; Invalid when it is too long."""
    text = " ".join(log.clean(text).split())
    if len(text) > most:
        raise Invalid(f"The {field} holds at most {most} characters.", field=field)
    return text


def topic_of(text: str) -> str:
    """A topic as it is stored; ``general`` for none."""
    topic = text.strip() or "general"
    if not re.fullmatch(TOPIC.replace("$", r"\Z"), topic):
        raise Invalid(
            "A topic is 1 to 100 of a-z, 0-9, and . _ / -, and starts with a letter or a digit.", field="topic"
        )
    return topic


def preview(text: str, most: int = 200) -> str:
    """The beginning of a text on one line: at most so many characters, none cut in half, nothing that acts."""
    start = log.clean(text[: 8 * most])
    plain = " ".join("".join(letter if letter.isprintable() or letter in _JOINS else " " for letter in start).split())
    if len(plain) <= most and len(text) <= 8 * most:
        return plain
    shown, room = "", most - 1
    for grapheme in iter_graphemes(plain):
        if len(grapheme) > room:
            break
        shown, room = shown + grapheme, room - len(grapheme)
    return shown.rstrip() + "…"


def store(
    author: Member,
    *,
    body: str,
    to: Sequence[Member],
    client_id: str,
    connection: str,
    principal: int | None,
    files: Sequence[File] = (),
    data: dict[str, object] | None = None,
    subject: str = "",
    topic: str = "general",
    ticket: str = "",
    parent_seq: int | None = None,
    source_turn: int | None = None,
    hop: int = 0,
) -> tuple[Entry, bool]:
    """Append a message and put it into each recipient's inbox. Second value: whether it is new.

    ``source_turn``: the turn in which an agent wrote it; ``hop``: how many agents it came through. In an agent's inbox
    no turn sees it yet: whoever asks or passes it on says when it is let in.
    """
    subject, topic = line(subject, "subject"), topic_of(topic)
    ticket, client_id = line(ticket, "ticket"), line(client_id, "client_id")
    if not body.strip() and not files:
        raise Invalid("Write something first.", field="body")
    if len(body) > MAX_BODY:
        raise Invalid(f"A message holds at most {MAX_BODY:,} characters; attach the rest as a file.", field="body")
    if len(files) > MAX_FILES:
        raise Invalid(f"A message carries at most {MAX_FILES} files.", field="files")
    mentions = [{"handle": member.handle, "member": member.pk, "agent": member.is_agent} for member in to]
    before = author.room.last_seq
    (entry,) = log.append(
        author.room_id,
        log.New(
            Entry.Kind.MESSAGE,
            author=author,
            body=body.replace("\r\n", "\n"),
            data={"mentions": mentions, "files": [file.name for file in files], **(data or {})},
            subject=subject,
            topic=topic,
            ticket=ticket,
            parent_seq=parent_seq,
            principal=principal,
            source_turn=source_turn,
            hop=hop,
            connection=connection,
            client_id=client_id,
        ),
    )
    if entry.seq <= before:
        return entry, False
    until = timezone.now() + AWAITED if author.is_agent else None
    Recipient.objects.bulk_create(
        Recipient(
            entry=entry, member=member, seq=entry.seq, principal=principal,
            awaited_until=until if member.is_agent else None,
        )
        for member in to
    )  # fmt: skip
    for member in to:
        nudge.inbox(member.pk)
    Attachment.objects.bulk_create(
        Attachment(
            entry=entry, source=file.source, sha256=file.sha256, name=file.name[:255],
            content_type=file.content_type[:100], size=file.size,
        )
        for file in files
    )  # fmt: skip
    return entry, True
