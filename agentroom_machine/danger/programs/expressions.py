"""Programs that take expressions of a small language, in which commands, files and the environment can be named."""

from __future__ import annotations

import re

from agentroom_machine.danger.programs import code, python_code, table
from agentroom_machine.danger.programs.arguments import asks_for_help, split
from agentroom_machine.danger.programs.shells import opened
from agentroom_machine.danger.reader import Program, Reader
from agentroom_machine.danger.scope import secret_name
from agentroom_machine.danger.unknown import UNKNOWN, plain, shown

_ENVIRONMENT = "it shows the environment, where secrets are kept"


def _commands(reader: Reader, name: str, text: str, pattern: str) -> None:
    """Follows what a pattern finds in an expression as commands."""
    for call in re.finditer(pattern, plain(text)):
        reader.text(next((group for group in call.groups() if group), "").strip())
        reader.unreadable(f"{shown(name)} runs a command")


def _dc(reader: Reader, argv: list[str], stdin: str | None) -> str:
    found = split(argv[1:], ("-e", "--expression", "-f", "--file"))
    texts = [*found.values("-e", "--expression"), stdin or ""]
    texts += [reader.content(path) for path in [*found.values("-f", "--file"), *found.words]]
    for text in texts:
        _commands(reader, "dc", re.sub(r"\[[^\[\]!]*\]", "", text), r"!(?![<>=])\s*([^\n]+)")
    return UNKNOWN


def _miller(reader: Reader, argv: list[str], stdin: str | None) -> str:
    if asks_for_help(argv[1:]):
        return UNKNOWN
    found = split(argv[1:], ("--prepipe", "--prepipex", "--from"))
    for program in found.values("--prepipe", "--prepipex"):
        reader.text(program)
    for position, word in enumerate(argv[1:], start=1):
        if argv[position - 1] in {"-f", "-s", "--load", "--mload"}:
            reader.project(f"{shown(word)} is a script that can't be read from here")
        text = plain(word)
        if re.search(r"\b(system|exec)\s*\(|\|\s*\"|\b(put|filter|tee)\s+-\w*f", text):
            _commands(reader, "mlr", text, r"system\s*\(\s*\"([^\"]*)\"|\|\s*\"([^\"]*)\"")
            reader.unreadable("mlr runs a command")
        if re.search(r"\bENV\b(?!\s*\[\s*\")", text) or any(
            secret_name(name) for name in re.findall(r"\bENV\s*\[\s*\"(\w+)\"", text)
        ):
            reader.find("credentials", _ENVIRONMENT)
        for target in re.findall(r">>?\s*\"([^\"]+)\"", text):
            reader.writes(target)
        if not word.startswith("-"):
            reader.reads(word)
    return UNKNOWN


def _radare(reader: Reader, argv: list[str], stdin: str | None) -> str:
    found = split(argv[1:], ("-c", "-C", "-i", "-I", "-a", "-b", "-B", "-e", "-k", "-m", "-p", "-P", "-r", "-R", "-s"))
    for text in [*found.values("-c", "-C"), stdin or ""]:
        _commands(reader, "r2", text, r"!+\s*([^;\n]+)")
        if re.search(r"(?:^|[;\n])\s*(\.|#!|rm\b|mv\b|w\w*\s|oo\+|o\+|env\b|%)", plain(text)):
            reader.unreadable("r2 is told what can't be read")
    for path in found.values("-i", "-I", "-p", "-r", "-R"):
        reader.project(f"{shown(path)} is a script that can't be read from here")
    for path in found.words:
        reader.reads(path)
    return UNKNOWN


def _sox(reader: Reader, argv: list[str], stdin: str | None) -> str:
    for word in argv[1:]:
        if word.startswith("|"):
            reader.text(word[1:])
        elif not word.startswith("-"):
            reader.reads(word)
    for path in split(argv[1:]).words[1:2]:
        if "." in path:
            reader.writes(path)
    return UNKNOWN


# What filters of data see of the environment.

_JQ_TAKES = {"--arg": 2, "--argjson": 2, "--slurpfile": 2, "--rawfile": 2, "--argfile": 2, "-f": 1, "--from-file": 1,
             "-L": 1, "--indent": 1, "-o": 1, "--output-format": 1, "-p": 1, "--input-format": 1, "-I": 1,
             "--expression": 1, "--from": 1}  # fmt: skip


def _jq(reader: Reader, argv: list[str], stdin: str | None) -> str:
    words: list[str] = []
    programs: list[str] = []
    position = 1
    while position < len(argv):
        word = argv[position]
        values = argv[position + 1 : position + 1 + _JQ_TAKES.get(word, 0)]
        position += 1 + len(values)
        if word in {"-f", "--from-file"} and values:
            reader.reads(values[0])
            text = "\n".join(reader.written(values[0])) or opened(reader, values[0])
            programs.append(text or "")
            if text is None:
                reader.project(f"{shown(values[0])} is a script that can't be read from here")
        elif word == "--expression":
            programs += values
        elif values:
            reader.reads(values[-1])
        elif word.startswith("--") and "=" in word:
            reader.reads(word.partition("=")[2])
        elif not word.startswith("-"):
            words.append(word)
    if not programs and words:
        # yq takes "eval" before it, and a file alone.
        at = 1 if words[0] in {"eval", "e", "eval-all", "ea"} and len(words) > 1 else 0
        programs = [words[at]]
        if ".env" in words[at] and (len(words) > 1 or argv[0].rpartition("/")[2] in {"jq", "gojq", "jaq"}):
            # A key of that name, and no file.
            del words[at]
    for program in programs:
        _filter(reader, program)
    for word in words:
        reader.reads(word)
    return UNKNOWN


def _filter(reader: Reader, program: str) -> None:
    text = plain(program)
    bare = re.sub(r'"(?:[^"\\]|\\[^(])*"', '""', re.sub(r"#[^\n]*", "", text))
    asked = re.findall(r"\$?\b(?:ENV|env|strenv)\s*(?:\.\s*|\[\s*\"|\(\s*)(\w+)", text)
    if re.search(r"\$ENV\b(?!\s*(\.\s*\w|\[\s*\"))", text) or re.search(r"(?<![.\w$\"])env\b(?!\s*[:(.\w])", bare):
        reader.find("credentials", _ENVIRONMENT)
    if "envsubst" in text:
        asked += re.findall(r"\$\{?(\w+)", text) or [UNKNOWN]
    if any(secret_name(name) for name in asked if name != UNKNOWN):
        reader.find("credentials", "it shows a secret from the environment")
    elif UNKNOWN in asked:
        reader.project("what it takes from the environment can't be told")
    for path in re.findall(r"\bload\w*\(\s*\"([^\"]+)\"", text):
        reader.reads(path)


def _envsubst(reader: Reader, argv: list[str], stdin: str | None) -> str:
    words = split(argv[1:]).words
    text = plain(words[0]) if words else stdin
    if asks_for_help(argv[1:]):
        return UNKNOWN
    if text is None or UNKNOWN in text:
        reader.project("what it takes from the environment can't be told")
    elif any(secret_name(name) for name in re.findall(r"\$\{?(\w+)", text)):
        reader.find("credentials", "it shows a secret from the environment")
    return UNKNOWN


# Tools for pictures and documents that run code.


def _exiftool(reader: Reader, argv: list[str], stdin: str | None) -> str:
    for position, word in enumerate(argv[1:], start=1):
        value = argv[position + 1] if position + 1 < len(argv) else ""
        option = plain(word).casefold()
        if re.fullmatch(r"-if\d*", option):
            code.judge(reader, code.PERL, value)
        elif option in {"-config", "-@", "-api", "-userparam"}:
            reader.reads(value)
            if option != "-api":
                reader.project(f"{shown(value)} is a script that can't be read from here")
        elif option.startswith("-delete_original"):
            reader.find("delete", "it deletes the originals that it kept")
        if "${" in word and ";" in word:
            code.judge(reader, code.PERL, word.partition(";")[2])
        if not word.startswith("-"):
            reader.reads(word)
    return UNKNOWN


def _ghostscript(reader: Reader, argv: list[str], stdin: str | None) -> str:
    if asks_for_help(argv[1:]):
        return UNKNOWN
    open_ = any(re.match(r"-d(NOSAFER|DELAYSAFER)|--permit-", word) for word in argv[1:])
    if open_:
        reader.project("what it draws may change any file")
    codes = [argv[at + 1] for at, word in enumerate(argv[:-1]) if word == "-c"]
    for text in [*codes, stdin if stdin not in (None, UNKNOWN) else ""]:
        said = plain(text or "")
        if re.search(r"\b(deletefile|renamefile)\b", said):
            reader.find("delete", "PostScript deletes or moves a file")
        _commands(reader, "gs", said, r"%pipe%([^)]*)")
        if re.search(r"\b(run|file|getenv|cvx|exec|token|load|cvn)\b", said):
            reader.unreadable("PostScript opens or computes what can't be read")
    for at, word in enumerate(argv[1:], start=1):
        target = re.match(r"(?:-sOutputFile=|-o)(.*)", word, re.S)
        if target:
            path = target[1] or (argv[at + 1] if at + 1 < len(argv) else "")
            if path.startswith(("|", "%pipe%")):
                reader.text(path.removeprefix("%pipe%").lstrip("|"))
            else:
                reader.writes(path)
        elif not word.startswith("-") and argv[at - 1] != "-c":
            reader.reads(word)
    return UNKNOWN


def _pylint(reader: Reader, argv: list[str], stdin: str | None) -> str:
    for text in split(argv[1:], ("--init-hook",)).values("--init-hook"):
        python_code.judge(reader, text)
    return table.judge(reader, "pylint", table.entries()["pylint"], argv[1:])


def _gnuplot(reader: Reader, argv: list[str], stdin: str | None) -> str:
    if asks_for_help(argv[1:]):
        return UNKNOWN
    found = split(argv[1:], ("-e", "-c"))
    for text in [*found.values("-e"), stdin if stdin not in (None, UNKNOWN) else ""]:
        _commands(reader, "gnuplot", text or "", (
            r"(?:^|[;\n])\s*!\s*([^\n]+)|\bsystem\s*\(?\s*['\"]([^'\"]*)|`([^`]+)`|['\"]\s*[<|]\s*([^'\"]+)"
        ))  # fmt: skip
        if re.search(r"\b(system|evaluate|eval)\b", plain(text or "")):
            reader.unreadable("gnuplot runs a command")
    for path in found.words:
        reader.reads(path)
    reader.project("gnuplot runs the project's own code, which can't be read from here")
    return UNKNOWN


def _m4(reader: Reader, argv: list[str], stdin: str | None) -> str:
    if asks_for_help(argv[1:]):
        return UNKNOWN
    found = split(argv[1:], ("-D", "--define", "-I", "--include", "-U", "-F", "-R", "-t"))
    texts = [*found.values("-D", "--define"), stdin or ""]
    for path in found.words:
        reader.reads(path)
        texts += [*reader.written(path), opened(reader, path) or ""]
    for text in texts:
        _commands(reader, "m4", text, r"e?syscmd\s*\(\s*[`'\"]*([^)'`\"]*)")
        if "syscmd" in text:
            reader.unreadable("m4 runs a command")
    reader.project("m4 runs the project's own code, which can't be read from here")
    return UNKNOWN


PROGRAMS: dict[str, Program] = {
    "dc": _dc,
    **dict.fromkeys(("mlr", "miller"), _miller),
    **dict.fromkeys(("r2", "radare2", "rizin"), _radare),
    **dict.fromkeys(("sox", "soxi", "play", "rec"), _sox),
    **dict.fromkeys(("jq", "gojq", "jaq", "yq", "tomlq", "xq"), _jq),
    "envsubst": _envsubst,
    "exiftool": _exiftool,
    "gs": _ghostscript,
    "pylint": _pylint,
    "gnuplot": _gnuplot,
    **dict.fromkeys(("m4", "gm4"), _m4),
}  # fmt: skip
