"""Notices go into sessions that are there and idle; nothing is started to deliver mail, and nothing is lost."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.conf import settings
from django.utils import timezone

from agentroom_machine import wire
from approvals import control, turns
from approvals.models import Exchange, Turn
from messaging.models import Entry, Recipient
from rooms import membership
from rooms.models import Machine
from tests.approvals.kitchen import Kitchen, key, make_kitchen
from tests.mailbox.post import BY_HAND, ack, allow, bodies, facts, read, reply, send, works


@pytest.fixture
def granted(db: None) -> Kitchen:
    """Bob may start every agent."""
    kitchen = make_kitchen()
    for agent in (kitchen.claude, kitchen.codex, kitchen.gemini):
        allow(kitchen, agent, kitchen.bob)
    return kitchen


def test_a_mail_turn_carries_notices_and_no_text(granted: Kitchen) -> None:
    text = "secret plan " * 100
    turns.send(
        granted.seat(granted.claude), Turn.objects.get(pk=works(granted, granted.bob)), to=["gemini"], body=text,
        subject="Soup", client_id=key(), connection=BY_HAND,
    )  # fmt: skip
    [offer] = granted.danas.take()
    assert (offer.cause, offer.principal, offer.author) == ("mail", "bob", "claude")
    assert offer.mcp_url == settings.PUBLIC_URL + "/mcp"
    [notice] = offer.notices
    assert (notice.from_, notice.subject, notice.in_the_name_of) == ("claude", "Soup", "bob")
    assert len(notice.preview) <= 200
    assert notice.preview.endswith("…")
    assert "secret" not in offer.body
    assert text not in offer.model_dump_json()


def test_delivered_is_said_when_the_turn_starts_and_once(granted: Kitchen) -> None:
    entry = send(granted, granted.claude, works(granted, granted.bob), "gemini")
    [offer] = granted.danas.take()
    assert facts(entry) == {"gemini": ["stored", "waiting: queued"]}
    granted.danas.start(offer)
    granted.danas.end(offer.turn_id)
    granted.ask(granted.bob, "@gemini anything new?")
    [again] = granted.danas.take()
    assert [notice.number for notice in again.notices] == [entry.seq], "unread mail is named again"
    granted.danas.start(again)
    assert facts(entry) == {"gemini": ["stored", "delivered"]}


def test_mail_to_a_sleeper_rides_with_the_next_turn_of_the_same_person(granted: Kitchen) -> None:
    entry = send(granted, granted.claude, works(granted, granted.bob), "gemini")
    granted.danas.asleep = [granted.gemini.pk]
    assert granted.danas.take() == []
    assert facts(entry) == {"gemini": ["stored", "waiting: asleep"]}
    granted.ask(granted.bob, "@gemini good morning")
    [offer] = granted.danas.take()
    assert (offer.cause, offer.body) == ("message", "@gemini good morning")
    assert [notice.preview for notice in offer.notices] == ["please look"]
    granted.danas.asleep = []
    granted.danas.start(offer)
    assert bodies(read(granted, granted.gemini, offer.turn_id)) == ["please look"]
    granted.danas.end(offer.turn_id)
    assert granted.danas.take() == [], "what was read needs no turn of its own"


def test_anothers_mail_gets_a_turn_of_its_own_right_after(granted: Kitchen) -> None:
    send(granted, granted.claude, works(granted, granted.bob), "gemini", "for bob")
    granted.danas.asleep = [granted.gemini.pk]
    granted.ask(granted.dana, "@gemini good morning")
    [offer] = granted.danas.take()
    assert (offer.principal, offer.notices) == ("dana", [])
    granted.danas.start(offer)
    granted.danas.asleep = []
    assert bodies(read(granted, granted.gemini, offer.turn_id)) == []
    granted.danas.end(offer.turn_id)
    [mail] = granted.danas.take()
    assert (mail.cause, mail.principal, [notice.preview for notice in mail.notices]) == ("mail", "bob", ["for bob"])


def test_a_session_in_another_room_takes_no_mail_for_this_one(granted: Kitchen) -> None:
    send(granted, granted.claude, works(granted, granted.bob), "gemini")
    cellar = membership.create_room(granted.dana, name="cellar")
    membership.add_agent(granted.dana, cellar.pk, granted.gemini.pk)
    danas = granted.danas

    def offered(*rooms: int) -> list[wire.Offer]:
        danas.live = [wire.Kept(agent_id=granted.gemini.pk, room_id=room) for room in rooms]
        return danas.sync().offers

    assert offered() == offered(cellar.pk) == []
    assert len(offered(cellar.pk, granted.room.pk)) == 1


def test_its_owner_can_let_mail_wake_it(granted: Kitchen) -> None:
    granted.danas.asleep = [granted.gemini.pk]
    send(granted, granted.claude, works(granted, granted.bob), "gemini")
    assert granted.danas.sync().offers == []
    membership.edit_agent(granted.dana, "gemini", wire.AgentEdit(wake_for_mail=True))
    [offer] = granted.danas.sync().offers
    assert offer.agent.wake_for_mail


def test_mail_waits_while_its_reader_works(granted: Kitchen) -> None:
    source = works(granted, granted.bob)
    granted.ask(granted.dana, "@gemini begin")
    busy = granted.danas.run()
    entry = send(granted, granted.claude, source, "gemini")
    assert granted.danas.take() == []
    assert facts(entry) == {"gemini": ["stored", "waiting: queued behind other work"]}
    granted.danas.tell(busy, wire.QuestionFact(key="q", subject="tool", title="Bake", action="bake", short="bake"))
    assert facts(entry) == {"gemini": ["stored", "waiting: it waits for its owner, dana"]}
    assert granted.danas.take() == []
    granted.danas.end(busy)
    assert len(granted.danas.take()) == 1


def test_what_it_does_in_another_room_is_not_told(granted: Kitchen) -> None:
    cellar = membership.create_room(granted.dana, name="cellar")
    membership.add_agent(granted.dana, cellar.pk, granted.gemini.pk)
    granted.ask(granted.dana, "@gemini count the wine", cellar)
    granted.danas.run()
    entry = send(granted, granted.claude, works(granted, granted.bob), "gemini")
    assert facts(entry) == {"gemini": ["stored", "waiting: queued"]}


def test_why_mail_waits_is_said_of_each(granted: Kitchen) -> None:
    source = works(granted, granted.alice)
    entry = send(granted, granted.claude, source, "gemini codex bob")
    assert facts(entry) == {
        "gemini": ["stored", "waiting: dana is asked whether it may start"],
        "codex": ["stored", "waiting: queued"],
        "bob": ["stored"],
    }
    control.pause_agent(granted.alice, granted.codex.pk, paused=True)
    assert facts(entry)["codex"] == ["stored", "waiting: paused"]
    Machine.objects.filter(pk=granted.daemon.machine.pk).update(last_seen_at=timezone.now() - timedelta(hours=1))
    assert facts(entry)["codex"] == ["stored", "waiting: offline"]
    Exchange.objects.update(paused_at=timezone.now())
    assert facts(entry)["codex"] == ["stored", "waiting: the agents' exchange is paused until a person writes"]
    turns.answer(granted.dana, granted.question(Turn.objects.get(agent=granted.gemini)).pk, verdict="no", note="Busy")
    assert facts(entry)["gemini"] == ["stored", "waiting: Busy"]


def test_mail_that_was_read_by_hand_needs_no_turn(granted: Kitchen) -> None:
    entry = send(granted, granted.claude, works(granted, granted.bob), "gemini")
    read(granted, granted.gemini)
    turn = granted.turn(entry)
    assert (turn.status, turn.note) == ("cancelled", "Its mail was read already.")
    assert granted.danas.take() == []
    asked = send(granted, granted.codex, None, "gemini")
    read(granted, granted.gemini)
    assert granted.question(granted.turn(asked)).verdict == "gone", "and its owner is asked no more"


def test_a_turn_that_died_before_it_looked_is_no_end_of_the_mail(granted: Kitchen) -> None:
    send(granted, granted.claude, works(granted, granted.bob), "gemini")
    granted.danas.end(granted.danas.run(), "interrupted")
    granted.ask(granted.bob, "@gemini again")
    [offer] = granted.danas.take()
    assert len(offer.notices) == 1


# --- sessions that wait for an answer


def kept(kitchen: Kitchen) -> list[tuple[int, int]]:
    return [(kept.agent_id, kept.room_id) for kept in kitchen.daemon.sync().keep]


@pytest.mark.parametrize("how", ["reply", "declined", "done"])
def test_who_waits_for_an_answer_is_kept_until_it_comes(granted: Kitchen, how: str) -> None:
    entry = send(granted, granted.claude, works(granted, granted.bob), "gemini")
    assert kept(granted) == [(granted.claude.pk, granted.room.pk)]
    turn = granted.danas.run()
    ack(granted, granted.gemini, turn, entry.seq, "accepted")
    assert kept(granted), "that it was accepted is no answer"
    if how == "reply":
        reply(granted, granted.gemini, turn, entry.seq)
    else:
        ack(granted, granted.gemini, turn, entry.seq, "done" if how == "done" else "declined")
    assert kept(granted) == []


def test_nobody_is_kept_for_longer_than_a_day_or_for_mail_to_people(granted: Kitchen) -> None:
    source = works(granted, granted.bob)
    send(granted, granted.claude, source, "bob")
    assert kept(granted) == []
    send(granted, granted.claude, source, "gemini")
    Recipient.objects.filter(awaited_until__isnull=False).update(awaited_until=timezone.now() - timedelta(seconds=1))
    assert kept(granted) == []


def test_the_answer_wakes_who_asked_in_the_same_persons_name(granted: Kitchen) -> None:
    source = works(granted, granted.bob)
    entry = send(granted, granted.claude, source, "gemini")
    granted.daemon.end(source)
    turn = granted.danas.run()
    answer = reply(granted, granted.gemini, turn, entry.seq, "salt")
    assert (answer.parent_seq, answer.topic, answer.hop) == (entry.seq, entry.topic, 2)
    [offer] = granted.daemon.take()
    assert (offer.cause, offer.principal, [notice.preview for notice in offer.notices]) == ("mail", "bob", ["salt"])


def test_a_decline_wakes_who_asked_and_its_card_hangs_under_its_own_message(granted: Kitchen) -> None:
    source = works(granted, granted.bob)
    entry = send(granted, granted.claude, source, "gemini")
    granted.daemon.end(source)
    turn = granted.danas.run()
    ack(granted, granted.gemini, turn, entry.seq, "accepted")
    assert granted.daemon.take() == [], "that it was accepted wakes nobody"
    ack(granted, granted.gemini, turn, entry.seq, "declined", "no salt here")
    [offer] = granted.daemon.take()
    assert Turn.objects.get(pk=offer.turn_id).entry == entry
    assert (offer.author, [notice.preview for notice in offer.notices]) == ("gemini", ["accepted", "declined"])
    granted.daemon.start(offer)
    letters = read(granted, granted.claude, offer.turn_id).messages
    assert [(letter.kind, letter.note, letter.parent) for letter in letters] == [
        ("accepted", "", entry.seq),
        ("declined", "no salt here", entry.seq),
    ]


def test_a_receipt_asks_no_owner_anything(kitchen: Kitchen) -> None:
    """Bob's request of claude was approved once: the receipt is there when claude looks, and starts nothing."""
    allow(kitchen, kitchen.gemini, kitchen.bob)
    source = works(kitchen, kitchen.bob)
    entry = send(kitchen, kitchen.claude, source, "gemini")
    ack(kitchen, kitchen.gemini, kitchen.danas.run(), entry.seq, "done", "all salted")
    assert not Turn.objects.filter(agent=kitchen.claude, cause="mail").exists()
    [letter] = read(kitchen, kitchen.claude, source).messages
    assert (letter.kind, letter.note, letter.in_the_name_of) == ("done", "all salted", "bob")


def test_delivery_is_a_fact_of_its_own_in_the_log(granted: Kitchen) -> None:
    entry = send(granted, granted.claude, works(granted, granted.bob), "gemini")
    turn = granted.danas.run()
    delivered = Entry.objects.get(kind="delivered")
    assert (delivered.parent_seq, delivered.author, delivered.source_turn) == (
        entry.seq, granted.seat(granted.gemini), turn,
    )  # fmt: skip
    entry.refresh_from_db()
    assert entry.body == "please look"


# --- agents among themselves


def test_two_that_answer_every_letter_stop_at_the_limit_until_a_person_writes(granted: Kitchen) -> None:
    allow(granted, granted.gemini, granted.alice)

    def answer_all() -> int:
        """Each answers whatever waits for it, until neither has a turn; how many letters that were."""
        written = 0
        for _ in range(100):
            worked = False
            for agent, daemon in ((granted.claude, granted.daemon), (granted.gemini, granted.danas)):
                for offer in daemon.take():
                    daemon.start(offer)
                    for letter in read(granted, agent, offer.turn_id).messages:
                        reply(granted, agent, offer.turn_id, letter.number, "and you?")
                        written += 1
                    daemon.end(offer.turn_id)
                    worked = True
            if not worked:
                return written
        pytest.fail("they never stop")

    source = works(granted, granted.alice)
    send(granted, granted.claude, source, "gemini", "how are you?")
    granted.daemon.end(source)
    first = answer_all()
    assert 0 < first <= 8
    [pause] = Entry.objects.filter(kind="control", data__what="exchange paused")
    assert "until a person writes" in pause.body
    last = Entry.objects.filter(kind="message").order_by("-seq").first()
    assert last is not None
    assert list(facts(last).values()) == [
        ["stored", "waiting: the agents' exchange is paused until a person writes"],
    ]  # fmt: skip
    granted.ask(granted.bob, "carry on")
    assert answer_all() > 0
