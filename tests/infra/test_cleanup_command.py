"""The clean-up by hand: what it would do, and doing it."""

from __future__ import annotations

import io
import json
import os
import shutil
import subprocess
import sys
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command
from django.core.management.base import CommandError
from django.utils import timezone
from pytest_django import DjangoCaptureOnCommitCallbacks

from approvals import turns
from messaging import chat, files, log, mail
from messaging.models import Entry
from rooms import membership
from rooms.models import Member, Room
from tests.approvals.kitchen import Kitchen, key, make_kitchen
from tests.doors.scene import stored


@pytest.fixture
def kitchen(db: None, monkeypatch: pytest.MonkeyPatch) -> Kitchen:
    """Twenty days later; the kitchen keeps five, and Alice's chat what the server keeps."""
    # What other tests left there belongs to nobody now, and would go too.
    shutil.rmtree(files.path("room-1", "0" * 64).parents[2], ignore_errors=True)
    kitchen = make_kitchen()
    Room.objects.filter(pk=kitchen.room.pk).update(retention_days=5)
    source = f"room-{kitchen.room.pk}"
    for content in (b"a cake", b"a cake", b"a bigger pie"):
        sha256, size = files.store(source, [content])
        attached = [mail.File(source, sha256, "it.txt", "text/plain", size)]
        turns.ask(kitchen.bob, kitchen.room.pk, body="see", client_id=key(), files=attached)
    kitchen.ask(kitchen.bob, "@claude bake")
    files.store(source, [b"nobody named me"])
    fresh, _ = files.store(source, [b"on its way"])
    seat = Member.objects.select_related("room", "user").get(
        room=membership.account_chat(kitchen.alice), user=kitchen.alice
    )
    chat.send(seat, body="hello", client_id=key(), connection="connection:1f2e3d4c")
    then = timezone.now() + timedelta(days=20)
    monkeypatch.setattr("django.utils.timezone.now", lambda: then)
    os.utime(files.path(source, fresh), (then.timestamp(), then.timestamp()))
    kitchen.ask(kitchen.bob, "young")
    return kitchen


def run(*args: str) -> dict[str, Any]:
    said = io.StringIO()
    call_command("cleanup", "--json", *args, stdout=said)
    told: dict[str, Any] = json.loads(said.getvalue())
    return told


def all_files(kitchen: Kitchen) -> dict[Path, int]:
    root = files.path(f"room-{kitchen.room.pk}", "0" * 64).parent.parent
    return {found: found.stat().st_size for found in root.rglob("*") if found.is_file()}


def test_a_dry_run_changes_nothing_and_is_what_then_goes(
    kitchen: Kitchen, django_capture_on_commit_callbacks: DjangoCaptureOnCommitCallbacks
) -> None:
    before, lying = stored(), all_files(kitchen)
    said = run("--dry-run")
    assert (stored(), all_files(kitchen)) == (before, lying)
    numbers = {room: set(Entry.objects.filter(room=room).values_list("seq", flat=True)) for room in Room.objects.all()}
    with django_capture_on_commit_callbacks(execute=True):
        done = run()
    gone = {
        room.pk: sorted(had - set(Entry.objects.filter(room=room).values_list("seq", flat=True)))
        for room, had in numbers.items()
    }
    assert {due["room"]: (due["entries"], due["through"]) for due in said["rooms"]} == {
        room: (len(went), max(went)) for room, went in gone.items() if went
    }
    assert {due["room"]: due["days"] for due in said["rooms"]} == {
        kitchen.room.pk: 5, membership.account_chat(kitchen.alice).pk: 14,
    }  # fmt: skip
    assert done["removed"] == said["entries"] == sum(len(went) for went in gone.values())
    lost = [size for path, size in lying.items() if not path.exists()]
    # A cake that two entries named, a pie, and what nothing named.
    assert (said["files"], said["bytes"]) == (len(lost), sum(lost)) == (3, 6 + 12 + 15)
    assert said["dry_run"]
    assert not done["dry_run"]
    assert run("--dry-run")["entries"] == 0


def test_it_says_in_words_what_would_go_and_how_old_it_is(kitchen: Kitchen) -> None:
    said = io.StringIO()
    call_command("cleanup", "--dry-run", stdout=said)
    oldest = Entry.objects.filter(room=kitchen.room).earliest("seq").created_at
    line = next(line for line in said.getvalue().splitlines() if f"Room {kitchen.room.pk} (kitchen)" in line)
    assert "keeps 5 days" in line
    assert f"from {oldest:%Y-%m-%d %H:%M}" in line
    assert said.getvalue().splitlines()[-1].endswith("would go. Nothing was changed.")


def test_a_turn_that_holds_its_room_back_is_named(kitchen: Kitchen, monkeypatch: pytest.MonkeyPatch) -> None:
    turn = kitchen.turn(kitchen.ask(kitchen.alice, "@codex bake"))
    kitchen.daemon.run()
    later = timezone.now() + timedelta(days=6)
    monkeypatch.setattr("django.utils.timezone.now", lambda: later)
    said = io.StringIO()
    call_command("cleanup", "--dry-run", stdout=said)
    assert f"what turn {turn.pk} works on stays until it ends" in said.getvalue()


def test_a_room_that_fails_ends_the_command_with_an_error_that_names_it(
    kitchen: Kitchen, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*args: Any, **more: Any) -> int:
        raise RuntimeError("the disk is full")

    monkeypatch.setattr(log, "purge", broken)
    with pytest.raises(CommandError, match=rf"Not cleaned up: room .*\b{kitchen.room.pk}\b"):
        run()


@pytest.mark.parametrize(("name", "value"), [("CHAT_RETENTION_DAYS", "0"), ("ROOM_RETENTION_DAYS", "a month")])
def test_a_bad_limit_is_refused_at_the_start(name: str, value: str, tmp_path: Path) -> None:
    ran = subprocess.run(
        [sys.executable, "manage.py", "cleanup", "--dry-run"],
        cwd=Path(__file__).parents[2], env=os.environ | {name: value, "AGENTROOM_DATA": str(tmp_path)},
        capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert ran.returncode != 0
    assert f"{name} is '{value}': say a whole number of days" in ran.stderr
