"""What the environment names as database and bus, a fresh piece of each for every server."""

from __future__ import annotations

import itertools
import os
import secrets
from dataclasses import dataclass, field
from urllib.parse import urlsplit, urlunsplit

import psycopg
import redis

_numbers = itertools.cycle(range(1, 16))


@dataclass
class Stack:
    environment: dict[str, str] = field(default_factory=dict)
    _database: str = ""

    @classmethod
    def fresh(cls) -> Stack:
        stack = cls()
        if server := os.environ.get("AGENTROOM_SERVER"):
            stack.environment["AGENTROOM_SERVER"] = server
        if url := os.environ.get("DATABASE_URL"):
            stack._database = f"agentroom_live_{secrets.token_hex(6)}"
            with psycopg.connect(url, autocommit=True) as connection:
                connection.execute(f'CREATE DATABASE "{stack._database}"'.encode())
            stack.environment["DATABASE_URL"] = _with_path(url, stack._database)
        if url := os.environ.get("REDIS_URL"):
            stack.environment["REDIS_URL"] = _with_path(url, str(next(_numbers)))
            with redis.Redis.from_url(stack.environment["REDIS_URL"]) as client:
                client.flushdb()
        return stack

    @property
    def database_url(self) -> str | None:
        return self.environment.get("DATABASE_URL")

    def drop(self) -> None:
        if self._database:
            with psycopg.connect(os.environ["DATABASE_URL"], autocommit=True) as connection:
                connection.execute(f'DROP DATABASE IF EXISTS "{self._database}" WITH (FORCE)'.encode())


def _with_path(url: str, path: str) -> str:
    return urlunsplit(urlsplit(url)._replace(path=f"/{path}"))
