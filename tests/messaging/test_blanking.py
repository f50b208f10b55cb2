from __future__ import annotations

import pytest
from django.test import Client

from agentroom_machine import wire
from approvals import control
from messaging import log
from messaging.models import Entry
from messaging.render import live
from rooms.models import User
from tests.approvals.kitchen import Kitchen

pytestmark = pytest.mark.django_db
SECRET = "hunter2"


def browser(user: User) -> Client:
    client = Client()
    client.force_login(user)
    return client


def test_a_blanked_message_is_marked_and_says_who_did_it(kitchen: Kitchen) -> None:
    entry = kitchen.ask(kitchen.bob, f"the password is {SECRET}")
    alice = browser(kitchen.alice)
    path = f"/rooms/{kitchen.room.pk}/blank/{entry.seq}/"
    assert path in alice.get(f"/rooms/{kitchen.room.pk}/").content.decode()
    assert SECRET in alice.get(path).content.decode()
    assert alice.post(path)["Location"].endswith(f"#e{entry.seq}")
    page = browser(kitchen.vera).get(f"/rooms/{kitchen.room.pk}/").content.decode()
    assert SECRET not in page
    assert "Blanked. Its hash stays" in page
    assert f"alice blanked message {entry.seq}." in page


@pytest.mark.parametrize(("who", "sees"), [("alice", True), ("bob", True), ("dana", False), ("vera", False)])
def test_only_who_may_is_shown_the_way(kitchen: Kitchen, who: str, sees: bool) -> None:
    entry = kitchen.ask(kitchen.bob, "@claude hello")
    page = browser(getattr(kitchen, who)).get(f"/rooms/{kitchen.room.pk}/").content.decode()
    assert (f"/rooms/{kitchen.room.pk}/blank/{entry.seq}/" in page) == sees


def test_an_agents_owner_blanks_what_it_said_in_anothers_room(kitchen: Kitchen) -> None:
    entry = kitchen.ask(kitchen.dana, "@gemini hello")
    turn = kitchen.danas.run()
    kitchen.danas.tell(
        turn,
        wire.ToolCallFact(call="c", title=f"echo {SECRET}", state="done", output=SECRET),
        wire.TextFact(part="p", text="hi"),
    )
    dana = browser(kitchen.dana)
    listed = dana.get(f"/rooms/{kitchen.room.pk}/blank/{entry.seq}/").content.decode()
    step = Entry.objects.get(kind="tool_call")
    assert f'action="/rooms/{kitchen.room.pk}/blank/{step.seq}/"' in listed
    dana.post(f"/rooms/{kitchen.room.pk}/blank/{step.seq}/")
    page = browser(kitchen.bob).get(f"/rooms/{kitchen.room.pk}/").content.decode()
    assert SECRET not in page
    assert "dana blanked a step." in page
    assert "hi" in page


def test_open_pages_draw_a_blanked_message_again(kitchen: Kitchen) -> None:
    entry = kitchen.ask(kitchen.bob, f"the password is {SECRET}")
    control.blank(kitchen.bob, kitchen.room.pk, entry.seq)
    page = log.after(kitchen.room.pk, entry.seq)
    frame = live.frame(kitchen.room.pk, entry.seq, page.cursor, page.entries)
    assert f'"id":"e{entry.seq}"' in frame.text
    assert "Blanked. Its hash stays" in frame.text
    assert SECRET not in frame.text


def test_open_pages_draw_a_running_card_again_without_what_was_blanked(kitchen: Kitchen) -> None:
    kitchen.ask(kitchen.alice, "@claude look")
    turn = kitchen.daemon.run()
    kitchen.daemon.tell(turn, wire.TextFact(part="p", text=f"I found {SECRET}"))
    cards = live.Cards()
    seen = log.after(kitchen.room.pk, 0)
    assert SECRET in live.frame(kitchen.room.pk, 0, seen.cursor, seen.entries, cards).text
    control.blank(kitchen.alice, kitchen.room.pk, Entry.objects.get(kind="text").seq)
    page = log.after(kitchen.room.pk, seen.cursor)
    frame = live.frame(kitchen.room.pk, seen.cursor, page.cursor, page.entries, cards)
    assert f'"id":"t{turn}-group"' in frame.text
    assert SECRET not in frame.text
    kitchen.daemon.tell(turn, wire.TextFact(part="q", text="More."))
    later = log.after(kitchen.room.pk, page.cursor)
    assert SECRET not in live.frame(kitchen.room.pk, page.cursor, later.cursor, later.entries, cards).text
