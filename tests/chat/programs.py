"""Programs of an account, without a server: connections and what they say through the rules."""

from __future__ import annotations

import itertools
from dataclasses import dataclass, field

from agentroom.auth import Caller, caller
from messaging import chat
from messaging.chat import Leave, Message, Page
from rooms import membership
from rooms.models import Connection, Member, User

_keys = itertools.count()


@dataclass
class Program:
    """One that is connected to its user's account."""

    user: User
    session: str = ""
    name: str = "by hand"
    connection: Connection = field(init=False)
    token: str = field(init=False)

    def __post_init__(self) -> None:
        self.connection, self.token = membership.connect_account(self.user, self.name)

    @property
    def caller(self) -> Caller:
        return caller(f"Bearer {self.token}")

    @property
    def seat(self) -> Member:
        return self.caller.seat()

    def send(
        self, body: str = "hello", *, topic: str = "", reply_to: int | None = None, key: str = "", session: str = ""
    ) -> Message:
        return chat.send(
            self.seat, body=body, topic=topic, reply_to=reply_to, session=session or self.session,
            client_id=key or f"key-{next(_keys)}", connection=f"connection:{self.connection.short}",
        )  # fmt: skip

    def read(self, after: int = 0, limit: int = 50, leave: Leave = chat.NOTHING) -> Page:
        return chat.read(self.seat, after=after, limit=limit, leave=leave)


def bodies(page: Page) -> list[str]:
    return [message.body for message in page.messages]


def numbers(page: Page) -> list[int]:
    return [message.number for message in page.messages]
