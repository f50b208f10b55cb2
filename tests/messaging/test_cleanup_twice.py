"""Two clean-ups at the same time, of two threads and of two processes: each entry goes once, and nothing breaks."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from django.db import connection, connections
from django.utils import timezone

from approvals import control, turns
from approvals.control import cleaning
from messaging import files, log, mail
from messaging.models import Anchor, Entry
from messaging.verify import verify
from rooms import membership
from rooms.models import Member, Room
from tests.approvals.kitchen import Kitchen, key, make_kitchen

pytestmark = pytest.mark.django_db(transaction=True)
DAYS = 2


@pytest.fixture
def kitchen() -> Kitchen:
    kitchen = make_kitchen()
    Room.objects.filter(pk=kitchen.room.pk).update(retention_days=DAYS)
    for n in range(6):
        kitchen.ask(kitchen.bob, f"@claude bake {n}")
    seat = kitchen.seat(kitchen.bob)
    for n in range(40):
        log.append(kitchen.room.pk, *(log.New(Entry.Kind.MESSAGE, author=seat, body=f"{n} {m}") for m in range(5)))
    return kitchen


def cleaned(kitchen: Kitchen) -> list[str]:
    entries = Entry.objects.filter(room=kitchen.room, kind="control", data__what="cleaned")
    return [entry.body for entry in entries.order_by("seq")]


def test_two_threads_remove_each_entry_once_while_somebody_writes(
    kitchen: Kitchen, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cleaning, "SLICE", 7)
    monkeypatch.setattr(cleaning, "AT_ONCE", 2)
    old = set(Entry.objects.filter(room=kitchen.room).values_list("seq", flat=True))
    now, seat = timezone.now() + timedelta(days=DAYS), kitchen.seat(kitchen.bob)
    together, done = threading.Barrier(3), threading.Event()

    def clean() -> int:
        together.wait(30)
        try:
            return control.clean_room(kitchen.room.pk, now)
        finally:
            connections.close_all()

    def write() -> int:
        together.wait(30)
        written = 0
        while not done.is_set():
            log.append(kitchen.room.pk, log.New(Entry.Kind.MESSAGE, author=seat, body="meanwhile"))
            written += 1
        connections.close_all()
        return written

    with ThreadPoolExecutor(3) as threads:
        writer = threads.submit(write)
        removed = [cleaner.result() for cleaner in [threads.submit(clean) for _ in range(2)]]
        done.set()
        written = writer.result()
    assert sum(removed) == len(old)
    assert written > 0
    left = list(Entry.objects.filter(room=kitchen.room).order_by("seq").values_list("seq", flat=True))
    last = Room.objects.values_list("last_seq", flat=True).get(pk=kitchen.room.pk)
    assert left == list(range(max(old) + 1, last + 1))
    assert Anchor.objects.get(room=kitchen.room).seq == max(old)
    assert verify(kitchen.room.pk).ok
    # Six requests were cancelled, each told of once.
    assert sum(words.count("bob’s request to claude") for words in cleaned(kitchen)) == 6


def test_two_sweeps_at_once_remove_what_nothing_names_and_leave_what_something_does(kitchen: Kitchen) -> None:
    source = f"room-{kitchen.room.pk}"
    lost = [files.path(source, files.store(source, [b"lost %d" % n])[0]) for n in range(300)]
    kept: list[Path] = []
    for n in range(20):
        sha256, size = files.store(source, [b"kept %d" % n])
        attached = [mail.File(source, sha256, "it.txt", "text/plain", size)]
        turns.ask(kitchen.bob, kitchen.room.pk, body="see", client_id=key(), files=attached)
        kept.append(files.path(source, sha256))
    for path in [*lost, *kept]:
        os.utime(path, (0, 0))
    now, together = timezone.now(), threading.Barrier(3)

    def sweep(_: int) -> None:
        together.wait(30)
        try:
            files.sweep(now)
        finally:
            connections.close_all()

    def doubt() -> None:
        """As where an entry goes while another comes that names the same file."""
        together.wait(30)
        try:
            for path in kept * 3:
                assert not files.remove(path, now)
        finally:
            connections.close_all()

    with ThreadPoolExecutor(3) as threads:
        doubting = threads.submit(doubt)
        list(threads.map(sweep, range(2)))
        doubting.result()
    assert all(path.is_file() for path in kept)
    assert sorted(path for path in kept[0].parents[1].rglob("*") if path.is_file()) == sorted(kept)


CLEAN = """
import json, sys
from datetime import datetime
import django
django.setup()
from django.conf import settings
settings.DATABASES["default"] |= json.loads(sys.argv[1])
from approvals import control, turns
from approvals.control import cleaning
cleaning.SLICE = 7
print("ready", flush=True)
sys.stdin.readline()
print(json.dumps(control.clean(datetime.fromisoformat(sys.argv[2])).entries), flush=True)
"""


def process(now: datetime) -> subprocess.Popen[str]:
    """A process of its own that cleans up the tests' database when it is told to."""
    database: dict[str, Any] = {"NAME": str(connection.settings_dict["NAME"])}
    started = subprocess.Popen(
        [sys.executable, "-c", CLEAN, json.dumps(database), now.isoformat()],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=Path(__file__).parents[2],
        env=os.environ | {"DJANGO_SETTINGS_MODULE": "agentroom.settings", "AGENTROOM_DATA": str(settings.DATA)},
    )  # fmt: skip
    assert started.stdout is not None
    assert started.stdout.readline() == "ready\n"
    return started


def go(started: subprocess.Popen[str]) -> None:
    assert started.stdin is not None
    started.stdin.write("go\n")
    started.stdin.flush()


def test_two_processes_remove_each_entry_once(kitchen: Kitchen) -> None:
    old = Entry.objects.filter(room=kitchen.room).count()
    now = timezone.now() + timedelta(days=DAYS)
    both = [process(now) for _ in range(2)]
    for one in both:
        go(one)
    assert sum(int(one.communicate(timeout=60)[0]) for one in both) == old
    assert [one.returncode for one in both] == [0, 0]
    found = verify(kitchen.room.pk)
    assert (found.ok, found.begins_after) == (True, old)
    assert sum(words.count("bob’s request to claude") for words in cleaned(kitchen)) == 6


def test_a_process_that_is_killed_in_the_midst_leaves_a_log_that_the_next_one_goes_on_with(kitchen: Kitchen) -> None:
    old = Entry.objects.filter(room=kitchen.room).count()
    now = timezone.now() + timedelta(days=DAYS)
    for _ in range(3):
        one = process(now)
        go(one)
        begun = verify(kitchen.room.pk).begins_after
        while one.poll() is None and verify(kitchen.room.pk).begins_after == begun:
            pass
        one.kill()
        one.communicate()
        assert verify(kitchen.room.pk).ok
    control.clean(now)
    found = verify(kitchen.room.pk)
    assert (found.ok, found.begins_after) == (True, old)
    fresh = kitchen.ask(kitchen.bob, "and on")
    assert fresh.seq == Room.objects.values_list("last_seq", flat=True).get(pk=kitchen.room.pk)


def test_a_chat_is_emptied_once_by_two(kitchen: Kitchen) -> None:
    room = membership.account_chat(kitchen.alice)
    seat = Member.objects.get(room=room, user=kitchen.alice)
    for n in range(30):
        log.append(room.pk, log.New(Entry.Kind.MESSAGE, author=seat, body=str(n)))
    now = timezone.now() + timedelta(days=14)

    def clean(_: int) -> int:
        try:
            return control.clean_room(room.pk, now)
        finally:
            connections.close_all()

    with ThreadPoolExecutor(2) as threads:
        assert sum(threads.map(clean, range(2))) == 30
    [entry] = log.append(room.pk, log.New(Entry.Kind.MESSAGE, author=seat, body="after"))
    assert entry.seq == 31
    assert verify(room.pk).ok
