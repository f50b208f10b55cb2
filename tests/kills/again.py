"""A web server that can be killed often: ``python -m tests.kills.again PORT``.

Each line of standard input starts one, as ``agentroom.web`` does, in a process forked from this one, which has read all
the code before: a start takes a third of a second instead of four seconds. Its id is printed, on one line.
"""

from __future__ import annotations

import os
import signal
import socket
import sys

import uvicorn.protocols.http.auto
import uvicorn.protocols.websockets.auto  # noqa: F401
import uvloop  # noqa: F401

import agentroom.asgi
import agentroom.pump
import agentroom.urls  # noqa: F401
from agentroom import web


def serve(port: int) -> None:
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    # Whoever calls between two of them is refused, as when a whole server is gone.
    listener = socket.create_server(("127.0.0.1", port), backlog=2048)
    sys.argv = ["web", str(listener.detach())]
    web.main()


def main() -> None:
    # Those that were killed are nobody's to wait for.
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    port = int(sys.argv[1])
    print("read", flush=True)
    for _ in sys.stdin:
        child = os.fork()
        if child == 0:
            try:
                serve(port)
            finally:
                os._exit(0)
        print(child, flush=True)


if __name__ == "__main__":
    main()
