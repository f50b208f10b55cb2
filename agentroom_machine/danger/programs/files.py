"""Programs that remove, move, copy, empty, pack and change files."""

from __future__ import annotations

import re

from agentroom_machine.danger import places
from agentroom_machine.danger.programs import code
from agentroom_machine.danger.programs.arguments import Arguments, asks_for_help, split
from agentroom_machine.danger.programs.table import touches_secrets
from agentroom_machine.danger.reader import Program, Reader
from agentroom_machine.danger.unknown import UNKNOWN, plain, shown

_COPY_TAKES = (
    "-t", "-S", "--target-directory", "--suffix", "-m", "-o", "-g", "--mode", "--owner", "--group", "-Z", "--backup",
)  # fmt: skip


def _remove(reader: Reader, argv: list[str], stdin: str | None) -> str:
    if asks_for_help(argv[1:]):
        return UNKNOWN
    named = [shown(word) for word in argv[1:] if not word.startswith("-")]
    reader.find("delete", f"it deletes {', '.join(named[:3])}" if named else "it deletes files")
    return UNKNOWN


def _places(found: Arguments) -> tuple[list[str], str]:
    """The sources, and where to; a lone word has nowhere to go."""
    target = found.value("-t", "--target-directory")
    if target is not None:
        return found.words, target
    return (found.words[:-1], found.words[-1]) if len(found.words) > 1 else (found.words, "")


def _copy(reader: Reader, argv: list[str], stdin: str | None) -> str:
    found = split(argv[1:], _COPY_TAKES)
    sources, target = _places(found)
    tree = found.has("-r", "-R", "-a", "--recursive", "--archive")
    for source in sources:
        reader.reads(source, tree=tree)
        if plain(source) == "/dev/null" and target:
            reader.find("delete", f"it empties {shown(target)}")
    reader.writes(target)
    _carry(reader, sources, target)
    return UNKNOWN


def _carry(reader: Reader, sources: list[str], target: str) -> None:
    """What is run from a copy is what was copied: a program from elsewhere under another name can be anything."""
    for source in sources:
        if places.outside(source, reader.scope.directory, reader.cwd) or source.startswith(UNKNOWN):
            reader.wrote(target, UNKNOWN)
            reader.wrote(f"{target.rstrip('/')}/{source.rpartition('/')[2]}", UNKNOWN)
        else:
            for text in reader.written(source):
                reader.wrote(target, text)


def _move(reader: Reader, argv: list[str], stdin: str | None) -> str:
    found = split(argv[1:], _COPY_TAKES)
    sources, target = _places(found)
    where = plain(target)
    if where == "/dev/null":
        reader.find("delete", f"it throws {shown(sources[0]) if sources else 'a file'} away")
    elif re.search(r"(^|/)\.?trash(es|-\d+)?(/|$)", where, re.I):
        reader.find("delete", "it moves files into the trash")
    for source in sources:
        reader.reads(source)
        scratch = plain(source).startswith(("/tmp/", "/var/tmp/"))  # noqa: S108
        if places.outside(source, reader.scope.directory, reader.cwd) or (
            target and not scratch and where.startswith(("/tmp", "/var/tmp", "/dev/shm"))  # noqa: S108
        ):
            reader.find("delete", f"it takes {shown(source)} away")
    reader.writes(target)
    _carry(reader, sources, target)
    return UNKNOWN


def _rename(reader: Reader, argv: list[str], stdin: str | None) -> str:
    """Perl's rename takes code, the other one two texts."""
    found = split(argv[1:], ("-e", "-E"))
    codes = list(found.values("-e", "-E"))
    perl = argv[0].rpartition("/")[2] != "rename" or (
        found.words and re.search(r"[\s;$(){}`]|^\w+(\W).*\1|^(unlink|rmdir)$", found.words[0], re.S)
    )
    if not codes and found.words and perl:
        codes = [found.words[0]]
    for text in codes:
        code.judge(reader, code.PERL, text)
    return _move(reader, argv, stdin)


def _writes(reader: Reader, argv: list[str], stdin: str | None) -> str:
    found = split(argv[1:], ("-m", "--mode", "-d", "-t", "-r", "--date", "--reference", "-s"))
    for path in found.words:
        reader.writes(path)
    return UNKNOWN


def _link(reader: Reader, argv: list[str], stdin: str | None) -> str:
    found = split(argv[1:], _COPY_TAKES)
    sources, target = _places(found)
    for source in sources:
        reader.reads(source, tree=True)
    reader.writes(target)
    _carry(reader, sources, target)
    return UNKNOWN


def _mode(reader: Reader, argv: list[str], stdin: str | None) -> str:
    words = split(argv[1:], ("--reference", "--from")).words
    for path in words[1:]:
        reader.writes(path, verb="changes who may use")
    return UNKNOWN


def _truncate(reader: Reader, argv: list[str], stdin: str | None) -> str:
    if asks_for_help(argv[1:]):
        return UNKNOWN
    found = split(argv[1:], ("-s", "--size", "-r", "--reference", "-l"))
    size = found.value("-s", "--size") or ""
    if size.startswith("+"):
        for path in found.words:
            reader.writes(path)
        return UNKNOWN
    reader.find("delete", f"it cuts {', '.join(map(shown, found.words[:3])) or 'a file'} off")
    return UNKNOWN


def _dd(reader: Reader, argv: list[str], stdin: str | None) -> str:
    for word in argv[1:]:
        name, _, value = word.partition("=")
        if name == "if":
            reader.reads(value)
        elif name == "of" and plain(value) not in {"/dev/null", "/dev/stdout"}:
            reader.find("delete", f"it overwrites {shown(value)}")
    return UNKNOWN


def _rsync(reader: Reader, argv: list[str], stdin: str | None) -> str:
    if asks_for_help(argv[1:]):
        return UNKNOWN
    takes = (
        "-e", "--rsh", "-f", "--filter", "--exclude", "--include", "--exclude-from", "--include-from", "--files-from",
        "-T", "--temp-dir", "--backup-dir", "--suffix", "--rsync-path", "--port", "--password-file", "--log-file",
        "-B", "-M", "--bwlimit", "--timeout", "--chmod", "--out-format", "--link-dest", "--compare-dest",
    )  # fmt: skip
    found = split(argv[1:], takes)
    rehearses = found.has("-n", "--dry-run")
    for program in found.values("-e", "--rsh", "--rsync-path"):
        reader.text(program)
    if not rehearses and any(name.startswith(("--del", "--remove")) for name, _ in found.options):
        reader.find("delete", "it deletes what the source does not have")
    return _send(reader, found, rehearses=rehearses)


def _scp(reader: Reader, argv: list[str], stdin: str | None) -> str:
    found = split(argv[1:], ("-c", "-D", "-F", "-i", "-J", "-l", "-o", "-P", "-S", "-X"))
    for path in found.values("-i"):
        reader.reads(path)
    return _send(reader, found, rehearses=False)


def _send(reader: Reader, found: Arguments, *, rehearses: bool) -> str:
    sources, target = _places(found)
    for source in sources:
        reader.reads(source.partition(":")[2] if _remote(source) else source, tree=True)
    if _remote(target):
        if not rehearses:
            reader.find("push", f"it copies files to {shown(target)}")
    else:
        reader.writes(target)
        if any(_remote(source) for source in sources) and not rehearses:
            reader.project("it fetches files from another machine")
    return UNKNOWN


def _remote(path: str) -> bool:
    return bool(re.match(r"(rsync|ssh|sftp|scp)://|[^/:]+::?", path)) and not re.match(r"[A-Za-z]:\\", path)


def _tar(reader: Reader, argv: list[str], stdin: str | None) -> str:
    args = argv[1:]
    if args and re.fullmatch(r"[A-Za-z]+", args[0]):
        args = [f"-{args[0]}", *args[1:]]
    takes = (
        "-f", "-C", "-T", "-X", "-I", "-b", "-K", "-N", "-V", "--file", "--directory", "--files-from", "--exclude",
        "--exclude-from", "--use-compress-program", "--to-command", "--checkpoint-action", "--rsh-command",
        "--rmt-command", "-F", "--info-script", "--new-volume-script", "--transform", "--one-top-level",
    )  # fmt: skip
    found = split(args, takes)
    letters = "".join(name[1:] for name, _ in found.options if not name.startswith("--"))
    creates = bool(set(letters) & set("cru")) or found.has("--create", "--append", "--update")
    for program in found.values("-I", "--use-compress-program", "--to-command", "-F", "--info-script", "--rsh-command",
                                "--new-volume-script", "--rmt-command"):  # fmt: skip
        reader.text(program)
    for action in found.values("--checkpoint-action"):
        if action.startswith("exec="):
            reader.text(action[5:])
    if found.has("--remove-files"):
        reader.find("delete", "it deletes what it has packed")
    if found.has("--delete"):
        reader.find("delete", "it deletes from an archive")
    directory = found.value("-C", "--directory")
    before = reader.scope.directory
    if directory is not None:
        if not creates and "t" not in letters:
            reader.writes(directory)
        reader.scope.directory = places.place(directory, before)
        if creates:
            reader.reads(".", tree=True)
    for word in found.words:
        reader.reads(word, tree=creates)
    reader.scope.directory = before
    archive = found.value("-f", "--file") or ""
    if archive and ":" in archive and "/" not in archive.partition(":")[0]:
        reader.unreadable("it packs to another machine")
    elif archive not in {"", "-"}:
        if creates:
            reader.writes(archive)
        else:
            reader.reads(archive)
    return UNKNOWN


def _pack(reader: Reader, argv: list[str], stdin: str | None) -> str:
    if asks_for_help(argv[1:]):
        return UNKNOWN
    name = argv[0]
    takes = ["-x", "-i", "-o", "-P", "-p", "-TT", "-b", "-D", "--directory", "--unzip-command", "--output-directory"]
    found = split(argv[1:], [*takes, "-d"] if name == "unzip" else takes)
    if name == "zip" and found.has("-m", "-d", "--move", "--delete"):
        reader.find("delete", "it deletes what it packs, or from an archive")
    if name in {"7z", "7za", "7zz", "rar"} and (argv[1:2] == ["d"] or "-sdel" in argv or "-df" in argv):
        reader.find("delete", "it deletes what it packs, or from an archive")
    glued = [word.partition("TT")[2] for word in argv[1:] if re.match(r"-\w*TT.", word)]
    for program in [*found.values("-TT", "--unzip-command"), *glued]:
        reader.text(program)
    if name == "unzip":
        targets = list(found.values("-d"))
    elif name in {"7z", "7za", "7zz"}:
        targets = [word[2:] for word in argv[1:] if word.startswith("-o")]
    elif name in {"rar", "unrar"}:
        targets = [word for word in found.words if word.endswith("/")]
    elif name in {"cpio", "unar"}:
        targets = list(found.values("-D", "--directory", "-o", "--output-directory"))
    else:
        targets = []
    for target in targets:
        reader.writes(target)
    for word in argv[1:]:
        if not word.startswith("-"):
            reader.reads(word, tree=name in {"zip", "7z", "7za", "7zz", "rar"})
    return UNKNOWN


def _sed(reader: Reader, argv: list[str], stdin: str | None) -> str:
    found = split(argv[1:], ("-e", "-f", "-l", "--expression", "--file", "--line-length"))
    scripts = list(found.values("-e", "--expression"))
    paths = list(found.words)
    for file in found.values("-f", "--file"):
        reader.project(f"{shown(file)} is a script that can't be read from here")
        reader.reads(file)
    if not scripts and not found.has("-f", "--file") and paths:
        scripts, paths = [paths[0]], paths[1:]
    in_place = any(name.startswith(("-i", "--in-place")) or name == "-i" for name, _ in found.options)
    for script in scripts:
        _sed_script(reader, script)
    for path in paths:
        if in_place:
            reader.writes(path)
            if any(re.fullmatch(r"\s*(1,\$)?d\s*", script) for script in scripts):
                reader.find("delete", f"it empties {shown(path)}")
        else:
            reader.reads(path)
    return UNKNOWN


def _sed_script(reader: Reader, script: str) -> None:
    if UNKNOWN in script:
        reader.project("a script of sed is only known when it runs")
    text = plain(script)
    for found in re.finditer(r"(?:^|[;\n{}])\s*(?:[\d$,~+!\s]|/(?:\\.|[^/])*/)*e\s+([^\n]+)", text):
        reader.text(found[1])
    if re.search(r"(?:^|[;\n{}])\s*(?:[\d$,~+!]|/(?:\\.|[^/])*/)*e\s*(?:$|[;\n}])", text):
        reader.unreadable("sed runs its input as commands")
    for found in re.finditer(
        r"s(?P<d>[^\w\s\\])(?:\\.|(?!(?P=d)).)*(?P=d)(?P<by>(?:\\.|(?!(?P=d)).)*)(?P=d)(?P<flags>[\w]*)", text
    ):
        if "e" in found["flags"]:
            reader.text(re.sub(r"\\(.)|&", r"\1", found["by"]))
            reader.unreadable("sed runs its input as commands")
    for found in re.finditer(r"(?:^|[;\n{}/\d$])\s*[wrR]\s+([^\n;}]+)|/[a-zA-Z0-9]*w\s+([^\n;}]+)", text):
        path = (found[1] or found[2]).strip()
        reader.writes(path)


def _patch(reader: Reader, argv: list[str], stdin: str | None) -> str:
    touches_secrets(reader, argv[1:])
    return UNKNOWN


PROGRAMS: dict[str, Program] = {
    **dict.fromkeys(("rm", "grm", "rmdir", "grmdir", "unlink", "gunlink", "shred", "gshred"), _remove),
    **dict.fromkeys(("cp", "gcp", "copy", "xcp", "ditto"), _copy),
    "install": _copy,
    **dict.fromkeys(("mv", "gmv", "move", "mmv"), _move),
    **dict.fromkeys(("rename", "prename", "perl-rename", "file-rename"), _rename),
    **dict.fromkeys(("touch", "mkdir", "mkfifo", "gtouch", "fallocate", "mknod"), _writes),
    **dict.fromkeys(("ln", "gln", "link"), _link),
    **dict.fromkeys((
        "chmod", "chown", "chgrp", "gchmod", "gchown", "chattr", "setfacl", "chflags", "xattr", "chcon",
    ), _mode),
    **dict.fromkeys(("truncate", "gtruncate"), _truncate),
    **dict.fromkeys(("dd", "gdd", "dcfldd", "ddrescue"), _dd),
    "rsync": _rsync,
    "scp": _scp,
    **dict.fromkeys(("tar", "gtar", "bsdtar", "star"), _tar),
    **dict.fromkeys(
        ("zip", "unzip", "gzip", "gunzip", "pigz", "bzip2", "bunzip2", "xz", "unxz", "lzma", "zstd", "unzstd", "lz4",
         "brotli", "7z", "7za", "7zz", "rar", "unrar", "cpio", "pax", "ar", "zipinfo", "unar", "lsar", "compress"),
        _pack,
    ),
    **dict.fromkeys(("sed", "gsed"), _sed),
    **dict.fromkeys(("patch", "filterdiff", "diffstat", "interdiff"), _patch),
}  # fmt: skip
