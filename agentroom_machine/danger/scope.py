"""What a command has said so far about names: variables, functions, aliases, and where it stands."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from agentroom_machine.danger.syntax import Command
from agentroom_machine.danger.unknown import UNKNOWN

MAX_VALUES = 12
_SECRET = re.compile(
    r"secret|token(?!iz)|passw|passphrase|credential|api_?key|access_?key|private_?key|_key(_id)?$|^key$|_pat$|_pwd$"
    r"|auth(?!or)|_dsn$|^dsn$|database_url|db_url|redis_url|mongo\w*_ur[li]|connection_?string|webhook_url|^netrc",
    re.I,
)
_NOT_SECRET = {"SSH_AUTH_SOCK", "XAUTHORITY"}


def secret_name(name: str) -> bool:
    """Whether an environment variable of this name likely holds a credential."""
    return bool(_SECRET.search(name)) and name.upper() not in _NOT_SECRET


@dataclass
class Scope:
    """Names collect every value that they may ever have, so that branches and loops need not be followed."""

    variables: dict[str, list[str]] = field(default_factory=dict)
    arrays: dict[str, list[str]] = field(default_factory=dict)
    functions: dict[str, list[Command]] = field(default_factory=dict)
    aliases: dict[str, list[str]] = field(default_factory=dict)
    git_aliases: dict[str, list[str]] = field(default_factory=dict)
    written: dict[str, list[str]] = field(default_factory=dict)
    """What this command itself writes into files, by their place."""
    directory: str = ""
    positional: list[str] | None = None
    zero: str = "bash"
    shifted: bool = False

    def assign(self, name: str, value: str) -> None:
        """Adds a value; past the first MAX_VALUES a name may be anything."""
        values = self.variables.setdefault(name, [])
        if value in values:
            return
        if len(values) < MAX_VALUES:
            values.append(value)
        elif values[-1] != UNKNOWN:
            values.append(UNKNOWN)

    def values(self, name: str) -> list[str] | None:
        found = self.variables.get(name)
        return None if found is None else list(dict.fromkeys(found))

    def size(self) -> tuple[int, ...]:
        """Grows when anything new was learned."""
        return (
            sum(len(values) for values in self.variables.values()),
            sum(len(values) for values in self.arrays.values()),
            sum(len(bodies) for bodies in self.functions.values()),
            sum(len(values) for values in self.aliases.values()),
            sum(len(values) for values in self.git_aliases.values()),
            sum(len(values) for values in self.written.values()),
            int(self.shifted),
        )
