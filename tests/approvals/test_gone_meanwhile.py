"""What a machine meets whose turn goes at this very moment: it is told that it is gone, and nothing breaks."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import timedelta

import pytest
from django.test import Client
from django.utils import timezone

from agentroom_machine import wire
from approvals import control, turns
from approvals.models import Turn
from messaging import files, mail
from messaging.models import Entry
from rooms import access, membership
from rooms.models import Machine, Room
from rooms.tokens import digest
from tests.approvals.kitchen import Kitchen, key


def clean_up(kitchen: Kitchen) -> None:
    """As if all that is here were old enough to go."""
    Room.objects.filter(pk=kitchen.room.pk).update(retention_days=1)
    control.clean(timezone.now() + timedelta(days=1))
    assert not Entry.objects.filter(room=kitchen.room).exists()


def test_a_report_that_comes_as_a_clean_up_takes_the_turn_is_dropped_and_later_ones_go_on(
    kitchen: Kitchen, monkeypatch: pytest.MonkeyPatch
) -> None:
    kitchen.ask(kitchen.alice, "@claude bake")
    gone = kitchen.daemon.run()
    kitchen.daemon.end(gone)

    def too_late(room_ids: Iterable[int]) -> object:
        wanted = list(room_ids)
        if Turn.objects.filter(pk=gone).exists():
            clean_up(kitchen)
        return access.lock_rooms(wanted)

    monkeypatch.setattr("approvals.record.lock_rooms", too_late)
    receipt = kitchen.daemon.tell(gone, wire.TextFact(part="1", text="late"), wire.EndFact(state="done"))
    assert (receipt.acked, set(receipt.refused)) == (kitchen.daemon.n, {kitchen.daemon.n - 1, kitchen.daemon.n})
    kitchen.ask(kitchen.alice, "@claude bake again")
    assert not kitchen.daemon.tell(kitchen.daemon.run(), wire.TextFact(part="1", text="baked")).refused


def test_what_came_into_a_room_that_a_sync_does_not_hold_is_offered_by_the_next_one(
    kitchen: Kitchen, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The room could go before the offer is written down."""
    cellar = membership.create_room(kitchen.alice, name="cellar")
    membership.add_agent(kitchen.alice, cellar.pk, kitchen.claude.pk)

    def meanwhile(room_ids: Iterable[int]) -> object:
        locked = access.lock_rooms(list(room_ids))
        kitchen.ask(kitchen.alice, "@claude fetch wine", cellar)
        return locked

    with monkeypatch.context() as patch:
        patch.setattr("approvals.work.lock_rooms", meanwhile)
        assert kitchen.daemon.take() == []
    assert [offer.room for offer in kitchen.daemon.take()] == ["cellar"]


def test_a_file_whose_turn_goes_as_it_is_fetched_is_absent(kitchen: Kitchen, monkeypatch: pytest.MonkeyPatch) -> None:
    source = f"room-{kitchen.room.pk}"
    sha256, size = files.store(source, [b"eggs"])
    attached = [mail.File(source, sha256, "recipe.txt", "text/plain", size)]
    entry = turns.ask(kitchen.alice, kitchen.room.pk, body="@claude bake", client_id=key(), files=attached)
    turn = kitchen.daemon.run()
    Machine.objects.filter(pk=kitchen.daemon.machine.pk).update(token_hash=digest("arm_x"))
    path = f"/api/machine/turns/{turn}/files/{sha256}"
    assert Client().get(path, headers={"Authorization": "Bearer arm_x"}).getvalue() == b"eggs"
    messages = turns.messages

    def too_late(found: Turn) -> list[Entry]:
        kitchen.daemon.end(turn)
        clean_up(kitchen)
        return messages(found)

    monkeypatch.setattr(turns, "messages", too_late)
    assert Client().get(path, headers={"Authorization": "Bearer arm_x"}).status_code == 404
    assert not Entry.objects.filter(pk=entry.pk).exists()
