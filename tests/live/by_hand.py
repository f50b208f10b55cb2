"""A machine without a program: its secrets in our hands, to call its doors one by one."""

from __future__ import annotations

import hashlib
import secrets
from typing import Any

import httpx

from tests.live.person import Person


class HandMachine:
    def __init__(self, owner: Person, name: str = "by hand") -> None:
        """Pair it: the owner confirms in the browser."""
        self.token = "arm_" + secrets.token_urlsafe(32)
        self.client = httpx.Client(
            base_url=owner.url, headers={"Authorization": f"Bearer {self.token}"}, timeout=40, trust_env=False
        )
        hashes = {"token_hash": hashed(self.token), "connection_hash": hashed(secrets.token_urlsafe(32))}
        reply = self.client.post("/api/machine/pairings", json={"name": name, **hashes})
        assert reply.status_code == 200, reply.text
        owner.press(reply.json()["url"], f"Connect {name}")
        self.id = int(self.client.get("/api/machine/me").json()["machine_id"])

    def sync(self, **more: Any) -> httpx.Response:
        body = {"instance": f"hand-{self.id}", "journal_id": f"journal-{self.id}", "wait": 0} | more
        return self.client.post("/api/machine/sync", json=body)

    def close(self) -> None:
        self.client.close()


def hashed(token: str) -> str:
    return hashlib.sha256(token.encode()).hexdigest()
