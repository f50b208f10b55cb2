"""Undoing what a turn changed: the owner's word, the machine's deed."""

from __future__ import annotations

import pytest
from django.db import IntegrityError, transaction
from django.test import Client
from django.utils import timezone

from agentroom_machine import wire
from approvals import control
from approvals.models import AuditRecord, Turn, Undo
from messaging.models import Entry
from rooms.errors import Conflict, NotFound, Refused
from tests.approvals.kitchen import Kitchen

pytestmark = pytest.mark.django_db
LEFT = wire.UndoableFact(created=["cake.txt"], changed=["soup.txt"], deleted=["build/"], lost=1)


def ended(kitchen: Kitchen, *facts: wire.Fact) -> int:
    """A turn of claude's that ran for alice and left something different."""
    kitchen.ask(kitchen.alice, "@claude cook")
    turn_id = kitchen.daemon.run()
    kitchen.daemon.tell(turn_id, *facts)
    kitchen.daemon.end(turn_id)
    return turn_id


def words(turn_id: int) -> list[str]:
    return list(Entry.objects.filter(source_turn=turn_id, kind="notice").order_by("seq").values_list("body", flat=True))


def test_the_owner_asks_the_machine_does_and_the_room_hears(kitchen: Kitchen) -> None:
    turn_id = ended(kitchen, LEFT)
    assert kitchen.daemon.sync().undo == []
    control.undo_turn(kitchen.alice, turn_id)
    assert kitchen.daemon.sync().undo == [turn_id]
    assert kitchen.daemon.sync().undo == [turn_id]
    outcome = wire.UndoneFact(restored=["build/"], removed=["cake.txt"], conflicts=["soup.txt"])
    kitchen.daemon.tell(turn_id, outcome)
    assert kitchen.daemon.sync().undo == []
    assert words(turn_id) == [
        "alice asks for what this changed to be put back.",
        "Undone. Put back: build/; removed: cake.txt; left, because somebody changed it since: soup.txt.",
    ]
    assert AuditRecord.objects.filter(owner=kitchen.alice, what="undo", who="alice").exists()


def test_it_is_asked_for_once_and_told_once(kitchen: Kitchen) -> None:
    turn_id = ended(kitchen, LEFT)
    control.undo_turn(kitchen.alice, turn_id)
    with pytest.raises(Conflict):
        control.undo_turn(kitchen.alice, turn_id)
    kitchen.daemon.tell(turn_id, wire.UndoneFact(), wire.UndoneFact(restored=["soup.txt"]))
    assert words(turn_id)[1:] == ["Undone: everything was as before already."]
    with pytest.raises(Conflict):
        control.undo_turn(kitchen.alice, turn_id)


def test_nobody_but_the_agent_s_owner_may(kitchen: Kitchen) -> None:
    turn_id = ended(kitchen, LEFT)
    for user in (kitchen.bob, kitchen.vera, kitchen.charlie, kitchen.dana):
        with pytest.raises(NotFound):
            control.undo_turn(user, turn_id)
    assert kitchen.daemon.sync().undo == []


def test_only_what_has_ended_and_was_kept_can_be_undone(kitchen: Kitchen) -> None:
    nothing = ended(kitchen)
    with pytest.raises(Refused):
        control.undo_turn(kitchen.alice, nothing)
    kitchen.ask(kitchen.alice, "@claude cook on")
    running = kitchen.daemon.run()
    kitchen.daemon.tell(running, LEFT)
    with pytest.raises(Refused):
        control.undo_turn(kitchen.alice, running)


def test_a_machine_that_lost_its_journal_is_not_asked(kitchen: Kitchen) -> None:
    turn_id = ended(kitchen, LEFT)
    kitchen.daemon.journal_id, kitchen.daemon.epoch = "journal-2", None
    kitchen.daemon.hello()
    with pytest.raises(Refused):
        control.undo_turn(kitchen.alice, turn_id)


def test_a_snapshot_that_is_gone_is_said_so(kitchen: Kitchen) -> None:
    turn_id = ended(kitchen, LEFT)
    control.undo_turn(kitchen.alice, turn_id)
    kitchen.daemon.tell(turn_id, wire.UndoneFact(gone=True))
    assert "no longer has the snapshot" in words(turn_id)[-1]


def test_an_undo_that_nobody_asked_for_is_not_believed(kitchen: Kitchen) -> None:
    turn_id = ended(kitchen, LEFT)
    kitchen.daemon.tell(turn_id, wire.UndoneFact(restored=["soup.txt"]))
    assert words(turn_id) == []
    with pytest.raises(IntegrityError), transaction.atomic():
        Undo.objects.filter(turn=turn_id).update(done_at=timezone.now())


def test_the_page_says_what_will_be_put_back(kitchen: Kitchen) -> None:
    turn_id = ended(kitchen, LEFT)
    browser = Client()
    browser.force_login(kitchen.alice)
    controls = browser.get(f"/turns/{turn_id}/controls/").content.decode()
    assert f"/turns/{turn_id}/undo/" in controls
    page = browser.get(f"/turns/{turn_id}/undo/").content.decode()
    for path in ("cake.txt", "soup.txt", "build/"):
        assert path in page
    assert "1 could not be kept" in page
    browser.post(f"/turns/{turn_id}/undo/")
    assert Turn.objects.get(pk=turn_id).undo.asked_by == kitchen.alice
    assert "Being undone" in browser.get(f"/turns/{turn_id}/controls/").content.decode()
    bob = Client()
    bob.force_login(kitchen.bob)
    assert "undo" not in bob.get(f"/turns/{turn_id}/controls/").content.decode()


@pytest.mark.parametrize(
    ("said", "badge"), [(None, "not confined"), ("", ">confined<"), ("it is switched off", "not confined")]
)
def test_the_card_says_whether_it_ran_confined(kitchen: Kitchen, said: str | None, badge: str) -> None:
    if said is not None:
        kitchen.daemon.confined = {kitchen.claude.pk: said}
    kitchen.daemon.sync()
    ended(kitchen)
    browser = Client()
    browser.force_login(kitchen.bob)
    page = browser.get(f"/rooms/{kitchen.room.pk}/").content.decode()
    assert badge in page.replace("</svg>", ">")
    assert page.count('class="badge"') == 1
