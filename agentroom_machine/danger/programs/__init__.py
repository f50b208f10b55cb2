"""The programs that are known, and what is made of those that are not."""

from __future__ import annotations

import re
from functools import lru_cache

from agentroom_machine.danger.programs import (
    aws,
    builtins,
    code,
    databases,
    expressions,
    files,
    find,
    git,
    github,
    runners,
    shells,
    table,
    text,
    web,
    wrappers,
)
from agentroom_machine.danger.programs.stranger import judge as stranger
from agentroom_machine.danger.reader import Program
from agentroom_machine.danger.unknown import plain

_MODULES = (expressions, text, files, find, builtins, wrappers, shells, git, github, aws, web, databases, code, runners)
_VERSIONED = re.compile(
    r"(python|pypy|pip|node|ruby|perl|php|lua|gcc|g\+\+|clang|clang\+\+|java|vim|emacs|psql|bash|gpg|tsc)-?[\d.]+(-config)?[tm]?"
)


_OWN = {"manage.py", "gradlew", "mvnw", "artisan", "rails", "console"}


@lru_cache(maxsize=1)
def _known() -> dict[str, Program]:
    found: dict[str, Program] = {}
    for module in _MODULES:
        for name, program in module.PROGRAMS.items():
            found.setdefault(name, program)
    return found


def find_program(name: str, *, unless: bool) -> Program | None:
    """The program of that name, as it is written in a command: a path, in any case, with a version or an ending."""
    written = plain(name)
    short = written.rpartition("/")[2].removeprefix("=").casefold()
    for ending in (".exe", ".cmd", ".bat", ".ps1"):
        short = short.removesuffix(ending)
    versioned = _VERSIONED.fullmatch(short)
    if versioned:
        short = versioned[1]
    if written.startswith(("./", "../")) and not written.endswith((f"/bin/{short}", f"/.bin/{short}")):
        # A file of the project's own, whatever it calls itself: its words are judged, and its text where it is one.
        return table.program(short) if short in _OWN else stranger
    found = _known().get(short) or runners.carrier(short) or table.program(short)
    if found is not None:
        return found
    return None if unless else stranger
