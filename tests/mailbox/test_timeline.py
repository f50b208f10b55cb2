"""An answer stands in the room's timeline by itself, on the page and live, with the work that it starts under it."""

from __future__ import annotations

import json

from messaging import log
from messaging.render import live, reading, timeline
from tests.approvals.kitchen import Kitchen
from tests.mailbox.post import allow, reply, send, works


def test_a_reply_is_drawn_where_it_was_said_and_names_what_it_answers(kitchen: Kitchen) -> None:
    allow(kitchen, kitchen.gemini, kitchen.alice)
    source = works(kitchen, kitchen.alice)
    entry = send(kitchen, kitchen.claude, source, "gemini", "salt?")
    answer = reply(kitchen, kitchen.gemini, kitchen.danas.run(), entry.seq, "plenty of it")
    kitchen.daemon.end(source)

    page = reading.newest(kitchen.room.pk)
    [item] = [item for item in page.items if item.entry.seq == answer.seq]
    assert [card.facts.agent for card in item.cards] == ["claude"]
    assert f"#e{entry.seq}" in timeline.entry(item)
    assert answer.seq in [item.entry.seq for item in reading.around(kitchen.room.pk, answer.seq).items]

    entries = log.after(kitchen.room.pk, answer.seq - 1).entries
    told = json.loads(live.frame(kitchen.room.pk, answer.seq - 1, page.cursor, entries).text)
    assert [part["id"] for part in told["parts"] if "plenty of it" in part["html"]] == [f"e{answer.seq}"]
