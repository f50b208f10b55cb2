"""What the environment names as database and bus, a fresh piece of each for every server."""

from __future__ import annotations

import itertools
import os
from dataclasses import dataclass, field

import redis

from tests.live import migrated

_numbers = itertools.cycle(range(1, 16))


@dataclass
class Stack:
    environment: dict[str, str] = field(default_factory=dict)
    _database: str = ""

    @classmethod
    def fresh(cls, *, empty: bool = False) -> Stack:
        """``empty``: a database without tables."""
        stack = cls()
        if server := os.environ.get("AGENTROOM_SERVER"):
            stack.environment["AGENTROOM_SERVER"] = server
        if url := os.environ.get("DATABASE_URL"):
            stack._database = migrated.create_database(url, empty=empty)
            stack.environment["DATABASE_URL"] = migrated.with_path(url, stack._database)
        if url := os.environ.get("REDIS_URL"):
            stack.environment["REDIS_URL"] = migrated.with_path(url, str(next(_numbers)))
            with redis.Redis.from_url(stack.environment["REDIS_URL"]) as client:
                client.flushdb()
        return stack

    @property
    def database_url(self) -> str | None:
        return self.environment.get("DATABASE_URL")

    def drop(self) -> None:
        if self._database:
            migrated.drop_database(os.environ["DATABASE_URL"], self._database)
