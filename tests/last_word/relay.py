"""The way between a machine and its server, which can be cut, or swallow everything that goes over it."""

from __future__ import annotations

import contextlib
import socket
import threading
from typing import Literal

Way = Literal["open", "refused", "silent"]


class Relay:
    def __init__(self, port: int) -> None:
        self._port = port
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._listener.getsockname()[1]}"
        self._way: Way = "open"
        self._held: set[socket.socket] = set()
        self._lock = threading.Lock()
        threading.Thread(target=self._accept, daemon=True).start()

    def cut(self, way: Way) -> None:
        """``refused``: what is connected breaks, and so does what comes. ``silent``: nobody is told anything."""
        self._way = way
        if way == "refused":
            self._break()

    def mend(self) -> None:
        """Whatever was connected before is gone."""
        self._break()
        self._way = "open"

    def close(self) -> None:
        self._way = "refused"
        # Closing alone does not wake who waits in accept.
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self._break()

    def _break(self) -> None:
        with self._lock:
            held, self._held = self._held, set()
        for end in held:
            with contextlib.suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
            end.close()

    def _accept(self) -> None:
        while True:
            try:
                near, _ = self._listener.accept()
            except OSError:
                return
            try:
                if self._way == "refused":
                    raise ConnectionRefusedError
                far = socket.create_connection(("127.0.0.1", self._port), timeout=5)
            except OSError:
                near.close()
                continue
            far.settimeout(None)
            with self._lock:
                self._held |= {near, far}
            for here, there in ((near, far), (far, near)):
                threading.Thread(target=self._carry, args=(here, there), daemon=True).start()

    def _carry(self, here: socket.socket, there: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while piece := here.recv(64 * 1024):
                if self._way == "open":
                    there.sendall(piece)
        if self._way != "silent":
            with contextlib.suppress(OSError):
                there.shutdown(socket.SHUT_WR)
