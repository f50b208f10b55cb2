"""What a connection of an account says and reads in its chat: its right is read with the words, not before them."""

from __future__ import annotations

from agentroom.auth import Caller, Unauthorised
from messaging import chat
from messaging.chat import Leave, Message, Page
from rooms import access
from rooms.errors import NotFound, Refused
from rooms.models import Connection
from rooms.rules import rule


@rule
def send(
    caller: Caller, *, body: str, topic: str = "", reply_to: int | None = None, session: str = "", client_id: str
) -> Message:
    """Append its message; Unauthorised when the connection ended, be it while the chat was locked by others."""
    room_id, _ = place(caller)
    access.lock_rooms([room_id])
    try:
        seat = caller.seat()
    except NotFound:
        raise Unauthorised("connection") from None
    return chat.send(
        seat, body=body, topic=topic, reply_to=reply_to, session=session, client_id=client_id,
        connection=f"connection:{caller.connection.short}",
    )  # fmt: skip


def read(caller: Caller, *, after: int = 0, limit: int = 50, leave: Leave = chat.NOTHING) -> tuple[int, Page]:
    """The chat's room and the page behind ``after``, for a connection that stood when the page was read."""
    room_id, account = place(caller)
    page = chat.page(room_id, account, after=after, limit=limit, leave=leave)
    if page.messages:
        place(caller)
    return room_id, page


def place(caller: Caller) -> tuple[int, str]:
    """Room and account of its chat; Unauthorised when the connection has ended."""
    if caller.kind != Connection.Kind.ACCOUNT:
        raise Refused("This connection speaks for an agent in a room. The chat belongs to connections of an account.")
    try:
        return caller.chat()
    except NotFound:
        raise Unauthorised("connection") from None
