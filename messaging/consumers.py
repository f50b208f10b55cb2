"""The two sockets of a page: a room's new entries, and "look" for what concerns the reader."""

from __future__ import annotations

import asyncio
import contextlib
import json
from http.cookies import CookieError, SimpleCookie
from typing import Any
from urllib.parse import parse_qs, urlsplit

from channels.exceptions import DenyConnection
from channels.generic.websocket import AsyncWebsocketConsumer
from django.conf import settings

from messaging import nudge
from messaging.feed import BEAT, RECHECK, Reader, feeds, in_thread
from messaging.viewer import person_of, seat_of

GONE = 4404
FAILED = 1011
LONGEST_ACK = 100
"""Characters; a page says nothing longer."""
CALM = 0.25
"""Seconds in which several looks become one."""


def header(scope: dict[str, Any], name: bytes) -> str:
    return next((value.decode("latin-1") for key, value in scope["headers"] if key == name), "")


def session_key(scope: dict[str, Any]) -> str:
    try:
        cookie = SimpleCookie(header(scope, b"cookie")).get(settings.SESSION_COOKIE_NAME)
    except CookieError:
        return ""
    return cookie.value if cookie else ""


def same_origin(scope: dict[str, Any]) -> bool:
    """A browser says which page opens a socket; another site's page may not, though it would send the cookie."""
    origin = header(scope, b"origin")
    if origin in settings.CSRF_TRUSTED_ORIGINS:
        return True
    parts = urlsplit(origin)
    return parts.scheme in {"http", "https"} and parts.netloc == header(scope, b"host") and parts.netloc != ""


class Socket(AsyncWebsocketConsumer):  # type: ignore[misc]
    """Refuses before it accepts: a stranger can't tell a room that is not there from one that is not theirs."""

    async def connect(self) -> None:
        await self.refuse()

    async def refuse(self) -> None:
        if "websocket.http.response" in self.scope.get("extensions", {}):
            await self.base_send({"type": "websocket.http.response.start", "status": 404, "headers": []})
            await self.base_send({"type": "websocket.http.response.body", "body": b""})
            raise DenyConnectionQuietly
        raise DenyConnection

    async def websocket_connect(self, message: dict[str, Any]) -> None:
        with contextlib.suppress(DenyConnectionQuietly):
            await super().websocket_connect(message)


class DenyConnectionQuietly(Exception):
    """The refusal is already on its way, as a plain 404."""


class RoomSocket(Socket):
    reader: Reader | None = None

    async def connect(self) -> None:
        room_id = int(self.scope["url_route"]["kwargs"]["room_id"])
        seat = await in_thread(seat_of, session_key(self.scope), room_id) if same_origin(self.scope) else None
        if seat is None:
            await self.refuse()
            return
        after = parse_qs(self.scope["query_string"].decode("latin-1")).get("after", ["0"])[0]
        await self.accept()
        self.reader = await feeds.join(
            room_id, seat, int(after) if after.isdigit() and len(after) < 19 else 0, self.say, self.gone, self.failed
        )

    async def say(self, text: str) -> None:
        await self.send(text_data=text)

    async def gone(self) -> None:
        with contextlib.suppress(Exception):
            await self.send(text_data='{"gone": true}')
            await self.close(code=GONE)

    async def failed(self) -> None:
        """The page comes back by itself, from where it is."""
        await self.close(code=FAILED)

    async def receive(self, text_data: str | None = None, bytes_data: bytes | None = None) -> None:
        if text_data is None or len(text_data) > LONGEST_ACK:
            return
        try:
            acked = json.loads(text_data)["ack"]
        except (ValueError, TypeError, KeyError):
            return
        if self.reader is not None and isinstance(acked, int):
            self.reader.ack(acked)

    async def disconnect(self, code: int) -> None:
        if self.reader is not None:
            feeds.leave(self.reader)


class MeSocket(Socket):
    task: asyncio.Task[None] | None = None

    async def connect(self) -> None:
        key = session_key(self.scope)
        person = await in_thread(person_of, key) if same_origin(self.scope) else None
        if person is None:
            await self.refuse()
            return
        await self.accept()
        self.task = asyncio.create_task(self.watch(key, person.pk))

    async def watch(self, key: str, user_id: int) -> None:
        wake = asyncio.Event()
        unlisten = nudge.listen(f"user:{user_id}", wake.set)
        loop = asyncio.get_running_loop()
        checked_at = loop.time()
        try:
            while True:
                nudged = True
                try:
                    await asyncio.wait_for(wake.wait(), BEAT)
                except TimeoutError:
                    nudged = False
                await asyncio.sleep(CALM if nudged else 0)
                wake.clear()
                if loop.time() - checked_at > RECHECK:
                    if await in_thread(person_of, key) is None:
                        await self.send(text_data='{"gone": true}')
                        await self.close(code=GONE)
                        return
                    checked_at = loop.time()
                await self.send(text_data='{"look": true}' if nudged else "{}")
        finally:
            unlisten()

    async def disconnect(self, code: int) -> None:
        if self.task is not None:
            self.task.cancel()
