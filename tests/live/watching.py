"""A room's socket, read as the page's script reads it: by cursor, with acknowledgements."""

from __future__ import annotations

import json
import time
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from typing import Any

import httpx
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import connect
from websockets.typing import Origin

GONE = 4404
"""How a socket is closed whose reader may read no more."""


@dataclass(frozen=True)
class Part:
    seq: int
    id: str
    target: str
    mode: str
    html: str


class Watch:
    def __init__(self, client: httpx.Client, url: str, room_id: int, after: int) -> None:
        cookies = "; ".join(f"{name}={value}" for name, value in client.cookies.items())
        self.cursor = after
        self.parts: list[Part] = []
        self.gone = False
        self._held = ExitStack()
        opening = connect(
            f"{url.replace('http', 'ws', 1)}/ws/rooms/{room_id}/?after={after}",
            origin=Origin(url),
            additional_headers={"Cookie": cookies},
            compression=None,
            proxy=None,
            open_timeout=10,
        )
        self._socket = self._held.enter_context(opening)

    def __enter__(self) -> Watch:
        return self

    def __exit__(self, *_: object) -> None:
        self._held.close()

    def frame(self, *, seconds: float = 20) -> dict[str, Any]:
        """The next frame; TimeoutError when none comes."""
        try:
            frame: dict[str, Any] = json.loads(self._socket.recv(timeout=seconds))
        except ConnectionClosed as closed:
            if closed.rcvd is None or closed.rcvd.code != GONE:
                raise
            frame = {"gone": True}
        if frame.get("gone"):
            self.gone = True
        elif "cursor" in frame:
            self.cursor = frame["cursor"]
            self.parts += [Part(**part) for part in frame.get("parts", [])]
            with suppress(ConnectionClosed):  # the next frame says why
                self._socket.send(json.dumps({"ack": self.cursor}))
        return frame

    def until(self, words: str, *, seconds: float = 20) -> Part:
        """The first part, of those that came and come, that holds these words."""
        deadline = time.monotonic() + seconds
        looked_at = 0
        while True:
            for part in self.parts[looked_at:]:
                if words in part.html:
                    return part
            looked_at = len(self.parts)
            try:
                self.frame(seconds=max(0.01, deadline - time.monotonic()))
            except TimeoutError:
                raise AssertionError(
                    f"“{words}” did not arrive within {seconds:g} s, but {len(self.parts)} parts"
                ) from None
