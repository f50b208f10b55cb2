"""One letter's way there and back, as its sender sees it."""

from __future__ import annotations

from approvals import mailbox, turns
from tests.approvals.kitchen import Kitchen, key
from tests.mailbox.post import ack, allow, bodies, facts, now, read, reply, send, works


def test_mail_goes_there_and_back(kitchen: Kitchen) -> None:
    allow(kitchen, kitchen.gemini, kitchen.bob)
    allow(kitchen, kitchen.claude, kitchen.bob)
    turn = works(kitchen, kitchen.bob)
    entry = send(kitchen, kitchen.claude, turn, "gemini", "please look")
    assert facts(entry) == {"gemini": ["stored", "waiting: queued"]}
    other = kitchen.danas.run()
    assert facts(entry) == {"gemini": ["stored", "delivered"]}
    assert bodies(read(kitchen, kitchen.gemini, other)) == ["please look"]
    ack(kitchen, kitchen.gemini, other, entry.seq, "accepted", "on it")
    reply(kitchen, kitchen.gemini, other, entry.seq, "looked")
    ack(kitchen, kitchen.gemini, other, entry.seq, "done")
    assert facts(entry) == {"gemini": ["stored", "delivered", "read", "accepted", "answered", "done"]}
    kitchen.daemon.end(turn)
    back = kitchen.daemon.run()
    assert bodies(read(kitchen, kitchen.claude, back)) == ["accepted", "looked", "done"]


def test_the_owners_answer_is_mail(kitchen: Kitchen) -> None:
    turn = works(kitchen, kitchen.bob)
    number = mailbox.ask_owner(
        kitchen.seat(kitchen.claude), now(turn), action="rm -rf build", kind="delete", client_id=key(), connection="x"
    )
    kitchen.daemon.end(turn)
    turns.answer(kitchen.alice, number, verdict="no", note="keep it")
    [letter] = read(kitchen, kitchen.claude, kitchen.daemon.run()).messages
    assert (letter.kind, letter.body, letter.from_handle, letter.in_the_name_of) == (
        "answer", "No. keep it", "alice", "bob",
    )  # fmt: skip
