"""The account chat: what the programs of one account tell each other. Their owner reads it, and may write in it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Self

from django.conf import settings
from django.db.models import Count, Max, QuerySet

from approvals import audit
from messaging import log, nudge, retention
from messaging.mail import MAX_BODY, line, topic_of
from messaging.models import Anchor, Entry
from rooms import access
from rooms.errors import Invalid, NotFound, Refused
from rooms.models import Member, Room, User
from rooms.rules import rule

SWITCHED_OFF = "switched_off"
OFF = "The owner of this account has switched the agents' chat off. Only they can switch it on, in the browser."
BY_OWNER = "web"
"""What the owner's own messages came by."""
MOST = 100
"""Messages on one page."""
WINDOWS = 5
"""So many windows of ``log.WINDOW`` numbers one read looks through at most before it has a message to give."""
MOST_TEXT = 250_000
"""Characters on one page, but for a single longer message: what is sent, drawn and held at once."""
MAX_SESSION = 100
LARGEST = 2**63 - 1
"""The largest number that a column holds."""
MOST_LEFT_OUT = 100


@dataclass(frozen=True, slots=True)
class Message:
    number: int
    account: str
    """Handle of the account."""
    session: str
    """As the program called itself, which proves nothing; empty for none."""
    connection: str
    """How the hash of its connection's token begins, 8 hex digits; empty where the owner wrote it in the browser."""
    by_owner: bool
    topic: str
    parent: int | None
    """Number of the message that it answers."""
    parent_removed: bool
    """Whether a clean-up has taken that one."""
    blanked: bool
    """Whether the owner took its words out."""
    body: str
    at: datetime


@dataclass(frozen=True, slots=True)
class Page:
    messages: list[Message]
    cursor: int
    """The number that this read reached: read or wait from here."""
    has_more: bool
    """Whether more lies behind the cursor already."""
    latest_seq: int
    """Number of the chat's newest entry."""


@dataclass(frozen=True, slots=True)
class Leave:
    """What a reader leaves out: it stays stored, and others read it."""

    topics: frozenset[str] = frozenset()
    sessions: frozenset[str] = frozenset()

    @classmethod
    def of(cls, topics: Iterable[str] = (), sessions: Iterable[str] = ()) -> Self:
        """Invalid for what is no topic, and for far too many."""
        return cls(
            _each(topics, topic_of, "skip_topics"),
            _each(sessions, lambda name: line(name, "session", most=MAX_SESSION), "skip_sessions"),
        )

    def leaves(self, message: Message) -> bool:
        return message.topic in self.topics or message.session in self.sessions


def _each(names: Iterable[str], read: Callable[[str], str], field: str) -> frozenset[str]:
    found = set()
    for name in names:
        # An unset variable would leave out everything without a name, the owner's words too.
        if not name.strip():
            raise Invalid("Name what to leave out: it is empty.", field=field)
        try:
            found.add(read(name))
        except Invalid as error:
            raise Invalid(error.detail, field=field) from None
    if len(found) > MOST_LEFT_OUT:
        raise Invalid(f"Leave out at most {MOST_LEFT_OUT}.", field=field)
    return frozenset(found)


NOTHING = Leave()


@dataclass(frozen=True, slots=True)
class Topic:
    name: str
    messages: int
    last_at: datetime


@rule
def send(
    seat: Member,
    *,
    body: str,
    client_id: str,
    connection: str,
    topic: str = "",
    reply_to: int | None = None,
    session: str = "",
    by_program: bool = True,
) -> Message:
    """Append a message to the chat. Without a topic it is its parent's, or ``general``.

    The same connection and ``client_id`` again is the same message; with other words it is a Conflict.
    """
    _open(on=access.lock_rooms([seat.room_id])[seat.room_id].agent_chat, by_program=by_program)
    body = log.clean(body).replace("\r\n", "\n")
    if not body.strip():
        raise Invalid("Write something first.", field="body")
    if len(body) > MAX_BODY:
        words = f"A message holds at most {MAX_BODY:,} characters. Put the rest into a file and send its path."
        raise Invalid(words, field="body")
    client_id = line(client_id, "client_id")
    if not client_id:
        raise Invalid("Give the call a key, or none.", field="client_id")
    topic = topic.strip() and topic_of(topic)
    if reply_to is not None:
        topic = _topic_of_answer(seat, reply_to, topic, connection=connection, client_id=client_id)
    (entry,) = log.append(
        seat.room_id,
        log.New(
            Entry.Kind.MESSAGE, author=seat, body=body, topic=topic or "general", parent_seq=reply_to,
            session=line(session, "session", most=MAX_SESSION), principal=seat.user_id, connection=connection,
            client_id=client_id,
        ),
    )  # fmt: skip
    # The count of unread messages beside the owner's other pages.
    nudge.user(seat.room.owner_id)
    return _message(entry, seat.handle, _removed_through(seat.room_id))


def _topic_of_answer(seat: Member, number: int, topic: str, *, connection: str, client_id: str) -> str:
    stored = Entry.objects.filter(room=seat.room_id, kind=Entry.Kind.MESSAGE)
    # What was stored by this very call may have outlived what it answers.
    before = stored.filter(author=seat, connection=connection, client_id=client_id, parent_seq=number).first()
    parent = stored.filter(seq=number).first() if 0 < number <= LARGEST else None
    about = before if before is not None else parent
    if about is None:
        raise NotFound(f"There is no message {number} in the chat, or not any more.", field="reply_to")
    if topic and topic != about.topic:
        raise Invalid(f"An answer keeps the topic of what it answers: {about.topic}. Leave topic out.", field="topic")
    return about.topic


def read(seat: Member, *, after: int = 0, limit: int = 50, leave: Leave = NOTHING, by_program: bool = True) -> Page:
    """What comes after that number, oldest first, without what the reader leaves out."""
    return page(seat.room_id, seat.handle, after=after, limit=limit, leave=leave, by_program=by_program)


def page(
    room_id: int, account: str, *, after: int = 0, limit: int = 50, leave: Leave = NOTHING, by_program: bool = True
) -> Page:
    """As ``read``, for who has found out already whose chat it is."""
    head = Room.objects.filter(pk=room_id).values_list("last_seq", "agent_chat", "anchor__seq").first()
    if head is None:
        raise NotFound(access.ABSENT)
    # The last number is read before the rows, so none is passed over; below what a clean-up took there is nothing.
    last, on, removed = head[0], head[1], head[2] or 0
    _open(on=on, by_program=by_program)
    reach = cursor = max(min(after, last), min(removed, last), 0)
    if cursor == last:
        return Page([], last, has_more=False, latest_seq=last)
    limit = max(1, min(limit, MOST))
    rows: list[Entry] = []
    for _ in range(WINDOWS):
        reach = min(last, cursor + log.WINDOW)
        rows = list(_kept(room_id, cursor, reach, leave)[: limit + 1])
        cursor = reach
        if rows or reach == last:
            break
    kept = _fitting(rows, limit)
    if len(kept) < len(rows):
        rows, reach = kept, kept[-1].seq
    messages = [_message(entry, account, removed) for entry in rows]
    return Page(messages, reach, reach < last, last)


def fresh(room_id: int, account: str, after: int, last: int) -> Page:
    """What lies between two numbers for everybody who waits for it; whose right it is, is asked by whoever calls."""
    reach = min(last, after + log.WINDOW)
    removed = _removed_through(room_id)
    rows = list(_kept(room_id, after, reach, NOTHING)[: MOST + 1])
    kept = _fitting(rows, MOST)
    if len(kept) < len(rows):
        rows, reach = kept, kept[-1].seq
    return Page([_message(entry, account, removed) for entry in rows], reach, reach < last, last)


def _fitting(rows: list[Entry], most: int) -> list[Entry]:
    """As many of them as a page holds, but one at least."""
    text = 0
    for count, entry in enumerate(rows):
        text += len(entry.body)
        if count >= most or (count and text > MOST_TEXT):
            return rows[:count]
    return rows


def topics(seat: Member) -> list[Topic]:
    """The topics that messages are in, the one last written in first."""
    rows = Entry.objects.filter(room=seat.room_id, kind=Entry.Kind.MESSAGE).values("topic")
    counted = rows.annotate(messages=Count("pk"), last_at=Max("created_at"), last=Max("seq")).order_by("-last")
    return [Topic(row["topic"], row["messages"], row["last_at"]) for row in counted]


@rule
def switch(owner: User, *, on: bool) -> Room:
    """Let the account's programs use the chat, or not. What waits in a call is told so at once."""
    found = Room.objects.filter(owner=owner, kind=Room.Kind.ACCOUNT).first()
    if found is None:
        raise NotFound(access.ABSENT)
    room = access.lock_rooms([found.pk])[found.pk]
    if room.agent_chat != on:
        room.agent_chat = on
        room.save(update_fields=["agent_chat"])
        words = f"{owner.username} switched the agents' chat {'on' if on else 'off'}."
        data = {"what": "switched", "on": on, "by": owner.username}
        log.append(room.pk, log.New(Entry.Kind.CONTROL, body=words, data=data))
        audit.write(owner, "agent chat", who=owner.username, decision=f"switched {'on' if on else 'off'}")
    return room


def most_days() -> int:
    """For how many days this server keeps a chat's messages at most."""
    return settings.CHAT_RETENTION_DAYS or 14


def kept_days(room: Room) -> int:
    """For how many days its messages stay: what its owner chose, never longer than the server's own limit."""
    return retention.days(room) or most_days()


@rule
def keep_for(owner: User, days: int | None) -> Room:
    """Keep the chat's messages for so many days; None for as long as the server keeps them."""
    found = Room.objects.filter(owner=owner, kind=Room.Kind.ACCOUNT).first()
    if found is None:
        raise NotFound(access.ABSENT)
    most = most_days()
    if days is not None and not 1 <= days <= most:
        raise Invalid(f"Say 1 to {most} days, or leave it empty: this server keeps messages for {most}.", field="days")
    room = access.lock_rooms([found.pk])[found.pk]
    if room.retention_days != days:
        room.retention_days = days
        room.save(update_fields=["retention_days"])
        kept = "as long as this server does" if days is None else f"for {days} days"
        audit.write(owner, "keep agent chat", who=owner.username, decision=kept)
        nudge.room(room.pk)
    return room


def _kept(room_id: int, after: int, through: int, leave: Leave) -> QuerySet[Entry]:
    rows = Entry.objects.filter(room=room_id, seq__gt=after, seq__lte=through, kind=Entry.Kind.MESSAGE)
    if leave.topics:
        rows = rows.exclude(topic__in=leave.topics)
    if leave.sessions:
        rows = rows.exclude(session__in=leave.sessions)
    return rows.order_by("seq")


def _open(*, on: bool, by_program: bool) -> None:
    if by_program and not on:
        raise Refused(OFF, code=SWITCHED_OFF)


def _removed_through(room_id: int) -> int:
    return Anchor.objects.filter(room=room_id).values_list("seq", flat=True).first() or 0


def _message(entry: Entry, account: str, removed: int) -> Message:
    return Message(
        number=entry.seq,
        account=account,
        session=entry.session,
        connection=entry.connection.removeprefix("connection:") if entry.connection != BY_OWNER else "",
        by_owner=entry.connection == BY_OWNER,
        topic=entry.topic,
        parent=entry.parent_seq,
        parent_removed=entry.parent_seq is not None and entry.parent_seq <= removed,
        blanked=entry.data == log.BLANK,
        body=entry.body,
        at=entry.created_at,
    )
