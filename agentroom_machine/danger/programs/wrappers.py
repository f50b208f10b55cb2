"""Programs that run another program, given among their arguments."""

from __future__ import annotations

import re

from agentroom_machine.danger.programs.arguments import asks_for_help, split
from agentroom_machine.danger.programs.shells import is_shell
from agentroom_machine.danger.reader import Program, Reader, quote
from agentroom_machine.danger.unknown import UNKNOWN, plain

_ASSIGN = re.compile(r"([A-Za-z_]\w*)=(.*)", re.S | re.ASCII)

_ARCHITECTURES = {"x86_64", "i386", "i686", "linux32", "linux64", "aarch64", "uname26"}
_TAKES: dict[str, tuple[tuple[str, ...], int]] = {
    # The options that want a value, and how many words stand before the command.
    "nice": (("-n", "--adjustment"), 0),
    "ionice": (("-c", "-n", "-p", "--class", "--classdata"), 0),
    "chrt": (("-T", "-P", "-D"), 1),
    "taskset": ((), 1),
    "nohup": ((), 0),
    "setsid": ((), 0),
    "stdbuf": (("-i", "-o", "-e", "--input", "--output", "--error"), 0),
    "timeout": (("-s", "-k", "--signal", "--kill-after"), 1),
    "gtimeout": (("-s", "-k", "--signal", "--kill-after"), 1),
    "time": (("-f", "-o", "--format", "--output"), 0),
    "gtime": (("-f", "-o", "--format", "--output"), 0),
    "exec": (("-a",), 0),
    "builtin": ((), 0),
    "noglob": ((), 0),
    "nocorrect": ((), 0),
    "-": ((), 0),
    "repeat": ((), 1),
    "caffeinate": (("-t", "-w"), 0),
    "arch": (("-arch", "-e"), 0),
    "strace": (("-e", "-o", "-p", "-s", "-P", "-u", "-E", "-a", "-b", "-I", "-O", "-S", "-X", "--trace"), 0),
    "ltrace": (("-e", "-o", "-p", "-s", "-u", "-a", "-l", "-n", "-x"), 0),
    "dtruss": ((), 0),
    "xvfb-run": (("-s", "-n", "-e", "-f", "-p", "-w", "--server-args"), 0),
    "dbus-run-session": ((), 0),
    "unbuffer": ((), 0),
    "faketime": (("-f",), 1),
    "fakeroot": (("-l", "-s", "-i", "-b"), 0),
    "proot": (("-r", "-b", "-w", "-q", "-k", "-R", "-S"), 0),
    "unshare": (("-S", "-G", "-R", "-w", "--root", "--wd", "--map-user", "--map-group"), 0),
    "nsenter": (("-t", "--target", "-S", "-G", "-r", "-w"), 0),
    "setpriv": ((), 0),
    "chroot": (("--userspec", "--groups"), 1),
    "doas": (("-u", "-C"), 0),
    "pkexec": (("--user",), 0),
    "gosu": ((), 1),
    "su-exec": ((), 1),
    "runuser": (("-u", "-g", "-G"), 0),
    "systemd-run": (("-p", "-u", "--unit", "-E", "--setenv", "--property", "-t", "--uid", "--gid"), 0),
    "daemonize": (("-p", "-o", "-e", "-l", "-c", "-u", "-E"), 0),
    "setarch": ((), 0),
    "linux32": ((), 0),
    "linux64": ((), 0),
    "prlimit": ((), 0),
    "cpulimit": (("-l", "-p", "-P"), 0),
    "chpst": (("-u", "-U", "-e", "-d", "-o", "-p", "-f", "-c", "-l", "-n", "-b"), 0),
    "catchsegv": ((), 0),
    "torsocks": ((), 0),
    "proxychains": (("-f",), 0),
    "proxychains4": (("-f",), 0),
    "firejail": ((), 0),
    "sem": (("-j", "--id", "--jobs"), 0),
    "rtk": ((), 0),
    "toybox": ((), 0),
    "busybox": ((), 0),
    "coproc": ((), 0),
    "chronic": ((), 0),
    "ifne": ((), 0),
    "winpty": ((), 0),
    "wsl": (("-d", "-u", "--distribution", "--user", "--cd"), 0),
    "rlwrap": (("-f", "-H", "-a", "-p"), 0),
    "lockf": (("-t",), 1),
    "envdir": ((), 1),
    "softlimit": ((), 0),
    "cgexec": (("-g",), 0),
    "numactl": (("-N", "-m", "-C", "-i"), 0),
    "eatmydata": ((), 0),
    "mosh": ((), 1),
    "cross-env": ((), 0),
    "cross-env-shell": ((), 0),
    "watchexec": (("-w", "-e", "-i", "-f", "-d", "-s", "--watch", "--exts", "--ignore", "--filter", "--debounce"), 0),
    "entr": ((), 0),
    "retry": (("-t", "-d", "--times", "--delay"), 0),
    "perf": ((), 1),
    "valgrind": ((), 0),
    "rr": ((), 1),
    "bwrap": ((), 0),
}


def _wrapper(name: str) -> Program:
    takes, skipped = _TAKES[name]

    def program(reader: Reader, argv: list[str], stdin: str | None) -> str:
        if name in {"strace", "ltrace", "gtime"}:
            for target in split(argv[1:], (*takes, "--output"), posix=True).values("-o", "--output"):
                reader.text(target[1:]) if target.startswith(("|", "!")) else reader.writes(target)
        rest = command(argv[1:], takes, skipped)
        if name == "setarch" and rest and rest[0] in _ARCHITECTURES:
            rest = rest[1:]
        return run(reader, rest, stdin) if rest else UNKNOWN

    return program


def command(args: list[str], takes: tuple[str, ...] = (), skipped: int = 0) -> list[str]:
    """The command that begins after a wrapper's own options, and its first words."""
    return split(args, takes, posix=True).words[skipped:]


def run(reader: Reader, argv: list[str], stdin: str | None) -> str:
    """Follows the words as a command, with assignments before it."""
    while argv:
        found = _ASSIGN.fullmatch(argv[0])
        if not found:
            return reader.run(argv, stdin)
        reader.assign(found[1], found[2])
        argv = argv[1:]
    return ""


def _env(reader: Reader, argv: list[str], stdin: str | None) -> str:
    if asks_for_help(argv[1:]):
        return UNKNOWN
    takes = ("-u", "--unset", "-C", "--chdir", "-a", "--argv0")
    args = argv[1:]
    for position, word in enumerate(args):
        text, after = _split_string(args, position)
        if text is not None:
            return reader.text(" ".join([text, *map(quote, after)]), alone=False, stdin=stdin)
        if not word.startswith("-") and "=" not in word and word != UNKNOWN and args[position - 1] not in takes:
            break
    rest = list(split(args, takes, posix=True).words)
    while rest and ("=" in rest[0] or rest[0] == UNKNOWN):
        name, equals, value = rest[0].partition("=")
        if equals:
            reader.assign(name, value)
        rest = rest[1:]
    if not rest:
        reader.find("credentials", "it shows the environment, where secrets are kept")
        return UNKNOWN
    return reader.run(rest, stdin)


def _split_string(args: list[str], position: int) -> tuple[str | None, list[str]]:
    """The text that ``env -S`` splits into words, and the words after it."""
    word = args[position]
    if word in {"-S", "--split-string", "-vS", "-iS"}:
        return (args[position + 1] if position + 1 < len(args) else ""), args[position + 2 :]
    for start in ("-S", "--split-string=", "-vS", "-iS"):
        if word.startswith(start):
            return word[len(start) :], args[position + 1 :]
    return None, []


def _sudo(reader: Reader, argv: list[str], stdin: str | None) -> str:
    takes = (
        "-u", "-g", "-h", "-p", "-C", "-D", "-R", "-T", "-U", "-r", "-t", "--user", "--group", "--chdir", "--prompt",
    )  # fmt: skip
    found = split(argv[1:], takes, posix=True)
    if found.has("-e", "--edit"):
        for path in found.words:
            reader.writes(path)
        reader.unreadable("it opens an editor")
        return UNKNOWN
    if not found.words:
        if found.has("-i", "-s", "--login", "--shell"):
            reader.unreadable("it opens a shell, and what is typed there can't be read")
        return UNKNOWN
    return run(reader, found.words, stdin)


def _su(reader: Reader, argv: list[str], stdin: str | None) -> str:
    found = split(argv[1:], ("-c", "--command", "-s", "-g", "-G", "--shell"))
    text = found.value("-c", "--command")
    if text is not None:
        return reader.text(text, stdin=stdin)
    if asks_for_help(argv[1:]):
        return UNKNOWN
    reader.unreadable("it opens a shell, and what is typed there can't be read")
    return UNKNOWN


def _command(reader: Reader, argv: list[str], stdin: str | None) -> str:
    found = split(argv[1:], (), posix=True)
    if found.has("-v", "-V"):
        return "\n".join(plain(word) for word in found.words) + "\n"
    return reader.run(found.words, stdin) if found.words else ""


def _xargs(reader: Reader, argv: list[str], stdin: str | None) -> str:
    takes = ("-I", "-J", "-L", "-n", "-P", "-s", "-d", "-E", "-a", "-R", "-S", "--replace", "--max-lines", "--max-args",
             "--max-procs", "--max-chars", "--delimiter", "--arg-file", "--process-slot-var")  # fmt: skip
    args = [word if word not in {"-i", "-l", "-e", "--replace"} else word + "\0" for word in argv[1:]]
    found = split(args, takes, posix=True)
    rest = found.words or ["echo"]
    marker = found.value("-I", "-J", "--replace")
    if marker is None and any(name in {"-i", "--replace", "--replace\0"} for name, _ in found.options):
        marker = "{}"
    given = reader.content(found.value("-a", "--arg-file") or "") if found.has("-a", "--arg-file") else stdin
    known = given is not None and UNKNOWN not in given
    items = (given or "").replace("\0", " ").split() if known else (given or UNKNOWN).split()
    if marker:
        for item in (items or [UNKNOWN])[:32]:
            reader.run([word.replace(marker, item) for word in rest], "")
        return UNKNOWN
    if is_shell(rest[0]) and UNKNOWN in (given or UNKNOWN) and "-c" not in " ".join(rest):
        reader.unreadable("it gives a shell arguments that are only known when it runs")
    return reader.run([*rest, *(items[:64] or ([] if known else [UNKNOWN]))], "")


def _parallel(reader: Reader, argv: list[str], stdin: str | None) -> str:
    takes = (
        "-j", "-P", "--jobs", "-a", "--arg-file", "-C", "--colsep", "-d", "-I", "-N", "-n", "-L", "-S", "--delay",
        "--timeout", "--joblog", "--results", "--workdir", "--sshlogin", "--halt", "--retries", "--tmpdir",
    )  # fmt: skip
    found = split(argv[1:], takes, posix=True)
    if found.has("-S", "--sshlogin"):
        reader.unreadable("it runs commands on other machines")
    words = found.words
    at = next((i for i, word in enumerate(words) if word.startswith(":::")), len(words))
    text, items = " ".join(words[:at]), [word for word in words[at:] if not word.startswith(":::")]
    given = (stdin or UNKNOWN).split("\n") if at == len(words) else items
    for item in [item for item in given if item][:32]:
        line = re.sub(r"\{[^}\s]*\}", item.replace("\\", "\\\\"), text) if "{" in text else f"{text} {item}".strip()
        if UNKNOWN in item and "{" not in text and text:
            reader.text(text)
            reader.run([*text.split(), item], "")
        else:
            reader.text(line)
    return UNKNOWN


def _watch(reader: Reader, argv: list[str], stdin: str | None) -> str:
    words = command(argv[1:], ("-n", "-q", "--interval", "--equexit"))
    return reader.text(" ".join(words), stdin=stdin) if words else UNKNOWN


def _flock(reader: Reader, argv: list[str], stdin: str | None) -> str:
    found = split(argv[1:], ("-w", "-E", "--wait", "--timeout", "--conflict-exit-code"), posix=True)
    rest = found.words[1:]
    if rest[:1] in (["-c"], ["--command"]):
        return reader.text(" ".join(rest[1:]), stdin=stdin)
    return reader.run(rest, stdin) if rest else UNKNOWN


def _script(reader: Reader, argv: list[str], stdin: str | None) -> str:
    found = split(argv[1:], ("-c", "--command", "-I", "-O", "-B", "-E", "-o", "-T", "-t", "-m"))
    text = found.value("-c", "--command")
    if text is not None:
        return reader.text(text, stdin=stdin)
    if len(found.words) > 1:
        return reader.run(found.words[1:], stdin)
    reader.unreadable("it opens a shell, and what is typed there can't be read")
    return UNKNOWN


def _ssh(reader: Reader, argv: list[str], stdin: str | None) -> str:
    takes = tuple(f"-{letter}" for letter in "bcDEeFIiJLlmOopQRSWw")
    found = split(argv[1:], takes, posix=True)
    for option, value in found.options:
        if value and option == "-i":
            reader.reads(value)
        if value and option == "-o" and re.match(r"(proxycommand|localcommand|knownhostscommand)\s*[= ]", value, re.I):
            reader.text(re.split(r"[= ]", value, maxsplit=1)[1])
    if found.has("-V", "-G") or (not found.words and not found.options):
        return UNKNOWN
    words = found.words[1:]
    if words:
        reader.text(" ".join(plain(word) if word != UNKNOWN else word for word in words), stdin=stdin)
    elif stdin not in (None, "", UNKNOWN):
        reader.text(stdin or "")
    reader.unreadable("what it does on another machine is neither confined nor seen")
    return UNKNOWN


_SHOWS = {
    "ls", "list-sessions", "-V", "-ls", "-list", "kill-session", "kill-server", "has-session", "has", "kill-window",
    "list-windows", "lsw", "capture-pane", "list-panes", "-v",
}  # fmt: skip


def _terminal(reader: Reader, argv: list[str], stdin: str | None) -> str:
    """tmux and screen: a command given when they start is followed, keys that are sent are a script."""
    words = [plain(word) for word in argv[1:]]
    if not words or words[0] in _SHOWS:
        if not words:
            reader.unreadable("it opens a terminal, and what is typed there can't be read")
        return UNKNOWN
    if words[0] in {"send-keys", "send"} or "stuff" in words:
        keys = [word for word in words[1:] if word not in {"Enter", "C-m", "-t", "-l", "-X", "-S", "-p", "stuff"}]
        for start in range(len(keys)):
            reader.text(re.sub(r"(\\n|\^M|\r)+$", "", " ".join(keys[start:])))
    else:
        found = split(argv[1:], ("-s", "-n", "-t", "-c", "-x", "-y", "-L", "-f", "-S", "-F", "-e", "-h", "-p", "-l"))
        rest = found.words[1:] if argv[0].endswith("tmux") else found.words
        if rest:
            reader.text(" ".join(rest))
    reader.unreadable("it starts something in another terminal, where it can't be followed")
    return UNKNOWN


def _expect(reader: Reader, argv: list[str], stdin: str | None) -> str:
    reader.unreadable("it types into other programs")
    text = split(argv[1:], ("-c", "-f")).value("-c") or stdin or ""
    for found in re.finditer(r"(?:spawn|exec|system)\s+(.+)", plain(text)):
        reader.text(found[1].rstrip("; \n\"'}"))
    return UNKNOWN


def _debugger(reader: Reader, argv: list[str], stdin: str | None) -> str:
    words = [word for word in argv[1:] if " " in word]
    for word in [*words, *(stdin or "").splitlines()]:
        said = re.match(r"\s*(?:shell|!|platform shell|pipe|\|)\s*(.+)", plain(word))
        if said:
            reader.text(said[1])
        if re.match(r"\s*(shell|!|platform|python|py|script|source|pipe|\||call|print|p|expr)\b", plain(word)):
            reader.unreadable("a debugger runs what can't be read")
    if "--args" in argv:
        return reader.run(argv[argv.index("--args") + 1 :], stdin)
    reader.project("a debugger runs the project's own code")
    return UNKNOWN


def _at(reader: Reader, argv: list[str], stdin: str | None) -> str:
    if argv[-1] in {"-l", "-V"} or argv[0].endswith("atq"):
        return UNKNOWN
    if stdin and stdin != UNKNOWN:
        reader.text(stdin)
    reader.unreadable("it runs something later, when nobody is asked")
    return UNKNOWN


def _crontab(reader: Reader, argv: list[str], stdin: str | None) -> str:
    if "-r" in argv:
        reader.find("delete", "it deletes the table of what runs at which time")
    elif argv[1:] != ["-l"]:
        reader.unreadable("it changes what runs later, when nobody is asked")
    return UNKNOWN


PROGRAMS: dict[str, Program] = {
    **{name: _wrapper(name) for name in _TAKES},
    "env": _env,
    "genv": _env,
    "sudo": _sudo,
    "su": _su,
    "command": _command,
    "xargs": _xargs,
    "gxargs": _xargs,
    "parallel": _parallel,
    "rush": _parallel,
    "watch": _watch,
    "viddy": _watch,
    "flock": _flock,
    "script": _script,
    "ssh": _ssh,
    "autossh": _ssh,
    "dbclient": _ssh,
    "tmux": _terminal,
    "screen": _terminal,
    "byobu": _terminal,
    "expect": _expect,
    **dict.fromkeys(("gdb", "lldb", "rust-gdb", "rust-lldb", "cgdb"), _debugger),
    "at": _at,
    "batch": _at,
    "atq": _at,
    "crontab": _crontab,
}
