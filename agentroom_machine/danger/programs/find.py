"""find and fd: what they look for, and what they do with it."""

from __future__ import annotations

import re

from agentroom_machine.danger.reader import Program, Reader
from agentroom_machine.danger.unknown import STAR, UNKNOWN, activate, shown

_NAMES = {"-name", "-iname", "-path", "-ipath", "-wholename", "-iwholename", "-lname"}
_RUNS = {"-exec", "-execdir", "-ok", "-okdir"}
_WRITES = {"-fprint", "-fprint0", "-fls", "-fprintf"}

_EACH = re.compile(r"-[^-deEtScjoCxX]*[xX](.*)", re.S)
"""fd's options for a command, alone or after others that want no value."""


def _find(reader: Reader, argv: list[str], stdin: str | None) -> str:
    args = argv[1:]
    roots: list[str] = []
    for word in args:
        if word.startswith(("-", "(", "!")) and word not in {"-H", "-L", "-P"}:
            break
        roots.append(word)
    names = [activate(args[i + 1]) for i, word in enumerate(args[:-1]) if word in _NAMES]
    found = " ".join(names or [f"{root.rstrip('/')}/{STAR}" for root in roots] or [UNKNOWN])
    position = 0
    while position < len(args):
        word = args[position]
        position += 1
        if word == "-delete":
            reader.find("delete", "find deletes what it finds")
        elif word in _WRITES and position < len(args):
            reader.writes(args[position])
        elif word in _RUNS:
            end = next((i for i in range(position, len(args)) if args[i] in {";", "+"}), len(args))
            _each(reader, args[position:end], names or [UNKNOWN], roots)
            position = end + 1
        elif word.startswith("-files0-from"):
            reader.project("what find looks at is only known when it runs")
    return found


def _each(reader: Reader, command: list[str], names: list[str], roots: list[str]) -> None:
    if not command:
        return
    for root in roots:
        if reader.reads(root, tree=True):
            break
    if "{}" in command[0]:
        reader.unreadable(f"it runs the files that it finds below {shown(' '.join(roots)) or '.'}")
        return
    for name in names[:8]:
        reader.run([word.replace("{}", name) for word in command], "")


def _fd(reader: Reader, argv: list[str], stdin: str | None) -> str:
    args = argv[1:]
    for position, word in enumerate(args):
        glued = _EACH.fullmatch(word)
        if glued or (len(word) > 4 and "--exec-batch".startswith(word)):
            pattern = next((one for one in args[:position] if not one.startswith("-")), "")
            command = [one for one in args[position + 1 :] if one != ";"]
            if glued and glued[1]:
                command = [glued[1].removeprefix("="), *command]
            if command and not any("{" in one for one in command):
                command = [*command, activate(pattern) or UNKNOWN]
            if command:
                fill = activate(pattern) or UNKNOWN
                reader.run(
                    [one if "{" not in one else one.replace("{}", fill).replace("{/}", fill) for one in command], ""
                )
            return UNKNOWN
        if word.startswith(("--exec=", "--exec-batch=")):
            reader.text(word.partition("=")[2])
    return " ".join(activate(word) for word in args if not word.startswith("-")) or UNKNOWN


PROGRAMS: dict[str, Program] = {
    **dict.fromkeys(("find", "gfind", "bfs"), _find),
    **dict.fromkeys(("fd", "fdfind"), _fd),
}
