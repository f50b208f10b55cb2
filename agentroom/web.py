"""The web process: serves on a socket that its parent opened, and does the background work when there is no Celery.

``python -m agentroom.web FD``. Uvicorn and Daphne are both started from here, so that the pump lives in the process
whose sockets it nudges under either: Daphne knows no lifespan events that could start it.
"""

from __future__ import annotations

import os
import signal
import socket
import sys


def main() -> None:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "agentroom.settings")
    listener = socket.socket(fileno=int(sys.argv[1]))
    server = os.environ.get("AGENTROOM_SERVER", "uvicorn")
    if server not in {"uvicorn", "daphne"}:
        raise SystemExit(f"AGENTROOM_SERVER is {server!r}: uvicorn (the default) or daphne.")
    # Uvicorn raises the signal that ended it once more; by then the pump still has to stop.
    signal.signal(signal.SIGTERM, lambda *_: None)
    if server == "daphne":
        import daphne.server  # noqa: F401 - installs Twisted's reactor, which has to come before everything else

    from django.conf import settings

    from agentroom.asgi import application
    from agentroom.pump import Pump

    pump = None if settings.SCALED else Pump()
    if pump is not None:
        pump.start()
    try:
        proxied = settings.SECURE_PROXY_SSL_HEADER is not None
        if server == "daphne":
            serve_with_daphne(application, listener, proxied=proxied)
        else:
            serve_with_uvicorn(application, listener, proxied=proxied)
    finally:
        if pump is not None:
            pump.stop()


def serve_with_uvicorn(application: object, listener: socket.socket, *, proxied: bool) -> None:
    import uvicorn

    from agentroom import waits
    from agentroom.mcp import bus

    class Server(uvicorn.Server):
        async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
            # Agents that listen would be cut off only when the patience with open streams ends.
            bus.end_all()
            waits.end_all()
            await super().shutdown(sockets)

    config = uvicorn.Config(
        application,  # type: ignore[arg-type] # the application's scope is narrower than uvicorn's own type
        loop="uvloop",
        ws="websockets-sansio",
        # Compressing small frames costs more than twice the work and three times the memory a socket.
        ws_per_message_deflate=False,
        # Long polls and open streams would hold the end for as long as they like.
        timeout_graceful_shutdown=5,
        # Who called and how is a proxy's word only where there is one (TRUST_PROXY).
        proxy_headers=proxied,
        forwarded_allow_ips=os.environ.get("FORWARDED_ALLOW_IPS", "127.0.0.1"),
        log_config=None,
        access_log=False,
        server_header=False,
    )
    Server(config).run(sockets=[listener])


def serve_with_daphne(application: object, listener: socket.socket, *, proxied: bool) -> None:
    from daphne.server import Server

    # The parent listens with a long backlog; Twisted's own is 50, too short for many waiters.
    Server(
        application,
        endpoints=[f"fd:fileno={listener.fileno()}"],
        http_timeout=None,
        application_close_timeout=5,
        proxy_forwarded_address_header="X-Forwarded-For" if proxied else None,
        server_name="Agentroom",
        verbosity=0,
    ).run()


if __name__ == "__main__":
    main()
