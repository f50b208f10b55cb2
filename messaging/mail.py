"""Messages and whose inbox they land in. Landing there runs nothing."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from messaging import log
from messaging.models import Attachment, Entry, Recipient
from rooms.access import seated
from rooms.errors import Invalid
from rooms.models import Member, Room

MAX_BODY = 50_000
MAX_FILES = 10
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
    source_turn: int | None = None,
    hop: int = 0,
) -> tuple[Entry, bool]:
    """Append a message and put it into each recipient's inbox. Second value: whether it is new.

    ``source_turn``: the turn in which an agent wrote it; ``hop``: how many agents it came through.
    """
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
            principal=principal,
            source_turn=source_turn,
            hop=hop,
            connection=connection,
            client_id=client_id,
        ),
    )
    if entry.seq <= before:
        return entry, False
    Recipient.objects.bulk_create(Recipient(entry=entry, member=member, seq=entry.seq) for member in to)
    Attachment.objects.bulk_create(
        Attachment(
            entry=entry, source=file.source, sha256=file.sha256, name=file.name[:255],
            content_type=file.content_type[:100], size=file.size,
        )
        for file in files
    )  # fmt: skip
    return entry, True
