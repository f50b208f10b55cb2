"""The one place that writes entries.

A room's number and digest move in the same transaction as the entries they count, under the room's row lock, so
numbers become visible in order and none is ever skipped.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from itertools import batched
from pathlib import Path
from typing import Any

from django.conf import settings
from django.db import connection, transaction
from django.db.models import Max, Q, QuerySet
from django.utils import timezone

from messaging import files, nudge
from messaging.models import Anchor, Attachment, Entry, Recipient
from rooms.access import lock_rooms
from rooms.errors import Conflict, NotFound
from rooms.models import Member, Room
from rooms.rules import rule

STANDS = Q(parent_seq=None) | Q(kind=Entry.Kind.MESSAGE)
"""What stands by itself in the timeline: also a message that answers another one."""
WINDOW = 1000
"""Numbers that one read examines at most."""
LOT = 1000
"""Ids that one statement names at most."""
LATELY = timedelta(minutes=10)
"""No transaction that names a file lasts so long."""


@dataclass(frozen=True, slots=True)
class New:
    """An entry to be. Everything but ``kind`` may be left out."""

    kind: Entry.Kind
    author: Member | None = None
    body: str = ""
    subject: str = ""
    data: dict[str, Any] = field(default_factory=dict)
    parent_seq: int | None = None
    principal: int | None = None
    source_turn: int | None = None
    hop: int = 0
    topic: str = "general"
    ticket: str = ""
    session: str = ""
    connection: str = ""
    client_id: str = ""


@dataclass(frozen=True, slots=True)
class Page:
    entries: list[Entry]
    cursor: int
    """The number that this read reached: ask for what comes after it."""
    last_seq: int
    has_more: bool


def clean(value: Any) -> Any:
    """Text that every database and every strict JSON reader takes: no NUL, no half of a surrogate pair."""
    if isinstance(value, str):
        return value.replace("\0", "\N{REPLACEMENT CHARACTER}").encode("utf-8", "replace").decode("utf-8")
    if isinstance(value, dict):
        return {clean(key): clean(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [clean(item) for item in value]
    return value


def content_hash(subject: str, body: str, data: dict[str, Any]) -> str:
    """SHA-256, hex, over what a person wrote or a machine reported."""
    return hashlib.sha256(_canonical([subject, body, data])).hexdigest()


def chained(previous: str, entry: Entry) -> str:
    """The digest of ``entry`` behind ``previous``: SHA-256, hex, over both."""
    form = [
        previous, entry.room_id, entry.seq, entry.kind, entry.author_id, entry.principal, entry.source_turn, entry.hop,
        entry.topic, entry.parent_seq, entry.body_hash, entry.ticket, entry.session, entry.connection, entry.client_id,
        entry.created_at.isoformat(),
    ]  # fmt: skip
    return hashlib.sha256(_canonical(form)).hexdigest()


def _canonical(value: Any) -> bytes:
    return json.dumps(value, sort_keys=True, ensure_ascii=False, separators=(",", ":")).encode()


@rule
def append(room_id: int, *new: New) -> list[Entry]:
    """Store entries under the room's next numbers and return them, the whole lot or nothing.

    The same author, connection and client_id again is the same entry when its content is the same, else a Conflict.
    """
    if not new:
        return []
    with connection.cursor() as cursor:
        # This locks the row. The number moves first, so two writers can never take the same one.
        cursor.execute(
            "UPDATE rooms_room SET last_seq = last_seq + 0 WHERE id = %s RETURNING last_seq, last_digest", [room_id]
        )
        row = cursor.fetchone()
    if row is None:
        raise NotFound("The room is gone.")
    seq, digest = int(row[0]), str(row[1])
    now = timezone.now()
    known = _already_stored(new)
    result: list[Entry] = []
    fresh: list[Entry] = []
    for item in (_cleaned(item) for item in new):
        body_hash = content_hash(item.subject, item.body, item.data)
        key = (item.author.pk if item.author else None, item.connection, item.client_id)
        if item.client_id and (old := known.get(key)) is not None:
            about = (item.kind, item.topic, item.ticket, item.parent_seq, item.session)
            if (old.body_hash, old.room_id) != (body_hash, room_id) or about != (
                old.kind, old.topic, old.ticket, old.parent_seq, old.session,
            ):  # fmt: skip
                raise Conflict("The same client_id was used before with another content.", field="client_id")
            result.append(old)
            continue
        seq += 1
        entry = Entry(
            room_id=room_id, seq=seq, kind=item.kind, author=item.author, principal=item.principal,
            source_turn=item.source_turn, hop=item.hop, topic=item.topic, parent_seq=item.parent_seq,
            subject=item.subject, body=item.body, data=item.data, body_hash=body_hash, ticket=item.ticket,
            session=item.session, connection=item.connection, client_id=item.client_id, created_at=now,
        )  # fmt: skip
        entry.digest = digest = chained(digest, entry)
        if item.client_id:
            known[key] = entry
        fresh.append(entry)
        result.append(entry)
    if fresh:
        Entry.objects.bulk_create(fresh)
        Room.objects.filter(pk=room_id).update(last_seq=seq, last_digest=digest)
        nudge.room(room_id)
    return result


def _cleaned(item: New) -> New:
    return replace(item, subject=clean(item.subject), body=clean(item.body), data=clean(item.data))


def _already_stored(new: Iterable[New]) -> dict[tuple[int | None, str, str], Entry]:
    wanted = [item for item in new if item.client_id and item.author]
    if not wanted:
        return {}
    found = Entry.objects.filter(
        author_id__in={item.author.pk for item in wanted if item.author},
        client_id__in={item.client_id for item in wanted},
    )
    return {(entry.author_id, entry.connection, entry.client_id): entry for entry in found}


def after(room_id: int, cursor: int, *, limit: int = 500) -> Page:
    """What comes after ``cursor``, oldest first. The last number is read before the rows, so none is passed over."""
    last = Room.objects.filter(pk=room_id).values_list("last_seq", flat=True).first()
    if last is None:
        raise NotFound("The room is gone.")
    cursor = max(0, min(cursor, last))
    rows, reach = _window(room_id, cursor, last, limit)
    if not rows and reach < last:
        # Only a clean-up leaves so many numbers without an entry.
        rows, reach = _window(room_id, max(cursor, begins_after(room_id)), last, limit)
    if len(rows) > limit:
        rows = rows[:limit]
        reach = rows[-1].seq
    return Page(rows, reach, last, reach < last)


def _window(room_id: int, cursor: int, last: int, limit: int) -> tuple[list[Entry], int]:
    reach = min(last, cursor + WINDOW)
    rows = Entry.objects.filter(room_id=room_id, seq__gt=cursor, seq__lte=reach).select_related("author")
    return list(rows.order_by("seq")[: limit + 1]), reach


def before(room_id: int, seq: int | None = None, *, limit: int = 50) -> list[Entry]:
    """The newest ``limit`` entries that stand by themselves in the timeline, before ``seq`` if given; oldest first."""
    rows = Entry.objects.filter(STANDS, room_id=room_id)
    if seq is not None:
        rows = rows.filter(seq__lt=seq)
    return list(rows.select_related("author").order_by("-seq")[:limit])[::-1]


def children(room_id: int, parent_seqs: Iterable[int]) -> list[Entry]:
    """What happened under these entries, in order."""
    return list(
        Entry.objects.filter(room_id=room_id, parent_seq__in=list(parent_seqs)).select_related("author").order_by("seq")
    )


BLANK = {"blanked": True}
"""All that is left of what a blanked entry said, beside its hash."""


@rule
def blank(room_id: int, entries: Sequence[Entry], *, by: Member, words: str) -> Entry:
    """Take the words and files out of these entries for good and say who did it. Their hashes and numbers stay.

    They are of one room, and of one turn if of any; who may is the caller's to find out.
    """
    seqs = sorted(entry.seq for entry in entries)
    first = entries[0]
    turn = first.data.get("turn")
    about = {"seqs": seqs, "by": by.handle, **({"turn": turn} if isinstance(turn, int) else {})}
    attached = Attachment.objects.filter(entry__in=entries)
    lost = _named_at(attached)
    attached.delete()
    Entry.objects.filter(room=room_id, seq__in=seqs).update(subject="", body="", data=BLANK)
    under = None if first.kind == Entry.Kind.MESSAGE else first.parent_seq
    [told] = append(room_id, New(Entry.Kind.BLANKED, author=by, body=words, data=about, parent_seq=under))
    transaction.on_commit(lambda: _forget(lost), robust=True)
    return told


def _named_at(attached: QuerySet[Attachment]) -> dict[Path, datetime]:
    """Where these files lie, and when one of these entries named them last."""
    newest = attached.values_list("source", "sha256").annotate(at=Max("entry__created_at")).order_by()
    return {files.path(source, sha256): at for source, sha256, at in newest}


def _forget(lost: Mapping[Path, datetime]) -> None:
    """Remove bytes that nothing names any more.

    What came anew a moment ago is maybe named in a transaction that goes on: the hourly sweep looks after it.
    """
    for path, at in lost.items():
        _remove(path, max(at, timezone.now() - LATELY))


def _remove(path: Path, since: datetime) -> None:
    if path.name not in files.named(path.relative_to(settings.MEDIA_ROOT).parts[0], [path.name]):
        files.remove(path, since)


@rule
def purge(room_id: int, through: int, *, now: datetime | None = None) -> int:
    """Remove a room's entries up to and with this number, and keep where its chain goes on. Returns how many went.

    Whatever names them goes along: whoever calls has ended what still waits in them. They are few: the room is locked
    meanwhile. Files that nothing names any more follow, if they have lain there for a while ``now``.
    """
    lock_rooms([room_id])
    rows = Entry.objects.filter(room=room_id, seq__lte=through).order_by("seq")
    going = list(rows.values_list("pk", "seq", "digest"))
    if not going:
        return 0
    _, seq, digest = going[-1]
    now = now or timezone.now()
    Anchor.objects.update_or_create(room_id=room_id, defaults={"seq": seq, "digest": digest, "at": now})
    lost: set[Path] = set()
    for lot in batched((pk for pk, _, _ in going), LOT):
        for source, sha256 in Attachment.objects.filter(entry__in=lot).values_list("source", "sha256"):
            lost.add(files.path(source, sha256))
        for relation in Entry._meta.related_objects:
            naming = relation.related_model._default_manager.filter(**{f"{relation.field.name}__in": lot})
            if naming.exists():
                naming.delete()
    with connection.cursor() as cursor:
        # One statement: Django would read every entry with its words first, to find what names it.
        cursor.execute("DELETE FROM messaging_entry WHERE room_id = %s AND seq <= %s", [room_id, seq])
    transaction.on_commit(lambda: _drop(lost, now), robust=True)
    return len(going)


def _drop(lost: Iterable[Path], now: datetime) -> None:
    """What is not removed now, because the server is killed here, is found by ``files.unnamed``."""
    for path in sorted(lost):
        _remove(path, now - files.KEPT)


def begins_after(room_id: int) -> int:
    """The last number that a clean-up removed; 0 while none did. Below it there is nothing to look through."""
    return Anchor.objects.filter(room=room_id).values_list("seq", flat=True).first() or 0


@rule
def erase(room_id: int) -> int:
    """Remove all that a room's log holds, for a room that goes itself. Returns how many entries went.

    Whoever calls has ended what still waits in them, and removed what else names them.
    """
    under = Entry.objects.filter(room=room_id)
    lost = _named_at(Attachment.objects.filter(entry__room=room_id))
    removed = under.count()
    # One statement each: a room's whole log is more than a collector should hold.
    for rows in (Recipient.objects.filter(entry__room=room_id), Attachment.objects.filter(entry__room=room_id), under):
        rows._raw_delete(rows.db)
    transaction.on_commit(lambda: _forget(lost), robust=True)
    return removed
