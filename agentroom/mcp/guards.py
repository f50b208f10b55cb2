"""What stands between the socket and the protocol: sound text, a bounded body, a bounded number of calls."""

from __future__ import annotations

import math
import re
from collections.abc import Awaitable, Callable
from typing import Any

Scope = dict[str, Any]
Receive = Callable[[], Awaitable[dict[str, Any]]]
Send = Callable[[dict[str, Any]], Awaitable[None]]

MAX_BODY = 1_000_000
"""Bytes of a request: a message of 50,000 characters fits, each written as two escapes of six bytes."""

_ESCAPE = re.compile(rb"\\(?:u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|u([0-9a-fA-F]{4})|.)", re.S)


class TooLarge(Exception):
    pass


class HungUp(Exception):
    pass


async def body(scope: Scope, receive: Receive) -> bytes:
    """The whole request, at most MAX_BODY bytes of it."""
    declared = dict(scope["headers"]).get(b"content-length", b"")
    if declared.isdigit() and int(declared) > MAX_BODY:
        raise TooLarge
    raw = bytearray()
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise HungUp
        raw += message.get("body", b"")
        if len(raw) > MAX_BODY:
            raise TooLarge
        if not message.get("more_body"):
            return bytes(raw)


def sound(raw: bytes) -> bytes:
    """JSON without NUL, halves of surrogate pairs and broken UTF-8: a replacement character stands in their place.

    It happens before anybody parses: a strict parser refuses such a message whole, and a lax one hands over text that
    no database stores.
    """
    text = raw.decode("utf-8", "replace").encode()
    return _ESCAPE.sub(_sound, text) if b"\\u" in text else text


def _sound(found: re.Match[bytes]) -> bytes:
    code: bytes | None = found[1]
    if code is not None and (int(code, 16) == 0 or 0xD800 <= int(code, 16) <= 0xDFFF):
        return rb"\ufffd"
    return found[0]


def replay(raw: bytes, receive: Receive) -> Receive:
    """``receive`` for who reads the request after us."""
    first = True

    async def again() -> dict[str, Any]:
        nonlocal first
        if first:
            first = False
            return {"type": "http.request", "body": raw, "more_body": False}
        return await receive()

    return again


class Allowance:
    """So many calls a minute for each key, in this process; a pause earns them back one by one."""

    FORGET_ABOVE = 5000

    def __init__(self) -> None:
        self._left: dict[object, tuple[float, float]] = {}

    def take(self, key: object, *, a_minute: int, now: float) -> int:
        """0 when this call is within it; else the seconds after which the next one is."""
        left, at = self._left.get(key, (float(a_minute), now))
        left = min(float(a_minute), left + (now - at) * a_minute / 60)
        if len(self._left) > self.FORGET_ABOVE:
            self._left.clear()
        if left < 1:
            self._left[key] = (left, now)
            return max(1, math.ceil((1 - left) * 60 / a_minute))
        self._left[key] = (left - 1, now)
        return 0
