"""A server for programs that can't send a token: it puts AGENTROOM_PEER_TOKEN into each request.

``python -m tests.mcp.peer_server PORT fixtures|product`` under AGENTROOM_SERVER, on a data folder that exists: the
suite's fixtures on our mount, or the product itself. For tests alone.
"""

from __future__ import annotations

import os
import socket
import sys

from agentroom.mcp.guards import Receive, Scope, Send
from agentroom.web import serve_with_daphne, serve_with_uvicorn


def main() -> None:
    port, what = int(sys.argv[1]), sys.argv[2]
    by_daphne = os.environ.get("AGENTROOM_SERVER") == "daphne"
    if by_daphne:
        import daphne.server  # noqa: F401 - installs Twisted's reactor, which has to come before everything else
    from agentroom.asgi import application as product
    from agentroom.mcp.mount import Mount
    from tests.mcp import fixtures

    mount = Mount({"agent": fixtures.build()})
    token = f"Bearer {os.environ['AGENTROOM_PEER_TOKEN']}".encode()

    async def application(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            scope = {**scope, "headers": [*scope["headers"], (b"authorization", token)]}
        if what == "product":
            await product(scope, receive, send)
        elif scope["type"] == "lifespan":
            await mount.lifespan(receive, send)
        else:
            await mount(scope, receive, send)

    listener = socket.create_server(("127.0.0.1", port), backlog=200)
    listener.setblocking(False)
    print("Ready", flush=True)
    (serve_with_daphne if by_daphne else serve_with_uvicorn)(application, listener, proxied=False)


if __name__ == "__main__":
    main()
