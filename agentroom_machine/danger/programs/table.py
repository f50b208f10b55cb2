"""Programs of which the first few words say what they do: read from the lists in ``lists/``."""

from __future__ import annotations

import fnmatch
import re
import tomllib
from functools import lru_cache
from importlib import resources
from typing import Annotated, Literal, get_args

from pydantic import BaseModel, BeforeValidator, ConfigDict

from agentroom_machine.danger.programs.arguments import asks_for_help
from agentroom_machine.danger.reader import Program, Reader
from agentroom_machine.danger.reading import Kind
from agentroom_machine.danger.unknown import UNKNOWN, plain, shown


def _lines(value: object) -> object:
    """A block of text is a list of its lines."""
    return [line.strip() for line in value.strip().splitlines()] if isinstance(value, str) else value


type Patterns = Annotated[tuple[str, ...], BeforeValidator(_lines)]
type Rest = Literal["harmless", "project", "push", "delete", "spend", "credentials", "unreadable"]

_KINDS: tuple[Kind, ...] = get_args(Kind.__value__)


class Entry(BaseModel):
    """What one program, or several of the same manners, does for which words.

    A pattern's tokens: a word or ``a|b`` must come next among the words, ``**`` lets the next token come anywhere
    after, ``--option`` must be there somewhere. ``harmless`` and ``project`` count only where no danger does;
    ``rehearse`` counts before everything: then nothing of it happens, but the project's own code may run.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    also: tuple[str, ...] = ()
    rehearse: Patterns = ()
    credentials: Patterns = ()
    delete: Patterns = ()
    push: Patterns = ()
    spend: Patterns = ()
    unreadable: Patterns = ()
    harmless: Patterns = ()
    project: Patterns = ()
    otherwise: Rest = "unreadable"
    groups: tuple[str, ...] = ()
    """Words that say what it is about where elsewhere they say what to do: ``gcloud run``."""
    files_first: bool = False
    """Whether the first word is no command but a file: then it may be anything."""
    text_after: tuple[str, ...] = ()
    """Options whose value is text, in which no path of a secret is looked for."""


_DOES = re.compile(
    r"(create|new|add|run|deploy|apply|update|set|start|launch|scale|resize|buy|purchase|register|up|put|post|insert|import"
    r"|submit|invoke|call|send|publish|push|upload|restart|restore|attach|promote|enable|patch|edit|charge|confirm|capture"
    r"|pay|order|transfer|provision|install|upgrade|rollback)(-.*|:.*)?$"
)
_PASSWORD = re.compile(r"://[^/@\s:]+:[^/@\s]+@")
_WANT = {
    "-n", "--namespace", "--context", "--profile", "--region", "--project", "--zone", "--kubeconfig", "--cluster",
    "-C", "-chdir", "--subscription", "-g", "--resource-group", "-a", "--app", "--org", "--team", "--config", "-c",
    "--filter", "--format", "--output", "-o", "--account", "-R", "--repo", "--user", "--server", "-s", "--verbosity",
    "--configuration", "--billing-project", "--impersonate-service-account", "-H", "--host", "-f", "--file", "-p",
    "--project-name", "--cwd", "--prefix", "-w", "--workspace", "-l", "--selector", "--log-level",
    "--registry", "-t", "--tls",
}  # fmt: skip


@lru_cache(maxsize=1)
def entries() -> dict[str, Entry]:
    found: dict[str, Entry] = {}
    for file in sorted(resources.files(__package__).joinpath("lists").iterdir(), key=lambda one: one.name):
        if file.name.endswith(".toml"):
            for name, content in tomllib.loads(file.read_text()).items():
                entry = Entry.model_validate(content)
                for one in (name, *entry.also):
                    assert one not in found, f"{one} is listed twice"
                    found[one] = entry
    return found


def program(name: str) -> Program | None:
    entry = entries().get(name)
    return None if entry is None else lambda reader, argv, stdin: judge(reader, name, entry, argv[1:])


def judge(reader: Reader, name: str, entry: Entry, args: list[str]) -> str:
    """Reads one call of a listed program."""
    if asks_for_help(args):
        return UNKNOWN
    sights = list(_sights([plain(arg) for arg in args]))
    if any(match(pattern, words, options, clusters=False) for pattern in entry.rehearse for words, options in sights):
        if entry.otherwise == "project" and "**" not in entry.harmless:
            reader.project(f"{name} rehearses with the project's own code, which can't be read from here")
        return UNKNOWN
    found = False
    for kind in ("credentials", "delete", "push", "spend", "unreadable"):
        pattern = _any(getattr(entry, kind), sights)
        if pattern:
            found = True
            reader.find(kind, _why(name, kind, args))
    touches_secrets(reader, args, text_after=entry.text_after)
    if not found and not entry.files_first and any(UNKNOWN in word for words, _ in sights for word in words[:1]):
        reader.unreadable(f"what {name} does is only known when it runs")
    if found or _is_harmless(entry, args, sights):
        return UNKNOWN
    rest: Rest = "project" if _any(entry.project, sights) else entry.otherwise
    if rest in {"project", "harmless"} and args and args[0] == UNKNOWN and not entry.files_first:
        rest = "unreadable"
    if rest == "project":
        reader.project(f"{name} runs the project's own code, which can't be read from here")
    elif rest != "harmless":
        reader.find(rest, _why(name, rest, args))
    return UNKNOWN


def _is_harmless(entry: Entry, args: list[str], sights: list[Sight]) -> bool:
    """Whether a harmless word says what the call does, not one that merely stands there: ``create list``."""
    words = _words([plain(arg) for arg in args])
    options = sights[0][1]
    said = {word for sight, _ in [*sights, (words, options)] for word in sight}
    does = any(_DOES.match(word) for word in said - set(entry.groups))
    patterns = [one for one in entry.harmless if one == "**" or not one.startswith("** ") or not does]
    return any(match(pattern, words, options, clusters=False) for pattern in patterns)


def _words(args: list[str]) -> list[str]:
    """The words without the values of options that want one everywhere."""
    found: list[str] = []
    skip = False
    for arg in args:
        if skip:
            skip = False
        elif arg.startswith("-"):
            skip = arg in _WANT
        else:
            found.append(arg.casefold())
    return found


def _why(name: str, kind: Kind, args: list[str]) -> str:
    words = " ".join([name, *[shown(arg) for arg in args if not arg.startswith("-")][:3]])
    return {
        "push": f"{words} publishes or changes what others share",
        "delete": f"{words} deletes",
        "spend": f"{words} may cost money",
        "credentials": f"{words} handles credentials",
        "unreadable": f"what {words} does can't be told from here",
    }[kind]


def touches_secrets(reader: Reader, args: list[str], *, text_after: tuple[str, ...] = ()) -> bool:
    """Notes every argument that names a secret file: alone, after ``=``, ``@`` or before ``:``."""
    found = False
    for position, arg in enumerate(args):
        if position and args[position - 1] in text_after:
            continue
        found = any(reader.reads(piece) for piece in pieces(arg)) or found
        if _PASSWORD.search(arg) and not re.search(r"@(localhost|127\.0\.0\.1|\[::1\])[:/]", arg):
            reader.find("credentials", "an address in it holds a password")
    return found


def pieces(arg: str) -> list[str]:
    """The paths that an argument may hold."""
    found = [arg]
    if arg.startswith("-") and not arg.startswith("--") and len(arg) > 2:
        found.append(arg[2:])
    found += re.split(r"[=@,;]|:(?!//)", arg)[1:] + re.split(r"[=@,;]|:(?!//)", arg)[:1]
    return list(dict.fromkeys(piece for piece in found if piece and not piece.startswith("-")))


# Matching.

type Sight = tuple[list[str], list[str]]
"""One way to see arguments: the words, and the options."""


def _sights(args: list[str]) -> list[Sight]:
    """With every option taken as a flag, and with every option taken to want the next word."""
    options = [arg for arg in args if arg.startswith("-")]
    flags = [arg.casefold() for arg in args if not arg.startswith("-")]
    wanting: list[str] = []
    skip = False
    for arg in args:
        if arg.startswith("-"):
            skip = "=" not in arg and arg != "--"
        elif skip:
            skip = False
        else:
            wanting.append(arg.casefold())
    return [(flags, options)] if wanting == flags else [(flags, options), (wanting, options)]


def _any(patterns: tuple[str, ...], sights: list[Sight]) -> str | None:
    for pattern in patterns:
        if any(match(pattern, words, options) for words, options in sights):
            return pattern
    return None


def match(pattern: str, words: list[str], options: list[str], *, clusters: bool = True) -> bool:
    """Whether a pattern fits; ``clusters`` lets ``-x`` be in ``-axf``, which what takes a pause away must not."""
    at, anywhere = 0, False
    for token in pattern.split():
        choices = token.split("|")
        if any(
            _option(choice, option, clusters=clusters)
            for choice in choices
            if choice.startswith("-")
            for option in options
        ):
            continue
        if token.startswith("-"):
            return False
        if token == "**":  # noqa: S105 - a pattern's
            anywhere = True
        else:
            places = range(at, len(words)) if anywhere else range(at, min(at + 1, len(words)))
            found = next((p for p in places if any(fnmatch.fnmatchcase(words[p], one) for one in choices)), None)
            if found is None:
                return False
            at, anywhere = found + 1, False
    return True


def _option(wanted: str, option: str, *, clusters: bool) -> bool:
    name = option.partition("=")[0]
    if fnmatch.fnmatchcase(name, wanted) or fnmatch.fnmatchcase(option, wanted):
        return True
    return clusters and len(wanted) == 2 and not option.startswith("--") and wanted[1] in option[1:]
