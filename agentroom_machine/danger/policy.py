"""The owner's own words about one agent: they can add pauses and name what is theirs alone, and take no pause away."""

from __future__ import annotations

import fnmatch
import tomllib
from pathlib import Path
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, StringConstraints

type Pattern = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=500)]


class Policy(BaseModel):
    """Kept in a TOML file on the owner's machine, one per agent; an unknown key is an error, not a wish unheard."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    ask: tuple[Pattern, ...] = ()
    """Commands that pause too: ``make deploy``, ``ansible *``; matched against the words of each command."""
    private_branches: tuple[Pattern, ...] = ()
    """Branches that are nobody else's. A push to one still pauses; the question says that it is private."""
    hosts: tuple[Pattern, ...] = ()
    """Hosts to which a request that changes something is fine, if it neither deletes nor spends nor carries secrets."""
    mcp_servers: tuple[Pattern, ...] = ()
    """MCP servers whose tools are fine where they declare that they only read."""
    secrets: tuple[Pattern, ...] = Field(default=())
    """More names of files that hold secrets."""

    def asks(self, words: str) -> bool:
        return any(fnmatch.fnmatchcase(words, one) or words.startswith(f"{one} ") for one in self.ask)

    def host_is_fine(self, host: str) -> bool:
        return any(fnmatch.fnmatchcase(host.casefold(), one.casefold()) for one in self.hosts)

    def server_is_fine(self, server: str) -> bool:
        return any(fnmatch.fnmatchcase(server, one) for one in self.mcp_servers)

    def private(self, branch: str) -> bool:
        return any(fnmatch.fnmatchcase(branch, one) for one in self.private_branches)

    def secret(self, path: str) -> bool:
        name = path.rstrip("/").rpartition("/")[2]
        return any(fnmatch.fnmatchcase(name, one) or fnmatch.fnmatchcase(path, one) for one in self.secrets)


def load(path: Path) -> Policy:
    """The policy in a TOML file; an absent file is an empty policy, a broken one raises ValueError."""
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        return Policy()
    return Policy.model_validate(tomllib.loads(content.decode()))
