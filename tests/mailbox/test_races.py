"""At the same moment: two that read, one key twice, mail that lands while its reader becomes idle."""

from __future__ import annotations

import threading

import pytest
from django.db import connections, transaction

from approvals import limits, mailbox, turns
from approvals.models import Turn
from messaging import log
from messaging.models import Entry, Recipient
from rooms.errors import Conflict
from rooms.models import Room
from tests.approvals.kitchen import make_kitchen
from tests.approvals.test_consent_races import both
from tests.mailbox.post import BY_HAND, allow, bodies, read, send, works

LETTERS, WRITERS = 1_000, 4
pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.timeout(600)]


def test_two_that_read_at_once_get_each_letter_once() -> None:
    kitchen = make_kitchen()
    seat = kitchen.seat(kitchen.gemini)
    for round_ in range(5):
        sent = [send(kitchen, kitchen.claude, None, "gemini", f"{round_}").seq for _ in range(6)]
        peeks = both(*[lambda: mailbox.read(seat, None, peek=True)] * 2)
        assert [[letter.number for letter in inbox.messages] for inbox in peeks] == [sent, sent]
        inboxes = both(*[lambda: mailbox.read(seat, None)] * 3)
        assert sorted(letter.number for inbox in inboxes for letter in inbox.messages) == sent
        assert mailbox.read(seat, None, peek=True).unread == 0
    assert Entry.objects.filter(kind="read").count() == 30


def test_the_same_key_at_once_is_one_message() -> None:
    kitchen = make_kitchen()
    for round_ in range(5):
        made = both(*[lambda number=round_: send(kitchen, kitchen.claude, None, "gemini", "hi", f"k{number}")] * 3)
        assert len({entry.seq for entry in made}) == 1
    assert len(mailbox.read(kitchen.seat(kitchen.gemini), None).messages) == 5
    others = both(*[lambda body=body: send(kitchen, kitchen.claude, None, "gemini", body, "same") for body in "ab"])
    assert sorted(isinstance(other, str) for other in others) == [False, True]
    with pytest.raises(Conflict):
        send(kitchen, kitchen.claude, None, "gemini", "c", "same")


def test_a_receipt_at_once_is_one_receipt() -> None:
    kitchen = make_kitchen()
    entry = send(kitchen, kitchen.claude, None, "gemini")
    seat = kitchen.seat(kitchen.gemini)
    made = both(
        *[
            lambda: mailbox.acknowledge(seat, None, message=entry.seq, status="done", note="ok", connection=BY_HAND)
        ] * 3
    )  # fmt: skip
    assert len({receipt.pk for receipt in made}) == 1
    assert len(mailbox.read(kitchen.seat(kitchen.claude), None).messages) == 1


def test_mail_that_lands_while_its_reader_becomes_idle_is_told_every_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """A thousand letters against an agent that works, reads and is idle again, over and over."""
    monkeypatch.setattr(limits, "MOST_MESSAGES", 10_000)
    kitchen = make_kitchen()
    allow(kitchen, kitchen.gemini, kitchen.alice)
    source = Turn.objects.get(pk=works(kitchen, kitchen.alice))
    seat = kitchen.seat(kitchen.claude)
    sent: list[int] = []
    got: list[int] = []

    def write(writer: int) -> None:
        try:
            for number in range(LETTERS // WRITERS):
                name = f"{writer}-{number}"
                entry = turns.send(seat, source, to=["gemini"], body=name, client_id=name, connection=BY_HAND)
                sent.append(entry.seq)
        finally:
            connections.close_all()

    def work() -> bool:
        """One look of the machine: whether it was given anything."""
        for offer in kitchen.danas.take():
            assert offer.notices, "a mail turn without a notice"
            assert not isinstance(kitchen.danas.start(offer), str)
            got.extend(letter.number for letter in read(kitchen, kitchen.gemini, offer.turn_id, limit=100).messages)
            kitchen.danas.end(offer.turn_id)
            return True
        return False

    writers = [threading.Thread(target=write, args=(writer,)) for writer in range(WRITERS)]
    for writer in writers:
        writer.start()
    while any(writer.is_alive() for writer in writers):
        work()
    while work():
        pass
    assert len(sent) == LETTERS
    assert got == sorted(sent), "each once, in order"
    assert not Recipient.objects.filter(member__agent=kitchen.gemini, read_at=None).exists()
    assert not Turn.objects.filter(agent=kitchen.gemini, status__in=Turn.WAITING).exists()


@pytest.mark.postgres
def test_a_reader_between_two_commits_misses_neither() -> None:
    """Whoever takes a number first also becomes visible first: the second writer waits for the first."""
    kitchen = make_kitchen()
    room = kitchen.room
    first_has_its_number, seen_between, release = threading.Event(), [], threading.Event()

    def first() -> None:
        with transaction.atomic():
            send(kitchen, kitchen.claude, None, "gemini", "first")
            first_has_its_number.set()
            release.wait(30)
        connections.close_all()

    def second() -> None:
        first_has_its_number.wait(30)
        send(kitchen, kitchen.codex, None, "gemini", "second")
        connections.close_all()

    threads = [threading.Thread(target=act) for act in (first, second)]
    start = Room.objects.get(pk=room.pk).last_seq
    for thread in threads:
        thread.start()
    first_has_its_number.wait(30)
    between = log.after(room.pk, start)
    seen_between += between.entries
    release.set()
    for thread in threads:
        thread.join(60)
    rest = log.after(room.pk, between.cursor).entries
    said = [entry.body for entry in [*seen_between, *rest] if entry.kind == "message"]
    assert said == ["first", "second"]
    assert bodies(read(kitchen, kitchen.gemini)) == ["first", "second"]
