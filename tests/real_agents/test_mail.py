"""Letters between the real Claude Code and the real Codex, from the sending to what the sender sees in the end."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.real_agents import homes
from tests.real_agents.post_room import PATIENCE, PostRoom, post_room

pytestmark = pytest.mark.timeout(600)

ANSWERED = ("stored", "delivered", "read", "accepted", "answered")


MODELS = {"codex": homes.PLAIN_TOOLS, "codex in JavaScript": homes.JAVASCRIPT}
IN_EACH = pytest.mark.parametrize("post", MODELS, indirect=True)
"""For how the tools are called; the rest is tried with plain tools."""


@pytest.fixture(scope="module", params=["codex"])
def post(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[PostRoom]:
    with post_room(tmp_path_factory.mktemp("live"), codex_model=MODELS[request.param]) as post:
        yield post


@IN_EACH
def test_an_idle_agent_is_told_reads_accepts_and_answers(post: PostRoom) -> None:
    post.wake()
    letter = post.write("Please taste the soup.")
    post.until_facts(letter, *ANSWERED)
    post.until_quiet()
    [answer] = [entry for entry in post.entries("message") if entry.parent_seq == letter]
    assert answer.body == "Done as you asked: Please taste the soup."
    # The sender was told in its turn, and read both the receipt and the answer.
    assert post.call("/inbox?peek=true")["unread"] == 0
    # The answer asks for nothing, and so it got none.
    told = post.entries("delivered", "read", "accepted", "declined", "done", "message")
    assert [entry.kind for entry in told if entry.parent_seq == answer.seq] == ["delivered", "read"]


def test_the_notice_carries_the_beginning_and_the_whole_text_comes_by_the_inbox_alone(post: PostRoom) -> None:
    post.wake()
    # What Codex's maker gets to see.
    post.model.overheard.clear()
    post.model.listens_for = lambda said: "Please read to the end" in said and '"model":"gpt' in said
    try:
        letter = post.write("Please read to the end: (at length).")
        post.until_facts(letter, *ANSWERED)
    finally:
        post.model.listens_for = lambda said: False
    post.until_quiet()
    told, *later = post.model.overheard
    assert "never salt it twice" not in told
    assert any("never salt it twice" in said for said in later)


def test_mail_starts_no_sleeping_agent_and_is_there_when_a_person_wakes_it(post: PostRoom) -> None:
    post.put_to_sleep()
    letter = post.write("Please count the spoons.")
    assert post.why_it_waits(letter) == "asleep"
    post.wake()
    post.until_facts(letter, *ANSWERED)
    post.until_quiet()


def test_mail_starts_a_sleeping_agent_whose_owner_wants_it(post: PostRoom) -> None:
    post.put_to_sleep()
    post.edit("codex", "--wake-for-mail")
    try:
        post.until_facts(post.write("Please light the stove."), *ANSWERED)
    finally:
        post.edit("codex", "--no-wake-for-mail")
    post.until_quiet()


def test_mail_waits_for_an_agent_that_is_offline(post: PostRoom) -> None:
    post.desk.stop(within=60)
    post.until_standing("codex", "offline")
    letter = post.write("Please air the pantry.")
    assert post.why_it_waits(letter) == "offline"
    post.desk.up()
    post.wake()
    post.until_facts(letter, *ANSWERED)
    post.until_quiet()


def test_mail_waits_for_an_agent_that_is_busy(post: PostRoom) -> None:
    post.model.held.clear()
    post.model.go.clear()
    turn = post.ask("@codex Wait for me")
    assert post.model.held.wait(PATIENCE)
    letter = post.write("Please fold the napkins.")
    assert post.why_it_waits(letter) == "queued behind other work"
    assert post.standing("codex") == "busy"
    post.model.go.set()
    post.until_done(turn)
    post.until_facts(letter, *ANSWERED)
    post.until_quiet()


def test_mail_waits_for_an_agent_that_waits_for_its_owner(post: PostRoom) -> None:
    turn = post.ask("@codex Run `rm menu.txt`")
    question = post.question(turn)
    letter = post.write("Please polish the glasses.")
    assert post.why_it_waits(letter) == "it waits for its owner, alice"
    assert post.standing("codex") == "waiting"
    post.alice.answer(question, {"verdict": "no", "note": "we need it"})
    post.until_done(turn)
    post.until_facts(letter, *ANSWERED)
    post.until_quiet()


def test_an_agent_that_moves_from_claude_code_to_codex_finds_its_mail(post: PostRoom) -> None:
    post.edit("codex", "--runtime", "claude")
    before = len(post.model.makers)
    post.wake()
    assert set(post.model.makers[before:]) == {"anthropic"}

    post.desk.stop(within=60)
    post.until_standing("codex", "offline")
    letter = post.write("Please bake the bread.")
    assert post.why_it_waits(letter) == "offline"
    post.edit("codex", "--runtime", "codex")
    before = len(post.model.makers)
    post.desk.up()
    post.wake()
    post.until_facts(letter, *ANSWERED)
    post.until_quiet()
    # No other agent here speaks like Codex.
    assert "responses" in post.model.makers[before:]
