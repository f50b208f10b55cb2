"""What a runtime starts as its server of tools for mail: carries lines between it and the daemon, which has the token.

It stands alone (no package of ours is imported) because runtimes start it with a bare interpreter. Its one argument is
the path of the daemon's socket.
"""

import os
import socket
import sys
import threading


def _carry_in(daemon: socket.socket) -> None:
    while piece := os.read(0, 65536):
        daemon.sendall(piece)
    daemon.shutdown(socket.SHUT_WR)


def main() -> int:
    try:
        daemon = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        daemon.connect(sys.argv[1])
    except (OSError, IndexError) as error:
        sys.stderr.write(f"Agentroom does not listen ({type(error).__name__}).\n")
        return 1
    threading.Thread(target=_carry_in, args=[daemon], daemon=True).start()
    try:
        while piece := daemon.recv(65536):
            sys.stdout.buffer.write(piece)
            sys.stdout.buffer.flush()
    except OSError:
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
