"""Previews that any reader takes, and the room's history for an agent."""

from __future__ import annotations

import json
import unicodedata

import pytest

from agentroom_machine import wire
from approvals import mailbox
from rooms import membership
from tests.approvals.kitchen import Kitchen, agent_of
from tests.mailbox.post import send, works

FAMILY = "👨‍👩‍👧‍👦"
SIGNS = [FAMILY, "🇫🇷", "🏴󠁧󠁢󠁳󠁣󠁴󠁿", "é", "é́", "नि", "שָׁ", "👍🏽", "각"]


@pytest.mark.parametrize("sign", SIGNS)
@pytest.mark.parametrize("offset", range(12))
def test_a_preview_cuts_no_sign_in_half(sign: str, offset: int) -> None:
    text = "x" * offset + sign * 30
    shown = mailbox.preview(text, 20)
    assert len(shown) <= 20
    kept = shown.removesuffix("…").removeprefix("x" * min(offset, 19))
    assert kept == sign * (len(kept) // len(sign))
    assert json.loads(json.dumps(shown)) == shown
    assert shown.encode().decode() == shown


def test_a_short_text_is_its_own_preview() -> None:
    assert mailbox.preview(f"two\nlines {FAMILY}") == f"two lines {FAMILY}"
    assert mailbox.preview("x" * 200) == "x" * 200
    assert mailbox.preview("x" * 201) == "x" * 199 + "…"


def test_a_preview_is_bounded_whatever_the_sign() -> None:
    assert len(mailbox.preview("a" + "\u0301" * 10_000)) <= 200
    assert len(mailbox.preview(" " * 40_000 + "end")) <= 200


@pytest.mark.parametrize("nasty", ["\x1b[2J", "\x1b]0;t\x07", "\r", "\0", "\u202e", "\ud83d", "\u2028"])
def test_nothing_in_a_preview_acts(nasty: str) -> None:
    shown = mailbox.preview(f"a{nasty}b")
    assert not [letter for letter in shown if unicodedata.category(letter) in ("Cc", "Cf", "Cs", "Zl", "Zp")]


# --- history


def test_history_begins_where_the_agent_joined(kitchen: Kitchen) -> None:
    for number in range(3):
        kitchen.ask(kitchen.bob, f"old {number}")
    late = agent_of(kitchen.danas.machine, "late")
    membership.add_agent(kitchen.dana, kitchen.room.pk, late.pk)
    assert mailbox.history(kitchen.seat(late)).entries == []
    kitchen.ask(kitchen.bob, "new")
    page = mailbox.history(kitchen.seat(late))
    assert [line.body for line in page.entries] == ["new"]
    assert (page.has_more, page.cursor) == (False, page.latest_seq)
    earlier = mailbox.history(kitchen.seat(late), after=1)
    assert [line.body for line in earlier.entries] == ["old 0", "old 1", "old 2", "new"]


def test_history_is_what_was_said_and_not_what_tools_put_out(kitchen: Kitchen) -> None:
    turn = works(kitchen, kitchen.bob)
    kitchen.daemon.tell(
        turn,
        wire.TextFact(part="1", text="I look "),
        wire.TextFact(part="1", text="around."),
        wire.ToolCallFact(call="c", tool="execute", title="ls", state="done", output="secret output"),
        wire.TextFact(part="2", text="Done."),
    )
    send(kitchen, kitchen.claude, turn, "gemini", "a letter")
    lines = mailbox.history(kitchen.seat(kitchen.codex)).entries
    assert [(line.from_handle, line.kind, line.body) for line in lines] == [
        ("bob", "message", "@claude begin"),
        ("claude", "text", "I look around."),
        ("claude", "text", "Done."),
        ("claude", "message", "a letter"),
    ]
    assert (lines[-1].to, lines[-1].in_the_name_of) == (["gemini"], "bob")


def test_pages_of_history_follow_each_other_without_a_gap(kitchen: Kitchen) -> None:
    for number in range(7):
        kitchen.ask(kitchen.bob, f"{number}")
    seat, seen, after = kitchen.seat(kitchen.codex), [], 0
    while True:
        page = mailbox.history(seat, after=after, limit=2)
        seen += [line.body for line in page.entries]
        after = page.cursor
        if not page.has_more:
            break
    assert seen == [f"{number}" for number in range(7)]
    assert mailbox.history(seat, after=10**9).entries == []
