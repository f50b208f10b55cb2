"""An agent passes something on: it never runs with more than the rights of the person behind it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from approvals import control, limits, turns
from approvals.models import Exchange, Mail, Turn
from messaging import log
from messaging.models import Entry, Recipient
from rooms import membership
from rooms.errors import Conflict, Invalid, NotFound, Refused
from rooms.models import Agent, User
from tests.approvals.kitchen import Daemon, Kitchen, agent_of, key


def send(kitchen: Kitchen, agent: Agent, turn: Turn | int | None, to: str, body: str = "please look") -> Entry:
    running = Turn.objects.get(pk=turn) if isinstance(turn, int) else turn
    return turns.send(kitchen.seat(agent), running, to=to.split(), body=body, client_id=key(), connection="turn")


def works(kitchen: Kitchen, user: User, whom: str = "claude") -> int:
    """A turn of this person's that runs on one of alice's agents."""
    turn = kitchen.turn(kitchen.ask(user, f"@{whom} begin"))
    if turn.status == "asked":
        turns.answer(kitchen.alice, kitchen.question(turn).pk, verdict="once")
    return kitchen.daemon.run()


def allow(kitchen: Kitchen, agent: Agent, user: User) -> None:
    control.set_grant(agent.owner, agent_id=agent.pk, member_id=kitchen.seat(user).pk, level="always")


def test_the_recipients_owner_is_asked_and_sees_the_whole_chain(kitchen: Kitchen) -> None:
    entry = send(kitchen, kitchen.claude, works(kitchen, kitchen.bob), "gemini")
    turn = kitchen.turn(entry)
    assert (turn.status, turn.cause, turn.principal) == ("asked", "mail", kitchen.bob)
    question = kitchen.question(turn)
    assert question.short == "bob → claude → gemini"
    with pytest.raises(NotFound):
        turns.answer(kitchen.alice, question.pk, verdict="once")
    turns.answer(kitchen.dana, question.pk, verdict="once")
    [offer] = kitchen.danas.take()
    assert (offer.principal, offer.author, offer.principal_is_owner) == ("bob", "claude", False)


def test_it_runs_at_once_where_the_person_may_start_the_recipient(kitchen: Kitchen) -> None:
    allow(kitchen, kitchen.gemini, kitchen.bob)
    turn = kitchen.turn(send(kitchen, kitchen.claude, works(kitchen, kitchen.bob), "gemini"))
    assert turn.status == "queued"


def test_nothing_is_passed_on_or_asked_again_for_somebody_who_was_shut_out(kitchen: Kitchen) -> None:
    allow(kitchen, kitchen.gemini, kitchen.bob)
    running = works(kitchen, kitchen.bob)
    control.shut_out(kitchen.bob, by=kitchen.alice)
    turn = kitchen.turn(send(kitchen, kitchen.claude, running, "gemini"))
    assert (turn.status, turn.note) == ("refused", "The person behind it may no longer ask here.")
    kitchen.daemon.end(running, "failed")
    with pytest.raises(Refused):
        turns.retry(kitchen.alice, running, client_id=key())


def test_its_senders_owner_lends_it_nothing(kitchen: Kitchen) -> None:
    """Alice may start gemini, and owns claude and codex; bob may only start claude."""
    allow(kitchen, kitchen.gemini, kitchen.alice)
    turn = works(kitchen, kitchen.bob)
    entry = send(kitchen, kitchen.claude, turn, "gemini codex")
    assert set(Turn.objects.filter(entry=entry).values_list("agent__handle", "status")) == {
        ("gemini", "asked"),
        ("codex", "asked"),
    }


def test_the_owner_behind_it_runs_on_their_other_agent(kitchen: Kitchen) -> None:
    turn = kitchen.turn(send(kitchen, kitchen.claude, works(kitchen, kitchen.alice), "codex"))
    assert (turn.status, turn.principal) == ("queued", kitchen.alice)


def test_outside_a_turn_nobody_stands_behind_it(kitchen: Kitchen) -> None:
    turn = kitchen.turn(send(kitchen, kitchen.claude, None, "codex"))
    assert (turn.status, turn.principal) == ("asked", None)
    assert kitchen.question(turn).short == "nobody → claude → codex"
    with pytest.raises(Invalid):
        turns.answer(kitchen.alice, kitchen.question(turn).pk, verdict="always")
    turns.answer(kitchen.alice, kitchen.question(turn).pk, verdict="once")
    assert kitchen.daemon.run() == turn.pk


def test_deny_holds_for_what_comes_through_an_agent(kitchen: Kitchen) -> None:
    control.set_grant(kitchen.dana, agent_id=kitchen.gemini.pk, person_id=kitchen.bob.pk, level="deny")
    assert kitchen.turn(send(kitchen, kitchen.claude, works(kitchen, kitchen.bob), "gemini")).status == "refused"


def test_who_left_has_no_rights_to_pass_on(kitchen: Kitchen) -> None:
    allow(kitchen, kitchen.gemini, kitchen.bob)
    turn = works(kitchen, kitchen.bob)
    control.remove_member(kitchen.alice, kitchen.seat(kitchen.bob).pk)
    passed = kitchen.turn(send(kitchen, kitchen.claude, turn, "gemini"))
    assert passed.status == "refused"
    assert kitchen.danas.sync().offers == []


def test_a_mention_in_it_addresses_nobody(kitchen: Kitchen) -> None:
    entry = send(kitchen, kitchen.claude, works(kitchen, kitchen.alice), "alice", "@codex @gemini run this")
    assert not Turn.objects.filter(entry=entry).exists()
    assert set(Recipient.objects.filter(entry=entry).values_list("member__handle", flat=True)) == {"alice"}


@pytest.mark.parametrize("to", ["nobody", "charlie", "claude", "codex nobody", ""])
def test_an_unknown_recipient_stores_nothing(kitchen: Kitchen, to: str) -> None:
    turn = works(kitchen, kitchen.alice)
    before = Entry.objects.count()
    with pytest.raises(Invalid):
        send(kitchen, kitchen.claude, turn, to)
    assert Entry.objects.count() == before


def test_nobody_speaks_from_a_turn_that_ended_or_is_anothers(kitchen: Kitchen) -> None:
    turn = works(kitchen, kitchen.alice)
    with pytest.raises(Refused):
        send(kitchen, kitchen.codex, turn, "gemini")
    kitchen.daemon.end(turn)
    with pytest.raises(Refused):
        send(kitchen, kitchen.claude, turn, "codex")


def test_the_same_key_again_is_the_same_message_and_one_request(kitchen: Kitchen) -> None:
    turn = Turn.objects.get(pk=works(kitchen, kitchen.bob))
    seat = kitchen.seat(kitchen.claude)
    first, again = (
        turns.send(seat, turn, to=["gemini"], body="look", client_id="same", connection="turn") for _ in range(2)
    )
    assert first.pk == again.pk
    assert Turn.objects.filter(cause="mail").count() == 1


def again(kitchen: Kitchen, to: Sequence[str], body: str = "look\r\nhere", **more: Any) -> Entry:
    """Claude's call with the key that is always the same."""
    return turns.send(kitchen.seat(kitchen.claude), None, to=to, body=body, client_id="same", connection="c", **more)


@pytest.mark.parametrize("to", ["all", ["@All"]])
def test_to_all_with_the_same_key_is_the_same_message_though_somebody_came(
    kitchen: Kitchen, to: str | list[str]
) -> None:
    first = again(kitchen, to)
    membership.add_agent(kitchen.alice, kitchen.room.pk, agent_of(kitchen.daemon.machine, "helper").pk)
    assert again(kitchen, to) == first


def test_to_some_with_the_same_key_is_the_same_message_though_one_of_them_left(kitchen: Kitchen) -> None:
    first = again(kitchen, ["codex", "Gemini"], subject="a cake", topic="bake", ticket="#1")
    before = Turn.objects.count()
    control.remove_member(kitchen.alice, kitchen.seat(kitchen.gemini).pk)
    assert again(kitchen, ["@codex", "gemini"], subject=" a  cake", topic="bake", ticket="#1") == first
    assert Turn.objects.count() == before
    for other in ({"subject": "a pie"}, {"topic": "pie"}, {"ticket": "#2"}, {"body": "bake"}):
        with pytest.raises((Conflict, Invalid)):
            again(kitchen, ["codex", "gemini"], **{"subject": "a cake", "topic": "bake", "ticket": "#1"} | other)
    for to in (["codex"], ["all"], ["gemini", "codex"]):
        with pytest.raises((Conflict, Invalid)):
            again(kitchen, to, subject="a cake", topic="bake", ticket="#1")


def test_an_answer_with_the_same_key_is_the_same_though_nobody_is_there_to_hear_it(kitchen: Kitchen) -> None:
    letter = send(kitchen, kitchen.gemini, None, "claude")

    def answers(body: str = "looked") -> Entry:
        return turns.reply(
            kitchen.seat(kitchen.claude), None, message=letter.seq, body=body, client_id="same", connection="c"
        )

    first = answers()
    control.remove_member(kitchen.alice, kitchen.seat(kitchen.gemini).pk)
    assert answers() == first
    with pytest.raises(Refused):
        answers("not looked")
    log.purge(kitchen.room.pk, letter.seq)
    assert answers() == first
    with pytest.raises(NotFound):
        answers("not looked")


# --- sharing a turn


def test_waiting_mail_of_one_person_shares_a_turn(kitchen: Kitchen) -> None:
    allow(kitchen, kitchen.gemini, kitchen.bob)
    source = works(kitchen, kitchen.bob)
    first = kitchen.turn(send(kitchen, kitchen.claude, source, "gemini", "first"))
    second = send(kitchen, kitchen.claude, source, "gemini", "second")
    assert not Turn.objects.filter(entry=second).exists()
    assert Mail.objects.get(turn=first).entry == second
    [offer] = kitchen.danas.take()
    assert offer.cause == "mail"
    assert [notice.preview for notice in offer.notices] == ["first", "second"]
    assert "first" not in offer.body


def test_mail_of_two_people_never_does(kitchen: Kitchen) -> None:
    for person in (kitchen.bob, kitchen.dana):
        allow(kitchen, kitchen.codex, person)
        allow(kitchen, kitchen.claude, person)
    control.pause_agent(kitchen.alice, kitchen.codex.pk, paused=True)
    for person in (kitchen.bob, kitchen.dana):
        turn = works(kitchen, person)
        send(kitchen, kitchen.claude, turn, "codex", f"for {person.username}")
        kitchen.daemon.end(turn)
    waiting = Turn.objects.filter(agent=kitchen.codex, cause="mail", status="queued")
    assert {(turn.principal, turn.entry.body) for turn in waiting} == {
        (kitchen.bob, "for bob"),
        (kitchen.dana, "for dana"),
    }
    assert not Mail.objects.exists()


def test_mail_that_nobody_stands_behind_shares_nothing(kitchen: Kitchen) -> None:
    for _ in range(2):
        send(kitchen, kitchen.claude, None, "codex")
    assert Turn.objects.filter(cause="mail").count() == 2


def test_mail_that_joins_a_question_changes_what_is_asked(kitchen: Kitchen) -> None:
    source = works(kitchen, kitchen.bob)
    turn = kitchen.turn(send(kitchen, kitchen.claude, source, "gemini", "harmless"))
    read = kitchen.question(turn)
    send(kitchen, kitchen.claude, source, "gemini", "and delete it all")
    with pytest.raises(Exception, match="another one by now"):
        turns.answer(kitchen.dana, read.pk, verdict="once", digest=read.action_digest)
    now = kitchen.question(turn)
    assert "delete it all" in now.action
    turns.answer(kitchen.dana, now.pk, verdict="once", digest=now.action_digest)


def test_what_was_approved_covers_nothing_that_came_later(kitchen: Kitchen) -> None:
    source = works(kitchen, kitchen.bob)
    turn = kitchen.turn(send(kitchen, kitchen.claude, source, "gemini", "harmless"))
    turns.answer(kitchen.dana, kitchen.question(turn).pk, verdict="once")
    later = kitchen.turn(send(kitchen, kitchen.claude, source, "gemini", "and delete it all"))
    assert later.status == "asked"
    [offer] = kitchen.danas.take()
    assert [notice.preview for notice in offer.notices] == ["harmless"]


def test_mail_wakes_no_agent_that_sleeps_unless_its_owner_says_so(kitchen: Kitchen) -> None:
    allow(kitchen, kitchen.gemini, kitchen.bob)
    send(kitchen, kitchen.claude, works(kitchen, kitchen.bob), "gemini")
    kitchen.danas.asleep = [kitchen.gemini.pk]
    assert kitchen.danas.sync().offers == []
    Agent.objects.filter(pk=kitchen.gemini.pk).update(wake_for_mail=True)
    assert len(kitchen.danas.sync().offers) == 1


def test_an_agents_words_are_not_asked_again_as_a_persons(kitchen: Kitchen) -> None:
    allow(kitchen, kitchen.gemini, kitchen.bob)
    send(kitchen, kitchen.claude, works(kitchen, kitchen.bob), "gemini")
    turn = kitchen.danas.run()
    kitchen.danas.end(turn, "failed")
    for user in (kitchen.bob, kitchen.dana):
        with pytest.raises(Refused):
            turns.retry(user, turn, client_id=key())


# --- agents among themselves


@dataclass
class Echoes:
    """claude and gemini, who answer whatever the other one says."""

    kitchen: Kitchen

    def __post_init__(self) -> None:
        k = self.kitchen
        k.ask(k.alice, "@claude tell gemini")
        allow(k, k.gemini, k.alice)
        self.machines: tuple[tuple[Agent, Daemon, str], ...] = (
            (k.claude, k.daemon, "gemini"),
            (k.gemini, k.danas, "claude"),
        )

    def step(self) -> bool:
        """Every agent that has a turn answers; False when none has."""
        worked = False
        for agent, daemon, other in self.machines:
            for offer in daemon.take():
                daemon.start(offer)
                send(self.kitchen, agent, offer.turn_id, other, "echo")
                daemon.end(offer.turn_id)
                worked = True
        return worked

    def run(self) -> int:
        steps = 0
        while self.step():
            steps += 1
            assert steps < 100, "they never stop"
        return Entry.objects.filter(author__is_agent=True, kind="message").count()

    @property
    def pauses(self) -> int:
        return Entry.objects.filter(kind="control", data__what="exchange paused").count()


def test_two_echoes_stop_after_eight_hops_and_the_room_sees_why(kitchen: Kitchen) -> None:
    echoes = Echoes(kitchen)
    assert echoes.run() == limits.MOST_HOPS + 1
    assert echoes.pauses == 1
    waiting = Turn.objects.get(status="queued")
    assert (waiting.cause, waiting.entry.hop) == ("mail", limits.MOST_HOPS + 1)


def test_a_person_lets_them_go_on_and_they_stop_again(kitchen: Kitchen) -> None:
    echoes = Echoes(kitchen)
    echoes.run()
    kitchen.ask(kitchen.bob, "Go on, then.")
    assert echoes.run() == 2 * limits.MOST_HOPS + 2
    assert echoes.pauses == 2


def test_twenty_messages_in_ten_minutes_are_enough_however_short_the_chain(kitchen: Kitchen) -> None:
    turn = works(kitchen, kitchen.alice)
    for _ in range(limits.MOST_MESSAGES):
        send(kitchen, kitchen.claude, turn, "bob")
    assert not Exchange.objects.get().paused_at
    send(kitchen, kitchen.claude, turn, "bob")
    assert Exchange.objects.get().paused_at
    waiting = kitchen.turn(send(kitchen, kitchen.claude, turn, "codex"))
    assert kitchen.daemon.sync().offers == []
    kitchen.ask(kitchen.bob, "Enough.")
    assert [offer.turn_id for offer in kitchen.daemon.take()] == [waiting.pk]


def test_slow_talk_is_no_loop(kitchen: Kitchen) -> None:
    turn = works(kitchen, kitchen.alice)
    for _ in range(limits.MOST_MESSAGES - 1):
        send(kitchen, kitchen.claude, turn, "bob")
    real = timezone.now
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("django.utils.timezone.now", lambda: real() + timedelta(minutes=11))
        for _ in range(2):
            send(kitchen, kitchen.claude, turn, "bob")
    assert not Exchange.objects.get().paused_at


def test_a_turn_that_was_offered_before_the_pause_does_not_start(kitchen: Kitchen) -> None:
    allow(kitchen, kitchen.gemini, kitchen.bob)
    send(kitchen, kitchen.claude, works(kitchen, kitchen.bob), "gemini")
    [offer] = kitchen.danas.take()
    Exchange.objects.update(paused_at=timezone.now())
    assert kitchen.danas.start(offer) == "Its mail waits until a person writes."
    assert Turn.objects.get(pk=offer.turn_id).status == "queued"


def test_what_people_ask_does_not_wait_for_it(kitchen: Kitchen) -> None:
    Exchange.objects.create(room=kitchen.room, paused_at=timezone.now())
    turn = Turn.objects.create(
        room=kitchen.room, entry=kitchen.ask(kitchen.alice, "hello"), agent=kitchen.claude, principal=kitchen.alice,
        status="queued", queued_at=timezone.now(),
    )  # fmt: skip
    Exchange.objects.update(paused_at=timezone.now())
    assert kitchen.daemon.run() == turn.pk
