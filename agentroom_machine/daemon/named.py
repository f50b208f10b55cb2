"""Which words of a command name files: for the few programs whose words say all that they do."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

_Kind = Literal["text", "file", "plain", "data", "encoded", "form", "pair", "url", "nowhere"]
"""What a word is, to be read by ``_named``."""


@dataclass(frozen=True)
class _Options:
    """What is understood of a program's words. Any other option may name a file, or do more, and keeps it inside."""

    bare: str
    valued: Mapping[_Kind, str] = field(default_factory=dict)
    operand: _Kind = "file"
    sought: bool = False
    """Its first operand is no file, but what to look for."""

    def kind(self, option: str) -> _Kind | None:
        """What the value of this option is."""
        return next((kind for kind, names in self.valued.items() if option in names.split()), None)


_DIGITS = " ".join(f"-{digit}" for digit in range(10))
_READERS = {
    "cat": _Options("-A -b -E -e -n -s -T -t -u -v"),
    "head": _Options(f"-q -v {_DIGITS}", {"text": "-n -c"}),
    "tail": _Options(f"-q -v {_DIGITS}", {"text": "-n -c"}),
    "wc": _Options("-c -l -L -m -w"),
    "diff": _Options("-B -b -c -i -q -s -u -w -y", {"text": "-U -C"}),
    "sha256sum": _Options("-b -t"),
    "md5sum": _Options("-b -t"),
    "base64": _Options("-D -d --decode", {"text": "-w"}),
    "grep": _Options(
        f"-E -F -G -P -a -c -h -H -i -l -L -n -o -q -s -v -w -x --color=never {_DIGITS}",
        {"text": "-A -B -C -m"},
        sought=True,
    ),
    "jq": _Options("-a -c -C -e -M -n -R -r -j -s -S", sought=True),
    "curl": _Options(
        "-4 -6 -f -G -g -I -i -k -L -N -n -S -s -v --compressed --fail --fail-with-body --get --globoff --head "
        "--http1.1 --http2 --include --insecure --ipv4 --ipv6 --location --netrc --no-buffer --show-error --silent "
        "--verbose",
        {
            "text": "-A --user-agent -e --referer -m --max-time --connect-timeout --retry --retry-delay -r --range "
            "-u --user --oauth2-bearer -X --request --data-raw --form-string",
            "plain": "-H --header",
            "data": "-d --data --data-ascii --data-binary --json",
            "encoded": "--data-urlencode",
            "form": "-F --form",
            "file": "-T --upload-file",
            "pair": "-b --cookie",
            "url": "--url",
            "nowhere": "-o --output",
        },
        operand="url",
    ),
}  # fmt: skip
_SERVICES = {"aws", "doctl", "hcloud", "stripe"}
"""Any option of theirs may name a file: they get none."""
PROGRAMS = {*_READERS, *_SERVICES}
"""Programs whose words say all that they do. None runs what the project names: ``gh`` runs git by the repository's own
settings, ``kubectl`` and ``ssh-keygen`` load what a file or an option says, ``op`` starts other programs."""
_NO_FILE = {"-", "/dev/null"}


class Unclear(Exception):
    """It can't be said for sure which files this command would touch."""


def names(words: list[str], cwd: Path) -> list[str]:
    """For each word after the program its end that names a file, or nothing; raises Unclear."""
    if words[0] in _SERVICES:
        _none(words[1:], cwd)
        return []
    return _names(words[1:], _READERS[words[0]])


def _names(words: list[str], options: _Options) -> list[str]:
    found: list[str] = []
    due: _Kind | None = None
    sought = options.sought
    for word in words:
        name = ""
        if due:
            name, due = _named(due, word), None
        elif word.startswith("-") and word not in {"-", *options.bare.split()}:
            name, due = _option(word, options)
        elif not word.startswith("-") or word == "-":
            name = "" if sought else _named(options.operand, word)
            sought = False
        found.append(name)
    if due:
        raise Unclear
    return found


def _option(word: str, options: _Options) -> tuple[str, _Kind | None]:
    """The file that an option's own value names, and what the next word is if that is its value."""
    if word.startswith("--"):
        if not (kind := options.kind(word)):
            raise Unclear
        return "", kind
    for at, letter in enumerate(word[1:], start=2):
        if kind := options.kind(f"-{letter}"):
            return (_named(kind, word[at:]), None) if word[at:] else ("", kind)
        if f"-{letter}" not in options.bare.split():
            break
    else:
        return "", None
    raise Unclear


def _named(kind: _Kind, value: str) -> str:
    """The end of a value that names a file; nothing where it names none."""
    name: str | None = None
    fits = True
    match kind:
        case "file":
            name = value
        case "data" if value.startswith("@"):
            name = value[1:]
        case "encoded" if "@" in value and "=" not in value:
            name = value.partition("@")[2]
        case "form" if (content := value.partition("=")[2]).startswith("@"):
            name = content[1:]
            fits = not set(name) & set(",\"'")  # neither several files nor a name in quotes
        case "plain":
            fits = not value.startswith("@")
        case "pair":
            fits = "=" in value
        case "url":
            fits = not re.match(r"@|file:", value, re.IGNORECASE)
        case "nowhere":
            fits = value == "/dev/null"
    if name == "" or not fits:
        raise Unclear
    return "" if name is None or name in _NO_FILE else name


def _none(words: list[str], cwd: Path) -> None:
    """Raises where a word, or a part of it, could be the path of something."""
    for word in words:
        plain = re.sub(r"\b[A-Za-z][\w+.-]*://", "", word)
        for part in {plain, *re.split(r"[=,:@'\"\s]", plain), *re.findall(r"^-[A-Za-z](.*)", plain)} - {""}:
            top = next((name for name in part.split("/") if name), "")
            if ".." in part.split("/") or os.path.lexists(Path("/", top) if part.startswith("/") else cwd / part):
                raise Unclear
