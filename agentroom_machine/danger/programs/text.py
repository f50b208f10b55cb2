"""Programs that print: what they print is known as far as it can be, for the shell that it may be piped to."""

from __future__ import annotations

import base64
import binascii
import re

from agentroom_machine.danger.lexing import unescape
from agentroom_machine.danger.programs.arguments import split
from agentroom_machine.danger.reader import Program, Reader
from agentroom_machine.danger.unknown import UNKNOWN, plain

_LISTERS = frozenset(
    [
        "ls", "dir", "vdir", "exa", "eza", "lsd", "stat", "file", "du", "df", "tree", "basename", "dirname",
        "realpath", "readlink", "pwd", "date", "gdate", "cal", "uname", "whoami", "id", "hostname", "hostnamectl",
        "sleep", "seq", "yes", "expr", "tput", "clear", "reset", "nproc", "free", "uptime", "pgrep", "kill", "pkill",
        "killall", "lsof", "ss", "netstat", "ping", "ping6", "traceroute", "tracepath", "mtr", "dig", "nslookup",
        "host", "whois", "man", "info", "tldr", "apropos", "whatis", "groups", "users", "who", "w", "last", "locale",
        "getconf", "arch", "sw_vers", "lscpu", "lsblk", "lsusb", "lspci", "lsmod", "dmesg", "vmstat", "iostat", "sar",
        "top", "htop", "btop", "btm", "glances", "nvtop", "nvidia-smi", "ifconfig", "ip", "route", "arp", "sysctl",
        "mktemp", "tty", "stty", "logname", "factor", "cowsay", "figlet", "neofetch", "fastfetch", "screenfetch",
        "tokei", "cloc", "open", "xdg-open", "say", "notify-send", "getent", "lsb_release", "timedatectl", "pidof",
        "pstree", "renice", "pathchk", "sync", "locate", "mlocate", "updatedb", "whereis", "dpkg-query", "apt-cache",
        "ldconfig", "tzselect", "loginctl", "journalctl", "lsattr", "getfattr", "getfacl", "namei", "mountpoint",
        "findmnt", "vm_stat", "pmset", "command_not_found", "jps", "jstack", "jstat", "ts", "cheat", "explainshell",
        "zoxide", "z", "autojump", "j", "ncal", "uuidgen", "tabs", "dict",
    ]
)  # fmt: skip
_READERS = frozenset(
    [
        "less", "more", "most", "head", "tail", "tac", "nl", "od", "xxd", "hexdump", "hd", "strings", "base32",
        "md5sum", "md5", "sha1sum", "sha224sum", "sha256sum", "sha384sum", "sha512sum", "shasum", "b2sum", "cksum",
        "sum", "wc", "uniq", "cut", "paste", "join", "comm", "fold", "fmt", "pr", "expand", "unexpand", "column",
        "rev", "diff", "cmp", "sdiff", "diff3", "colordiff", "delta", "difft", "icdiff", "jd", "dyff", "bat", "batcat",
        "zcat", "zless", "zmore", "gzcat", "bzcat", "bzless", "xzcat", "xzless", "lzcat", "zstdcat", "fx", "jless",
        "dasel", "xmllint", "xmlstarlet", "htmlq", "pup", "csvcut", "csvlook", "csvstat", "csvgrep", "csvsort",
        "csvjson", "xsv", "qsv", "glow", "mdcat", "rich", "pygmentize", "highlight", "source-highlight", "iconv",
        "dos2unix", "unix2dos", "enca", "chardet", "uchardet", "tsort", "shuf", "asort", "sponge", "pandoc", "csplit",
        "split", "zdiff", "zcmp", "vbindiff", "radiff2", "binwalk", "hexyl", "xxh64sum", "xxhsum", "uuencode",
        "uudecode", "qrencode", "zbarimg", "exiv2", "mediainfo", "ptx", "nkf", "lesspipe", "bzdiff", "xzdiff",
        "viewer", "datamash", "tv", "vd", "visidata", "sc-im", "pv", "look", "ronn", "groff", "troff", "nroff",
        "hunspell", "aspell", "ispell", "wordcount", "bc", "units", "numfmt", "lolcat", "calendar", "fortune",
    ]
)  # fmt: skip
_LISTS = {"date", "gdate", "file", "dig", "host", "sysctl", "journalctl"}
"""Of the former those that print what the file of their option ``-f`` says."""
_RUN_BY: dict[str, tuple[str, ...]] = {
    "bat": ("--pager",),
    "batcat": ("--pager",),
    "delta": ("--pager",),
    "pandoc": ("-F", "--filter", "-L", "--lua-filter", "--pdf-engine"),
}
"""Of the readers those that are told programs, and by which options."""
_PATTERNS = frozenset(
    [
        "grep", "egrep", "fgrep", "zgrep", "zegrep", "zfgrep", "bzgrep", "xzgrep", "rg", "ag", "ack", "ack-grep",
        "pcregrep", "pcre2grep", "ugrep", "ug", "pt", "sift", "gg",
    ]
)  # fmt: skip
_PATTERN_TAKES = (
    "-e", "-f", "-m", "-A", "-B", "-C", "-d", "-D", "-g", "-t", "-T", "-j", "-M", "--regexp", "--file",
    "--max-count", "--include", "--exclude", "--exclude-dir", "--include-dir", "--exclude-from", "--after-context",
    "--before-context", "--context", "--color", "--colour", "--glob", "--iglob", "--type", "--type-not", "--type-add",
    "--max-depth", "--label", "--replace", "--sort", "--sortr", "--threads", "--max-columns", "--max-filesize",
    "--pre", "--pre-glob", "--ignore", "--ignore-dir", "--ignore-file", "--encoding", "--engine", "--hostname-bin",
    "--search-zip_",
)  # fmt: skip


def printf(args: list[str]) -> str:
    """What printf prints, UNKNOWN where a format is not simple."""
    if not args:
        return ""
    form, values = unescape(plain(args[0]) if UNKNOWN not in args[0] else args[0]), [plain(value) for value in args[1:]]
    holes = re.findall(r"%(?:%|[-0-9.]*[a-zA-Z])", form)
    wants = [hole for hole in holes if hole != "%%"]
    if not wants:
        return form.replace("%%", "%")
    if any(not re.fullmatch(r"%[-0-9.]*[sbdic]", hole) for hole in wants):
        return UNKNOWN
    printed: list[str] = []
    rest = list(values) or [""]
    while rest:

        def fill(hole: re.Match[str]) -> str:
            if hole[0] == "%%":
                return "%"
            value = rest.pop(0) if rest else ""
            if re.search(r"\d", hole[0]):
                return UNKNOWN if re.search(r"\.", hole[0]) else value
            return unescape(value) if hole[0].endswith("b") else value[:1] if hole[0].endswith("c") else value

        printed.append(re.sub(r"%(?:%|[-0-9.]*[a-zA-Z])", fill, form))
        if len(printed) > 64:
            return UNKNOWN
    return "".join(printed)


def _echo(reader: Reader, argv: list[str], stdin: str | None) -> str:
    args, escapes, newline = argv[1:], False, "\n"
    while args and re.fullmatch(r"-[neE]+", args[0]):
        escapes = escapes or "e" in args[0]
        newline = "" if "n" in args[0] else newline
        args = args[1:]
    said = plain(" ".join(args)) if UNKNOWN not in "".join(args) else " ".join(plain(arg) for arg in args)
    return (unescape(said) if escapes else said) + newline


def _cat(reader: Reader, argv: list[str], stdin: str | None) -> str:
    found = split(argv[1:])
    if not found.words:
        return UNKNOWN if stdin is None else stdin
    return "".join(stdin or UNKNOWN if word == "-" else reader.content(word) for word in found.words)


def _base64(reader: Reader, argv: list[str], stdin: str | None) -> str:
    found = split(argv[1:], ("-w", "--wrap", "-i", "-o", "-b"))
    given = "".join([reader.content(word) for word in [*found.words, *found.values("-i")]]) or stdin or UNKNOWN
    for path in found.values("-o"):
        reader.writes(path)
    if not found.has("-d", "-D", "--decode") or UNKNOWN in given:
        return UNKNOWN
    try:
        return base64.b64decode(re.sub(r"\s", "", given), validate=False).decode()
    except (binascii.Error, UnicodeDecodeError, ValueError):
        return UNKNOWN


def _xxd(reader: Reader, argv: list[str], stdin: str | None) -> str:
    found = split(argv[1:], ("-s", "-l", "-c", "-g", "-o"))
    given = reader.content(found.words[0]) if found.words else stdin or UNKNOWN
    if len(found.words) > 1:
        reader.writes(found.words[1])
    if "r" not in "".join(name for name, _ in found.options) or UNKNOWN in given:
        return UNKNOWN
    try:
        return bytes.fromhex(re.sub(r"[^0-9a-fA-F]", "", given)).decode()
    except (ValueError, UnicodeDecodeError):
        return UNKNOWN


def _rev(reader: Reader, argv: list[str], stdin: str | None) -> str:
    given = "".join(reader.content(word) for word in argv[1:] if word[:1] != "-") or stdin or UNKNOWN
    return UNKNOWN if UNKNOWN in given else "\n".join(line[::-1] for line in given.split("\n"))


def _reader(reader: Reader, argv: list[str], stdin: str | None) -> str:
    named = ("--output", "-o", "--out", "-O") if argv[0] in {"pandoc", "iconv", "xmllint", "shuf"} else ()
    runs = _RUN_BY.get(argv[0].rpartition("/")[2], ())
    for program in split(argv[1:], runs).values(*runs) if runs else ():
        reader.text(program)
    if argv[0] == "pandoc" and any(re.search(r"\.lua$|^-d|^--defaults", word) for word in argv[1:]):
        reader.project("pandoc runs the project's own code, which can't be read from here")
    if argv[0] in {"groff", "troff", "nroff"} and split(argv[1:]).has("-U", "--unsafe"):
        reader.project(f"what {argv[0]} sets may run commands")
    for word in argv[1:]:
        path = word.partition("=")[2] if word.startswith("--") else word.lstrip("@")
        if (path and not word.startswith("-")) or word.startswith("--"):
            reader.reads(path)
    found = split(argv[1:], named)
    for path in found.values(*named) if named else ():
        reader.writes(path)
    if argv[0] in {"head", "tail", "tac", "less", "more", "nl", "fold", "fmt"} and len(argv) == 1:
        return stdin or UNKNOWN
    if argv[0] == "uniq" and len(found.words) > 1:
        reader.writes(found.words[1])
    if argv[0] == "sponge":
        for path in found.words:
            reader.writes(path)
    if argv[0] in {"less", "more", "most"} and any(word.startswith("+") and "!" in word for word in argv[1:]):
        reader.unreadable("it runs a command from inside of a pager")
    return UNKNOWN


def _lister(reader: Reader, argv: list[str], stdin: str | None) -> str:
    if argv[0].rpartition("/")[2] in _LISTS:
        for path in split(argv[1:], ("-f", "--file", "--files-from")).values("-f", "--file", "--files-from"):
            reader.reads(path)
    for word in argv[1:]:
        if word.startswith(("~", "/")) and not word.startswith(("/dev", "/proc")):
            reader.reads(word)
    if argv[0] in {"basename", "dirname"} and len(argv) >= 2 and UNKNOWN not in argv[1]:
        front, _, back = argv[1].rstrip("/").rpartition("/")
        return (
            (back.removesuffix(argv[2]) if len(argv) > 2 else back) if argv[0] == "basename" else front or "."
        ) + "\n"
    return ".\n" if argv[0] == "pwd" else UNKNOWN


def _manual(reader: Reader, argv: list[str], stdin: str | None) -> str:
    for program in split(argv[1:], ("-P", "--pager", "-H", "-M", "-S", "-C")).values("-P", "--pager", "-H"):
        reader.text(program)
    for word in argv[1:]:
        if "/" in word and not word.startswith("-"):
            reader.reads(word)
    return UNKNOWN


def _split(reader: Reader, argv: list[str], stdin: str | None) -> str:
    found = split(
        argv[1:], ("-a", "-b", "-C", "-l", "-n", "-t", "--filter", "--additional-suffix", "--bytes", "--lines")
    )
    for program in found.values("--filter"):
        reader.text(program)
    for path in found.words:
        reader.reads(path)
    return UNKNOWN


def _which(reader: Reader, argv: list[str], stdin: str | None) -> str:
    return "\n".join(plain(word) for word in argv[1:] if not word.startswith("-")) + "\n"


_PS_TAKES = {"-o", "-O", "-p", "-C", "-u", "-U", "-g", "-G", "-t", "-s", "-q", "--format", "--pid", "--ppid",
             "--sort", "--user", "--User", "--group", "--Group", "--sid", "--tty", "--quick-pid"}  # fmt: skip


def _ps(reader: Reader, argv: list[str], stdin: str | None) -> str:
    shows, skip = "-E" in argv, False
    for word in argv[1:]:
        if skip or word.startswith("-"):
            skip = not skip and (word in _PS_TAKES or bool(re.fullmatch(r"-[a-zA-Z]*[oOpCuUgGtsq]", word)))
        elif re.fullmatch(r"[a-zA-Z]+", word):
            shows = shows or "e" in word or "E" in word
            skip = word[-1] in "oOpUtk"
    if shows or any("environ" in word for word in argv[1:]):
        reader.find("credentials", "it shows the environment of what runs")
    return UNKNOWN


def _pattern(reader: Reader, argv: list[str], stdin: str | None) -> str:
    found = split(argv[1:], _PATTERN_TAKES)
    paths = list(found.words)
    if not found.has("-e", "-f", "--regexp", "--file") and "--files" not in argv:
        paths = paths[1:]
    name = argv[0].rpartition("/")[2]
    whole = name in {"rg", "ag", "ack", "ack-grep", "ug", "ugrep", "pt", "sift"} or found.has(
        "-r", "-R", "--recursive", "--dereference-recursive", "-d"
    )
    for path in [*paths, *found.values("-f", "--file", "--exclude-from", "--ignore-file")]:
        reader.reads(path, tree=whole)
    if whole and not paths and reader.scope.directory:
        reader.reads(".", tree=True)
    for value in found.values("--include", "-g", "--glob", "--iglob"):
        if not value.startswith("!"):
            reader.reads(value)
    for program in found.values("--pre", "--hostname-bin"):
        reader.run([program, UNKNOWN], "")
    return UNKNOWN


def _tr(reader: Reader, argv: list[str], stdin: str | None) -> str:
    words = [word for word in argv[1:] if not word.startswith("-")]
    given = stdin or UNKNOWN
    if UNKNOWN in given or UNKNOWN in "".join(words):
        return UNKNOWN
    if "-d" in argv and len(words) == 1 and re.fullmatch(r"[^\[\]\\-]+|\\n", words[0]):
        return re.sub(f"[{re.escape(unescape(words[0]))}]", "", given)
    if len(words) == 2 and len(words[0]) == len(words[1]) and not re.search(r"[-\[\\]", "".join(words)):
        return given.translate(str.maketrans(words[0], words[1]))
    return UNKNOWN


def _sort(reader: Reader, argv: list[str], stdin: str | None) -> str:
    found = split(argv[1:], (
        "-k", "-t", "-o", "-S", "-T", "--key", "--output", "--field-separator", "--compress-program", "--files0-from",
        "--parallel", "--buffer-size",
    ))  # fmt: skip
    for path in found.words:
        reader.reads(path)
    for path in found.values("-o", "--output"):
        reader.writes(path)
    for program in found.values("--compress-program"):
        reader.run([program], "")
    return UNKNOWN


def _tee(reader: Reader, argv: list[str], stdin: str | None) -> str:
    found = split(argv[1:])
    for path in found.words:
        reader.writes(path)
        reader.wrote(path, stdin or UNKNOWN)
        if stdin == "" and not found.has("-a", "--append"):
            reader.find("delete", f"it empties {plain(path)}")
    return stdin or UNKNOWN


PROGRAMS: dict[str, Program] = {
    **dict.fromkeys(_LISTERS, _lister),
    **dict.fromkeys(_READERS, _reader),
    **dict.fromkeys(_PATTERNS, _pattern),
    "echo": _echo,
    "cat": _cat,
    "gcat": _cat,
    "base64": _base64,
    "basenc": _base64,
    "xxd": _xxd,
    "rev": _rev,
    "tr": _tr,
    "sort": _sort,
    "tee": _tee,
    "ps": _ps,
    "man": _manual,
    "split": _split,
    **dict.fromkeys(("which", "type", "whence", "where"), _which),
}
