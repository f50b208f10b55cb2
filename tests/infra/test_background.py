"""The background work as it runs: by the web process's own thread, or by Celery, whatever the stack is."""

from __future__ import annotations

import sqlite3
from contextlib import closing

import psycopg

from tests.live import Live, until


def past(live: Live, member_id: int) -> None:
    """Let a guest's time be over, behind the server's back."""
    if live.stack.database_url:
        with psycopg.connect(live.stack.database_url) as connection:
            connection.execute(
                "UPDATE rooms_member SET expires_at = now() - interval '1 minute' WHERE id = %s", [member_id]
            )
    else:
        with closing(sqlite3.connect(live.data / "agentroom.sqlite3", timeout=20)) as lite, lite:
            lite.execute("UPDATE rooms_member SET expires_at = datetime('now', '-1 minute') WHERE id = ?", [member_id])


def test_a_guest_leaves_when_their_time_is_over_though_nobody_looks(live: Live) -> None:
    alice, bob = live.person("alice"), live.person("bob")
    kitchen = alice.make_room("kitchen")
    bob.join(alice.invite(kitchen, seat_days="1"))
    [(seat,)] = live.stored.rows("SELECT id FROM rooms_member WHERE room_id = ? AND handle = ?", kitchen, "bob")
    with alice.watch(kitchen) as watch:
        past(live, seat)
        bob.get(f"/rooms/{kitchen}/", status=404)
        watch.until("time was over", seconds=30)
    until(lambda: any(entry.data.get("what") == "expired" for entry in live.entries(kitchen, "left")))


def test_it_goes_on_after_the_server_was_killed(live: Live) -> None:
    live.kill()
    live.serve()
    dana, vera = live.person("dana"), live.person("vera")
    attic = dana.make_room("attic")
    vera.join(dana.invite(attic, seat_days="1"))
    [(seat,)] = live.stored.rows("SELECT id FROM rooms_member WHERE room_id = ? AND handle = ?", attic, "vera")
    past(live, seat)
    until(lambda: live.entries(attic, "left"), seconds=30, what="vera's leaving")
