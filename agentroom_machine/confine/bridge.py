"""The first program in a box with a way out: carries connections to the daemon's proxy, then becomes the agent.

    python -I bridge.py PROXY-SOCKET PORT[=HOST:PORT]… -- COMMAND…

It listens on the box's own loopback. A bare PORT speaks to the proxy as any client does; PORT=HOST:PORT is a plain
connection that the proxy carries to that host, for models that run on the machine itself. It stands alone: no package
of ours is imported, so that the box need not show them.
"""

import contextlib
import os
import selectors
import socket
import sys
import threading

_PIECE = 65536


def main(arguments: list[str]) -> None:
    split = arguments.index("--")
    path, doors, command = arguments[0], arguments[1:split], arguments[split + 1 :]
    listening: dict[socket.socket, str] = {}
    for door in doors:
        port, _, target = door.partition("=")
        listening[socket.create_server(("127.0.0.1", int(port)), backlog=64)] = target
    # The agent keeps the first process, and with it the pipes to the daemon; this one goes on beside it.
    if os.fork() == 0:
        os.setsid()
        null = os.open(os.devnull, os.O_RDWR)
        for descriptor in (0, 1, 2):
            os.dup2(null, descriptor)
        serve(path, listening)
    for server in listening:
        server.close()
    os.execvp(command[0], command)  # noqa: S606 - that is what it is for


def serve(path: str, listening: dict[socket.socket, str]) -> None:
    chooser = selectors.DefaultSelector()
    for door, target in listening.items():
        chooser.register(door, selectors.EVENT_READ, (door, target))
    while True:
        for key, _ in chooser.select():
            server, target = key.data
            with contextlib.suppress(OSError):
                client, _ = server.accept()
                threading.Thread(target=carry, args=(path, client, target), daemon=True).start()


def carry(path: str, client: socket.socket, target: str) -> None:
    with client, socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as proxy:
        try:
            proxy.connect(path)
            if target and not _connected(proxy, target):
                return
        except OSError:
            return
        back = threading.Thread(target=pour, args=(proxy, client), daemon=True)
        back.start()
        pour(client, proxy)
        back.join()


def _connected(proxy: socket.socket, target: str) -> bool:
    proxy.sendall(f"CONNECT {target} HTTP/1.1\r\nHost: {target}\r\n\r\n".encode())
    head = b""
    while b"\r\n\r\n" not in head:
        piece = proxy.recv(1)  # not one byte of what follows the head
        if not piece:
            return False
        head += piece
    return head.split(b" ", 2)[1] == b"200"


def pour(source: socket.socket, sink: socket.socket) -> None:
    with contextlib.suppress(OSError):
        while piece := source.recv(_PIECE):
            sink.sendall(piece)
    with contextlib.suppress(OSError):
        sink.shutdown(socket.SHUT_WR)


if __name__ == "__main__":
    main(sys.argv[1:])
