"""The shell's own commands: those that show or change variables, and those that plant something for later."""

from __future__ import annotations

import re

from agentroom_machine.danger.places import place
from agentroom_machine.danger.programs.arguments import split
from agentroom_machine.danger.programs.text import printf
from agentroom_machine.danger.reader import Program, Reader
from agentroom_machine.danger.scope import secret_name
from agentroom_machine.danger.unknown import UNKNOWN, open_ended, plain, shown

_ASSIGN = re.compile(r"([A-Za-z_]\w*)(?:\[[^]]*\])?\+?=(.*)", re.S | re.ASCII)


def _indexed(reader: Reader, words: list[str]) -> None:
    for word in words:
        text = plain(word)
        if "[" in text and ("$(" in text or "`" in text):
            reader.unreadable("an array's index runs a command")


def _declare(reader: Reader, argv: list[str], stdin: str | None) -> str:
    _indexed(reader, argv[1:])
    options = "".join(word[1:] for word in argv[1:] if word.startswith("-"))
    words = [word for word in argv[1:] if word[:1] not in {"-", "+"}]
    if "n" in options and argv[0] not in {"export", "readonly"}:
        reader.unreadable("it gives a variable a second name")
    if not words and not set(options) & {"f", "F"}:
        reader.find("credentials", "it shows every variable, and secrets are kept in some")
    if "p" in options and any(secret_name(word) for word in words):
        reader.find("credentials", "it shows a secret variable")
    for word in words:
        found = _ASSIGN.fullmatch(word)
        if found:
            reader.assign(found[1], found[2])
        elif open_ended(word):
            reader.project("it sets a variable whose name is only known when it runs")
    return UNKNOWN if not words else ""


def _set(reader: Reader, argv: list[str], stdin: str | None) -> str:
    args = argv[1:]
    if not args:
        reader.find("credentials", "it shows every variable, and secrets are kept in some")
        return UNKNOWN
    position = 0
    while position < len(args) and args[position][:1] in {"-", "+"} and args[position] != "--":
        position += 2 if args[position] in {"-o", "+o"} or args[position].endswith("o") else 1
    if position < len(args):
        words = args[position + 1 :] if args[position] == "--" else args[position:]
        before = reader.scope.positional
        reader.scope.positional = words if before in (None, [], words) else [UNKNOWN]
    return ""


def _shift(reader: Reader, argv: list[str], stdin: str | None) -> str:
    reader.scope.shifted = True
    given = reader.scope.positional
    if given:
        reader.scope.positional = given[1:] if argv[1:] in ([], ["1"]) else [UNKNOWN]
    return ""


def _printenv(reader: Reader, argv: list[str], stdin: str | None) -> str:
    names = [word for word in argv[1:] if not word.startswith("-")]
    if "--help" in argv or "--version" in argv:
        return UNKNOWN
    if not names or any(secret_name(name) or open_ended(name) for name in names):
        reader.find("credentials", "it shows the environment, where secrets are kept")
    return UNKNOWN


def _alias(reader: Reader, argv: list[str], stdin: str | None) -> str:
    for word in argv[1:]:
        name, equals, value = word.partition("=")
        if equals:
            values = reader.scope.aliases.setdefault(name, [])
            if value not in values:
                values.append(value)
            reader.text(value, alone=True)
    return "" if argv[1:] else UNKNOWN


def _trap(reader: Reader, argv: list[str], stdin: str | None) -> str:
    words = [word for word in argv[1:] if word != "--"]
    if words and words[0] not in {"-", "-l", "-p", ""} and len(words) > 1:
        reader.text(words[0], alone=False)
    return "" if len(words) > 1 else UNKNOWN


def _read(reader: Reader, argv: list[str], stdin: str | None) -> str:
    _indexed(reader, argv[1:])
    takes = ("-a", "-d", "-i", "-n", "-N", "-p", "-t", "-u", "-O", "-C", "-c")
    found = split(argv[1:], takes)
    value = stdin.rstrip("\n") if stdin and UNKNOWN not in stdin and "\n" not in stdin.rstrip("\n") else UNKNOWN
    several = [name for name in found.words if re.fullmatch(r"\w+", name)]
    for name in several or ["REPLY"]:
        reader.scope.assign(name, value if len(several) == 1 else UNKNOWN)
    array = found.value("-a") or (several[0] if argv[0] in {"mapfile", "readarray"} and several else None)
    if array:
        reader.set_array(array, value.split() if value != UNKNOWN else [UNKNOWN])
    if found.value("-C") is not None:
        reader.text(found.value("-C") or "")
    return ""


def _printf(reader: Reader, argv: list[str], stdin: str | None) -> str:
    if argv[1:2] == ["-v"] and len(argv) > 3:
        _indexed(reader, argv[2:3])
        reader.assign(argv[2], printf(argv[3:]))
        return ""
    return printf(argv[2:] if argv[1:2] == ["--"] else argv[1:])


def _let(reader: Reader, argv: list[str], stdin: str | None) -> str:
    _indexed(reader, argv[1:])
    return ""


def _cd(reader: Reader, argv: list[str], stdin: str | None) -> str:
    words = [word for word in argv[1:] if not re.fullmatch(r"-[LPe@]+|--", word)]
    target = words[0] if words else "~"
    if target in {"-", UNKNOWN} or re.fullmatch(r"[-+]\d+", target):
        return ""
    target = plain(target)
    if target.startswith(("/", "~")):
        reader.scope.directory = target
    elif UNKNOWN not in target:
        before = reader.scope.directory
        reader.scope.directory = "" if place(target, before) == "." else place(target, before)
    if reader.scope.directory.startswith(("~", "/")):
        reader.reads(reader.scope.directory)
    return ""


def _test(reader: Reader, argv: list[str], stdin: str | None) -> str:
    _indexed(reader, argv[1:])
    return ""


def _complete(reader: Reader, argv: list[str], stdin: str | None) -> str:
    found = split(argv[1:], ("-C", "-F", "-A", "-G", "-W", "-P", "-S", "-X", "-o"))
    text = found.value("-C")
    if text is not None:
        reader.text(text)
    return UNKNOWN


def _plants(reader: Reader, argv: list[str], stdin: str | None) -> str:
    if argv[1:] not in (["-l"], ["-p"], ["-a"]):
        reader.unreadable(f"{argv[0]} makes the shell run something that can't be read")
    return UNKNOWN


def _nothing(reader: Reader, argv: list[str], stdin: str | None) -> str:
    return ""


def _prints(reader: Reader, argv: list[str], stdin: str | None) -> str:
    return UNKNOWN


def _history(reader: Reader, argv: list[str], stdin: str | None) -> str:
    found = split(argv[1:], ("-d",))
    for path in found.words:
        if found.has("-w"):
            reader.writes(path)
            reader.find("delete", f"it overwrites {shown(path)}")
        elif found.has("-a"):
            reader.writes(path)
        else:
            reader.reads(path)
    return UNKNOWN


def _hash(reader: Reader, argv: list[str], stdin: str | None) -> str:
    if any(word.startswith("-p") for word in argv[1:]):
        reader.unreadable("it gives a program another program's name")
    return "" if argv[1:] else UNKNOWN


def _unset(reader: Reader, argv: list[str], stdin: str | None) -> str:
    _indexed(reader, argv[1:])
    return ""


def _exec(reader: Reader, argv: list[str], stdin: str | None) -> str:
    found = split(argv[1:], ("-a",), posix=True)
    return reader.run(found.words, stdin) if found.words else ""


PROGRAMS: dict[str, Program] = {
    **dict.fromkeys(("declare", "typeset", "local", "export", "readonly"), _declare),
    "set": _set,
    "shift": _shift,
    "printenv": _printenv,
    "alias": _alias,
    "trap": _trap,
    **dict.fromkeys(("read", "mapfile", "readarray", "getopts"), _read),
    "printf": _printf,
    "let": _let,
    **dict.fromkeys(("cd", "pushd", "chdir"), _cd),
    "popd": _nothing,
    **dict.fromkeys(("test", "["), _test),
    **dict.fromkeys(("complete", "compgen"), _complete),
    **dict.fromkeys(("bind", "enable", "fc", "zle", "bindkey", "add-zsh-hook", "zmodload", "sched"), _plants),
    "hash": _hash,
    "unset": _unset,
    "exec": _exec,
    **dict.fromkeys(
        (":", "true", "false", "exit", "return", "break", "continue", "wait", "disown", "unalias", "logout", "suspend",
         "unfunction", "setopt", "unsetopt", "rehash", "autoload", "compinit"),
        _nothing,
    ),
    **dict.fromkeys(("jobs", "fg", "bg", "shopt", "umask", "ulimit", "times", "caller", "dirs", "help"), _prints),
    "history": _history,
}  # fmt: skip
