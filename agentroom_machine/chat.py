"""The account chat for who reads it by number: each message once, in order, through restarts of the server."""

from __future__ import annotations

import asyncio
import hashlib
import json
import secrets
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from agentroom_machine import wire
from agentroom_machine.client import Client, Skip
from agentroom_machine.daemon.retry import Backoff
from agentroom_machine.errors import Offline, Rejected, Trouble
from agentroom_machine.profile import Profile, write_private

Say = Callable[[str], None]
_LONGEST_PAUSE = 3.0
"""Seconds between two tries: somebody waits for what is read here."""
_BREATH = 0.2
"""Seconds from one call to the next at least: where much is said, one call brings several messages."""
_AT_ONCE = 1.0
"""Seconds within which an answer that time is over means that nobody waited for us."""


class Ended(Trouble):
    """The account's connection is gone."""

    exit_code = 4


class SwitchedOff(Trouble):
    exit_code = 6


class NothingNew(Trouble):
    exit_code = 7


@contextmanager
def plainly(server: str) -> Iterator[None]:
    """What the server refuses, in words for who uses its chat."""
    try:
        yield
    except Rejected as refusal:
        if refusal.status == 401:
            raise Ended(
                f"This machine's connection to the account has ended. Pair it again: agentroom login {server}"
            ) from None
        if refusal.code == wire.SWITCHED_OFF:
            raise SwitchedOff(refusal.detail) from None
        raise Trouble(refusal.detail) from None


class Reader:
    """Reads from a number on. ``said`` hears when the server is away, and when it is back."""

    def __init__(self, client: Client, after: int, skip: Skip, said: Say) -> None:
        self._client, self._skip, self._said = client, skip, said
        self.cursor = after
        """Everything up to here was given, or left out."""
        self.away: Offline | None = None

    async def pages(self) -> AsyncIterator[wire.ChatPage]:
        """What is there now. Raises Offline."""
        more = True
        while more:
            page = await self._client.chat_read(after=self.cursor, skip=self._skip)
            more = page.has_more
            yield self._reached(page)

    async def follow(self) -> AsyncIterator[wire.ChatPage]:
        """What is there and what comes, as soon as it comes, without an end. Raises SwitchedOff."""
        backoff = Backoff(_LONGEST_PAUSE)
        loop = asyncio.get_running_loop()
        while True:
            asked_at = loop.time()
            try:
                page = await self._client.chat_wait(after=self.cursor, skip=self._skip)
            except Offline as offline:
                if self.away is None:
                    self._said(f"{offline} Trying again.")
                self.away = offline
                await backoff.pause()
                continue
            if self.away is not None:
                self._said("The server is back.")
            self.away = None
            if page.reason == wire.SWITCHED_OFF:
                raise SwitchedOff("The account's owner has switched the agents' chat off.")
            yield self._reached(page)
            if page.reason == "timeout" and loop.time() - asked_at < _AT_ONCE:
                await backoff.pause()
            else:
                backoff.reset()
                await asyncio.sleep(0 if page.has_more else asked_at + _BREATH - loop.time())

    def _reached(self, page: wire.ChatPage) -> wire.ChatPage:
        new = [message for message in page.messages if message.number > self.cursor]
        if page.cursor < self.cursor:
            # The server gave what comes behind its own end.
            new = list(page.messages)
            self._said(f"The chat ends before {self.cursor}, where this reader was: reading on from {page.cursor}.")
        self.cursor = page.cursor
        return page.model_copy(update={"messages": new})


async def first(reader: Reader, *, within: float) -> wire.ChatPage:
    """The first page that has a message. Raises NothingNew, or Offline when the server was away when time was over."""
    try:
        async with asyncio.timeout(within):
            async for page in reader.follow():
                if page.messages:
                    return page
    except TimeoutError:
        if reader.away is not None:
            raise reader.away from None
    raise NothingNew(f"Nothing new within {within:g} s.")


async def send(client: Client, new: wire.ChatNew, *, key: str, within: float, said: Say) -> wire.ChatMessage:
    """Sends it once, however often that has to be tried. Raises Offline when it is still not known to be stored."""
    backoff = Backoff(_LONGEST_PAUSE)
    away: Offline | None = None
    try:
        async with asyncio.timeout(within):
            while True:
                try:
                    return await client.chat_send(new, key)
                except Offline as offline:
                    if away is None:
                        said(f"{offline} Trying again.")
                    away = offline
                    await backoff.pause()
    except TimeoutError:
        why = str(away or f"The server did not answer within {within:g} s.")
        raise Offline(f"{why} Whether it was stored is not known. Send the same again with --key {key}") from None


def fresh_key() -> str:
    return secrets.token_urlsafe(12)


class Place:
    """The number that a session of this profile has read to. It is another one for another connection."""

    def __init__(self, profile: Profile, token: str, session: str) -> None:
        name = hashlib.sha256(f"{token} {session}".encode("utf-8", "replace")).hexdigest()[:32]
        self._path: Path = profile.folder / "chat" / f"{name}.json"

    def get(self) -> int:
        """0 where nothing sound is kept: to read again loses nothing."""
        try:
            kept = json.loads(self._path.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return 0
        return kept if isinstance(kept, int) and not isinstance(kept, bool) and kept >= 0 else 0

    def put(self, cursor: int) -> None:
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            write_private(self._path, json.dumps(cursor))
        except OSError as error:
            raise Trouble(f"{self._path} can't be written: {error.strerror}.") from None
