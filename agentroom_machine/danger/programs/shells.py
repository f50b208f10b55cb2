"""Shells inside of a shell, and the builtins that read text as a script."""

from __future__ import annotations

from pathlib import Path

from agentroom_machine.danger.programs.arguments import asks_for_help
from agentroom_machine.danger.reader import MAX_SCRIPT, Program, Reader
from agentroom_machine.danger.syntax import Unreadable
from agentroom_machine.danger.unknown import UNKNOWN, open_ended, plain, shown

SHELLS = {"bash", "sh", "zsh", "dash", "ksh", "ksh93", "mksh", "pdksh", "ash", "rbash", "fish", "yash", "posh", "csh",
          "tcsh", "elvish", "xonsh", "nu", "pwsh", "powershell", "oil", "osh", "cmd"}  # fmt: skip
_OTHER = {"fish", "csh", "tcsh", "elvish", "xonsh", "nu", "pwsh", "powershell", "cmd"}
_VALUES = {"-o", "+o", "-O", "+O", "--rcfile", "--init-file", "--emulate"}


def is_shell(name: str) -> bool:
    return name.rpartition("/")[2].casefold() in SHELLS


def _shell(reader: Reader, argv: list[str], stdin: str | None) -> str:
    args = argv[1:]
    if asks_for_help(args):
        return UNKNOWN
    name = argv[0].rpartition("/")[2].casefold()
    text, from_stdin, checks, position = False, False, False, 0
    while position < len(args):
        word = args[position]
        if word in {"--", "-"}:
            position += 1
            break
        if word in {"-Command", "-command", "/c", "/C", "-EncodedCommand", "--command", "--commands"}:
            text = True
            position += 1
            break
        if word[:1] not in {"-", "+"} or len(word) < 2:
            break
        if word in _VALUES:
            if word in {"--rcfile", "--init-file"} and position + 1 < len(args):
                script(reader, args[position + 1], [])
            position += 1
        elif not word.startswith("--"):
            letters = word[1:]
            text = text or ("c" in letters and word[0] == "-")
            from_stdin = from_stdin or "s" in letters
            checks = checks or (letters == "n")
            if letters.endswith(("o", "O")):
                position += 1
        position += 1
    rest = args[position:]
    if checks and (rest or stdin is not None):
        return UNKNOWN
    if name in _OTHER:
        reader.project(f"{name} reads scripts in a way of its own")
    if text:
        if not rest:
            return ""
        return reader.text(rest[0], positional=rest[2:], zero=rest[1] if len(rest) > 1 else name, stdin=stdin)
    if rest and not from_stdin:
        return script(reader, rest[0], rest[1:], stdin=stdin, of_shell=True)
    return piped(reader, stdin, positional=rest)


def piped(reader: Reader, stdin: str | None, *, positional: list[str] | None = None) -> str:
    """A shell that reads its script from standard input."""
    if stdin is None:
        reader.unreadable("it opens a shell, and what is typed there can't be read")
        return UNKNOWN
    if UNKNOWN in stdin:
        reader.unreadable("it runs a script that is only known when it runs")
        if stdin == UNKNOWN:
            return UNKNOWN
    return reader.text(stdin, positional=positional)


def script(reader: Reader, path: str, args: list[str], *, stdin: str | None = None, of_shell: bool = False) -> str:
    """A script in a file: followed when it can be opened, the project's own code when not."""
    if open_ended(path.rpartition("/")[2]) or path == UNKNOWN or path.startswith("/dev/"):
        if path in {"/dev/stdin", "/dev/fd/0"}:
            return piped(reader, stdin)
        reader.unreadable("which script it runs is only known when it runs")
        return UNKNOWN
    if reader.reads(path):
        return UNKNOWN
    written = reader.written(path)
    for kept in written:
        first = kept.partition("\n")[0]
        if UNKNOWN in kept or (first.startswith("#!") and not of_shell and "sh" not in first):
            reader.unreadable(f"it runs {shown(path)}, which it has just written and which can't be read")
        else:
            reader.text(kept, positional=args, zero=path, stdin=stdin)
    if written:
        return UNKNOWN
    text = opened(reader, path)
    first = (text or "").partition("\n")[0]
    readable = text is not None and (of_shell or not first.startswith("#!") or "sh" in first.rpartition("/")[2])
    if text is None or not readable or reader.scripts > 2 or (not of_shell and not first.startswith("#!")):
        reader.project(f"{shown(path)} is a script that can't be read from here")
        return UNKNOWN
    reader.scripts += 1
    found = len(reader.findings)
    try:
        reader.text(text, positional=args, zero=path, stdin=stdin)
    except Unreadable as stop:
        reader.unreadable(str(stop))
    finally:
        reader.scripts -= 1
        # What is not understood in a file is the project's code; what is named there counts as if it stood here.
        reader.soften(found, f"{shown(path)} is a script of which not all can be read")
    return UNKNOWN


def opened(reader: Reader, path: str) -> str | None:
    """A script's text; None when there is none to be read."""
    if reader.cwd is None or UNKNOWN in path:
        return None
    try:
        file = reader.cwd / reader.scope.directory / Path(plain(path)).expanduser()
        if not file.is_file() or file.stat().st_size > MAX_SCRIPT:
            return None
        return file.read_text()
    except (OSError, ValueError, RuntimeError):
        return None


def _eval(reader: Reader, argv: list[str], stdin: str | None) -> str:
    words = argv[2:] if argv[1:2] == ["--"] else argv[1:]
    return reader.text(" ".join(words), alone=False, stdin=stdin) if words else ""


def _source(reader: Reader, argv: list[str], stdin: str | None) -> str:
    if len(argv) < 2:
        return UNKNOWN
    path = argv[1]
    if path in {"/dev/stdin", "/dev/fd/0"}:
        return piped(reader, stdin)
    if path == UNKNOWN or open_ended(path.rpartition("/")[2]):
        reader.unreadable("it reads a script that is only known when it runs")
        return UNKNOWN
    return script(reader, path, argv[2:], of_shell=True)


PROGRAMS: dict[str, Program] = {**dict.fromkeys(SHELLS, _shell), "eval": _eval, "source": _source, ".": _source}
