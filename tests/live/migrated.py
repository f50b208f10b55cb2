"""An empty database with every table, made once for each process of the tests.

A server that starts on a copy of it finds nothing left to migrate. How one begins with no database at all,
``tests/test_up.py`` shows.
"""

from __future__ import annotations

import atexit
import os
import secrets
import shutil
import subprocess
import sys
import tempfile
from functools import cache
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit

import psycopg

from tests.live.processes import ROOT, surroundings

SQLITE = "agentroom.sqlite3"


def _migrate(**environment: str) -> None:
    command = [sys.executable, "manage.py", "migrate", "--verbosity", "0", "--no-input"]
    subprocess.run(command, cwd=ROOT, env=surroundings(**environment), check=True, timeout=120)


@cache
def _folder() -> Path:
    folder = tempfile.TemporaryDirectory(prefix="agentroom-migrated-")
    atexit.register(folder.cleanup)
    return Path(folder.name)


@cache
def _sqlite() -> Path:
    _migrate(AGENTROOM_DATA=str(_folder()))
    assert not (_folder() / f"{SQLITE}-wal").exists()
    return _folder() / SQLITE


def copy_sqlite(data: Path) -> None:
    """Into a data folder that is not there yet."""
    data.mkdir(mode=0o700)
    shutil.copyfile(_sqlite(), data / SQLITE)
    (data / SQLITE).chmod(0o600)


@cache
def _template(url: str) -> str:
    name = f"agentroom_migrated_{secrets.token_hex(6)}"
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(f'CREATE DATABASE "{name}"'.encode())
    atexit.register(drop_database, url, name)
    _migrate(AGENTROOM_DATA=str(_folder()), DATABASE_URL=with_path(url, name))
    return name


def create_database(url: str, *, empty: bool = False) -> str:
    """Its name. ``url`` leads to the server."""
    name = f"agentroom_live_{secrets.token_hex(6)}"
    template = "" if empty else f' TEMPLATE "{_template(url)}"'
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(f'CREATE DATABASE "{name}"{template}'.encode())
    return name


def drop_database(url: str, name: str) -> None:
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(f'DROP DATABASE IF EXISTS "{name}" WITH (FORCE)'.encode())


def with_path(url: str, path: str) -> str:
    return urlunsplit(urlsplit(url)._replace(path=f"/{path}"))


def uses_sqlite() -> bool:
    return not os.environ.get("DATABASE_URL")
