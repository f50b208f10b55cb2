"""What a runtime starts before each tool call: puts the call to the daemon and waits for its word.

Exit 0: go on. Exit 2, with the reason on the error output: refused. Whatever goes wrong is a refusal.
It stands alone (no package of ours is imported) because runtimes start it with a bare interpreter.
"""

import json
import os
import socket
import sys


def main() -> int:
    call = sys.stdin.buffer.read()
    path = os.environ.get("AGENTROOM_HOOK", "")
    if not path:
        sys.stderr.write("Agentroom does not run; nothing may run without it.\n")
        return 2
    try:
        json.loads(call)
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as daemon:
            daemon.connect(path)
            daemon.sendall(call)
            daemon.shutdown(socket.SHUT_WR)
            answer = b""
            while piece := daemon.recv(65536):
                answer += piece
        verdict = json.loads(answer)
        if verdict["allow"] is True:
            if verdict.get("instead"):
                sys.stdout.write(json.dumps(_instead(str(verdict["instead"]))))
            return 0
        sys.stderr.write(str(verdict["reason"]) + "\n")
    except (OSError, ValueError, KeyError, TypeError) as error:
        sys.stderr.write(f"Agentroom could not be asked ({type(error).__name__}); so no.\n")
    return 2


def _instead(command: str) -> dict[str, object]:
    said = {"hookEventName": "PreToolUse", "permissionDecision": "allow", "updatedInput": {"command": command}}
    return {"hookSpecificOutput": said}


if __name__ == "__main__":
    try:
        code = main()
    except BaseException:  # noqa: BLE001 - whatever happens, it is a no
        code = 2
    sys.exit(code)
