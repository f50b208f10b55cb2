"""What the server stored, read past it: so that a page can be compared with the truth."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psycopg


@dataclass(frozen=True)
class StoredEntry:
    seq: int
    kind: str
    body: str
    data: dict[str, Any]
    parent_seq: int | None
    client_id: str


@dataclass(frozen=True)
class StoredTurn:
    id: int
    status: str
    note: str
    agent: str
    entry_seq: int


@dataclass(frozen=True)
class StoredQuestion:
    id: int
    turn_id: int
    subject: str
    title: str
    action: str
    verdict: str


@dataclass(frozen=True)
class Stored:
    data: Path
    database_url: str | None = None

    def rows(self, query: str, *values: str | int) -> list[tuple[Any, ...]]:
        """``query`` with ``?`` for values."""
        if self.database_url:
            with psycopg.connect(self.database_url) as connection:
                return connection.execute(query.replace("?", "%s").encode(), values).fetchall()
        with closing(sqlite3.connect(self.data / "agentroom.sqlite3", timeout=20)) as lite:
            return lite.execute(query, values).fetchall()

    def entries(self, room_id: int) -> list[StoredEntry]:
        found = self.rows(
            "SELECT seq, kind, body, data, parent_seq, client_id FROM messaging_entry WHERE room_id = ? ORDER BY seq",
            room_id,
        )
        return [
            StoredEntry(seq, kind, body, data if isinstance(data, dict) else json.loads(data), parent, client)
            for seq, kind, body, data, parent, client in found
        ]

    def turns(self, room_id: int) -> list[StoredTurn]:
        found = self.rows(
            "SELECT t.id, t.status, t.note, a.handle, e.seq FROM approvals_turn t"
            " JOIN rooms_agent a ON a.id = t.agent_id JOIN messaging_entry e ON e.id = t.entry_id"
            " WHERE t.room_id = ? ORDER BY t.id",
            room_id,
        )
        return [StoredTurn(*row) for row in found]

    def questions(self, turn_id: int) -> list[StoredQuestion]:
        found = self.rows(
            "SELECT id, turn_id, subject, title, action, verdict FROM approvals_approval WHERE turn_id = ? ORDER BY id",
            turn_id,
        )
        return [StoredQuestion(*row) for row in found]
