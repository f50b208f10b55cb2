"""The machine's memory on disk: offers, turns, and every fact until the server has acknowledged it."""

from __future__ import annotations

import hashlib
import itertools
import os
import secrets
import sqlite3
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from pydantic import TypeAdapter

from agentroom_machine import wire
from agentroom_machine.errors import Trouble

_FACT: TypeAdapter[wire.Fact] = TypeAdapter(wire.Fact)
_TABLES = """
CREATE TABLE IF NOT EXISTS meta (name TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT;
CREATE TABLE IF NOT EXISTS turns (
  turn_id INTEGER PRIMARY KEY, claim_id TEXT NOT NULL, agent_id INTEGER NOT NULL,
  state TEXT NOT NULL CHECK (state IN ('offered', 'running', 'ended')), offer TEXT NOT NULL, end_n INTEGER
) STRICT;
CREATE TABLE IF NOT EXISTS facts (
  n INTEGER PRIMARY KEY, turn_id INTEGER NOT NULL, fact TEXT NOT NULL, sha256 TEXT
) STRICT;
CREATE TABLE IF NOT EXISTS sessions (
  agent_id INTEGER NOT NULL, room_id INTEGER NOT NULL, runtime TEXT NOT NULL, memory INTEGER NOT NULL,
  cwd TEXT NOT NULL, session_id TEXT NOT NULL, PRIMARY KEY (agent_id, room_id)
) STRICT;
CREATE TABLE IF NOT EXISTS pushes (key TEXT PRIMARY KEY, turn_id INTEGER NOT NULL, shown TEXT NOT NULL) STRICT;
"""
_DAMAGED = {sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB}

State = Literal["offered", "running", "ended"]


@dataclass(frozen=True)
class Held:
    """A turn that the journal knows."""

    offer: wire.Offer
    state: State


@dataclass(frozen=True)
class SessionRecord:
    """The runtime's session of an agent in a room; usable only for the same runtime, memory and folder."""

    runtime: str
    memory: int
    cwd: str
    session_id: str


class Journal:
    """Every method that changes something has it on disk when it returns. Raises Trouble when it can't be opened."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._files = path.with_suffix(".files")
        self._files.mkdir(parents=True, exist_ok=True, mode=0o700)
        self.damaged: Path | None = None
        """Where a journal that could not be read was moved."""
        try:
            self._db = self._open()
        except sqlite3.DatabaseError as error:
            # Its lowest byte says which; a lock, a full disk or one that fails says nothing about what is in the file.
            if error.sqlite_errorcode & 0xFF not in _DAMAGED:
                raise Trouble(f"The journal {path} can't be opened: {error}. Nothing in it was changed.") from error
            self.damaged = self._move_aside()
            self._db = self._open()
        self.journal_id = self._meta("journal_id")

    def _open(self) -> sqlite3.Connection:
        # One connection, used from one thread at a time: the loop's.
        db = sqlite3.connect(self._path, isolation_level=None, check_same_thread=False)
        try:
            self._path.chmod(0o600)
            db.execute("PRAGMA journal_mode = WAL")
            db.execute("PRAGMA synchronous = FULL")
            if db.execute("PRAGMA quick_check(1)").fetchone()[0] != "ok":
                damaged = sqlite3.DatabaseError("the journal is damaged")
                damaged.sqlite_errorcode = sqlite3.SQLITE_CORRUPT
                raise damaged
            db.executescript(_TABLES)
            db.execute("INSERT OR IGNORE INTO meta VALUES ('journal_id', ?)", [secrets.token_hex(12)])
            db.execute("INSERT OR IGNORE INTO meta VALUES ('last_n', '0')")
            db.execute("SELECT count(*) FROM facts, turns, sessions").fetchone()
        except BaseException:
            db.close()
            raise
        return db

    def _move_aside(self) -> Path:
        aside = self._aside("damaged")
        for suffix in ("-wal", "-shm", ""):
            part = Path(f"{self._path}{suffix}")
            if part.exists():
                part.replace(f"{aside}{suffix}")
        return aside

    def close(self) -> None:
        self._db.close()

    def start_over(self) -> Path:
        """Becomes a new journal that keeps only the sessions; what the old one held is copied to the returned file."""
        aside = self._aside("old")
        self._db.execute("VACUUM INTO ?", [str(aside)])
        aside.chmod(0o600)
        with self._writing() as db:
            db.execute("DELETE FROM facts")
            db.execute("DELETE FROM turns")
            db.execute("UPDATE meta SET value = '0' WHERE name = 'last_n'")
            db.execute("UPDATE meta SET value = ? WHERE name = 'journal_id'", [secrets.token_hex(12)])
        self.journal_id = self._meta("journal_id")
        return aside

    def _aside(self, why: str) -> Path:
        stem = f"{self._path.stem}.{why}-{time.strftime('%Y%m%d-%H%M%S')}"
        taken = (self._path.with_name(f"{stem}{f'-{n}' if n else ''}{self._path.suffix}") for n in itertools.count())
        return next(path for path in taken if not path.exists())

    @contextmanager
    def _writing(self) -> Iterator[sqlite3.Connection]:
        self._db.execute("BEGIN IMMEDIATE")
        try:
            yield self._db
        except BaseException:
            self._db.execute("ROLLBACK")
            raise
        self._db.execute("COMMIT")

    def _meta(self, name: str) -> str:
        return str(self._db.execute("SELECT value FROM meta WHERE name = ?", [name]).fetchone()[0])

    # --- turns

    def add_offer(self, offer: wire.Offer) -> bool:
        """Keeps an offer before anything else is done with it; False when it is held already."""
        with self._writing() as db:
            cursor = db.execute(
                "INSERT OR IGNORE INTO turns VALUES (?, ?, ?, 'offered', ?, NULL)",
                [offer.turn_id, offer.claim_id, offer.agent_id, offer.model_dump_json()],
            )
        return cursor.rowcount == 1

    def mark_running(self, turn_id: int) -> None:
        """From here on the turn may have done something; it never runs again by itself."""
        with self._writing() as db:
            db.execute("UPDATE turns SET state = 'running' WHERE turn_id = ? AND state = 'offered'", [turn_id])

    def drop_turn(self, turn_id: int) -> None:
        with self._writing() as db:
            db.execute("DELETE FROM turns WHERE turn_id = ?", [turn_id])

    def turns(self) -> list[Held]:
        rows = self._db.execute("SELECT offer, state FROM turns ORDER BY turn_id").fetchall()
        return [Held(wire.Offer.model_validate_json(offer), state) for offer, state in rows]

    def turn_ids(self, *states: State) -> list[int]:
        marks = ", ".join("?" * len(states))
        rows = self._db.execute(
            f"SELECT turn_id FROM turns WHERE state IN ({marks}) ORDER BY turn_id",  # noqa: S608 - only marks
            states,
        )
        return [row[0] for row in rows]

    # --- facts

    def add(self, turn_id: int, fact: wire.Fact, *, file: Path | None = None) -> int:
        """Appends a fact and returns its number; an EndFact ends its turn in the same write."""
        sha256 = fact.sha256 if isinstance(fact, wire.ArtifactFact) else None
        if sha256 and file:
            self._copy(file, sha256)
        with self._writing() as db:
            n = self.last_n() + 1
            db.execute("UPDATE meta SET value = ? WHERE name = 'last_n'", [str(n)])
            db.execute("INSERT INTO facts VALUES (?, ?, ?, ?)", [n, turn_id, fact.model_dump_json(), sha256])
            if isinstance(fact, wire.EndFact):
                db.execute("UPDATE turns SET state = 'ended', end_n = ? WHERE turn_id = ?", [n, turn_id])
        return n

    def _copy(self, file: Path, sha256: str) -> None:
        kept = self._files / sha256
        if kept.exists():
            return
        draft, digest = self._files / f"{sha256}.new", hashlib.sha256()
        with file.open("rb") as source, draft.open("wb") as target:
            while piece := source.read(256 * 1024):
                digest.update(piece)
                target.write(piece)
            target.flush()
            os.fsync(target.fileno())
        if digest.hexdigest() != sha256:  # somebody still writes to it
            draft.unlink()
            raise OSError("the file changed while it was read")
        draft.replace(kept)

    def pending(self, limit: int = wire.MAX_FACTS, size: int = 1_000_000) -> list[wire.Numbered]:
        """The next facts to send, in order, bounded in number and characters, at least one."""
        batch: list[wire.Numbered] = []
        for n, turn_id, text in self._db.execute("SELECT n, turn_id, fact FROM facts ORDER BY n LIMIT ?", [limit]):
            size -= len(text.encode())
            if size < 0 and batch:
                break
            batch.append(wire.Numbered(n=n, turn_id=turn_id, fact=_FACT.validate_json(text)))
        return batch

    def last_n(self) -> int:
        """The number that was given last."""
        return int(self._meta("last_n"))

    def count_pending(self) -> int:
        return int(self._db.execute("SELECT count(*) FROM facts").fetchone()[0])

    def replace(self, n: int, fact: wire.Fact) -> None:
        """Puts another fact under a number, for a file that can't be sent."""
        with self._writing() as db:
            db.execute("UPDATE facts SET fact = ?, sha256 = NULL WHERE n = ?", [fact.model_dump_json(), n])

    def ack(self, n: int) -> None:
        """Forgets what the server stored: facts up to n, turns whose end is among them, files nobody needs."""
        with self._writing() as db:
            done = db.execute("DELETE FROM facts WHERE n <= ? RETURNING sha256", [n]).fetchall()
            db.execute("DELETE FROM turns WHERE state = 'ended' AND end_n <= ?", [n])
            needed = {row[0] for row in db.execute("SELECT DISTINCT sha256 FROM facts WHERE sha256 IS NOT NULL")}
        for sha256 in {row[0] for row in done if row[0]} - needed:
            self.file(sha256).unlink(missing_ok=True)

    def file(self, sha256: str) -> Path:
        return self._files / sha256

    # --- what Agentroom does itself, outside of the confinement: begun and not ended

    def begin_outside(self, key: str, turn_id: int, shown: str) -> None:
        """From here on it may have happened; it is never tried again."""
        with self._writing() as db:
            db.execute("INSERT INTO pushes VALUES (?, ?, ?)", [key, turn_id, shown])

    def end_outside(self, key: str) -> None:
        with self._writing() as db:
            db.execute("DELETE FROM pushes WHERE key = ?", [key])

    def begun_outside(self) -> list[tuple[str, int, str]]:
        """Key, turn and what was to be done."""
        return [(key, turn, shown) for key, turn, shown in self._db.execute("SELECT * FROM pushes ORDER BY key")]

    # --- sessions

    def session(self, agent_id: int, room_id: int) -> SessionRecord | None:
        row = self._db.execute(
            "SELECT runtime, memory, cwd, session_id FROM sessions WHERE agent_id = ? AND room_id = ?",
            [agent_id, room_id],
        ).fetchone()
        return SessionRecord(*row) if row else None

    def keep_session(self, agent_id: int, room_id: int, record: SessionRecord) -> None:
        with self._writing() as db:
            db.execute(
                "INSERT OR REPLACE INTO sessions VALUES (?, ?, ?, ?, ?, ?)",
                [agent_id, room_id, record.runtime, record.memory, record.cwd, record.session_id],
            )

    def forget_session(self, agent_id: int, room_id: int) -> None:
        with self._writing() as db:
            db.execute("DELETE FROM sessions WHERE agent_id = ? AND room_id = ?", [agent_id, room_id])
