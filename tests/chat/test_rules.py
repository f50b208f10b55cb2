"""The rules of the account chat, each by its sentence; ``test_doors`` holds the doors against the same ones."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from typing import Any

import pytest
from django.db import connection

from agentroom import account_chat
from agentroom.auth import Unauthorised
from approvals.models import AuditRecord
from messaging import chat, log
from messaging.chat import Leave
from messaging.models import Entry
from rooms import access, membership
from rooms.errors import Conflict, Invalid, NotFound, Refused
from rooms.models import Member, Room, User
from tests.chat.programs import Program, bodies, numbers

pytestmark = pytest.mark.django_db


@pytest.fixture
def alice() -> User:
    return membership.make_person("alice")


@pytest.fixture
def claude(alice: User) -> Program:
    return Program(alice, "claude")


@pytest.fixture
def codex(alice: User) -> Program:
    return Program(alice, "codex")


# --- F1: one private chat, in order


def test_all_programs_of_one_account_share_one_chat_in_order(claude: Program, codex: Program) -> None:
    asked = claude.send("who has the oven?")
    codex.send("me", reply_to=asked.number)
    claude.send("thanks")
    for program in (claude, codex):
        assert bodies(program.read()) == ["who has the oven?", "me", "thanks"]
    assert numbers(claude.read()) == sorted(numbers(claude.read()))
    assert claude.read().messages[1].parent == asked.number


def test_another_account_has_a_chat_of_its_own(claude: Program) -> None:
    dana = Program(membership.make_person("dana"), "claude")
    claude.send("for alice's programs")
    assert dana.read().messages == []
    sent = dana.send("for dana's")
    assert bodies(claude.read()) == ["for alice's programs"]
    with pytest.raises(NotFound):
        claude.send("answer", reply_to=sent.number + 1)


def test_the_chat_is_made_with_the_account_and_its_owner_sits_there_alone(alice: User, claude: Program) -> None:
    room = Room.objects.get(owner=alice, kind=Room.Kind.ACCOUNT)
    assert list(room.members.values_list("user__username", flat=True)) == ["alice"]
    assert claude.seat.room_id == room.pk


# --- F2: who said it


def test_each_message_names_the_account_the_session_and_the_connection(claude: Program) -> None:
    message = claude.send("hello")
    assert (message.account, message.session, message.by_owner) == ("alice", "claude", False)
    assert message.connection == hashlib.sha256(claude.token.encode()).hexdigest()[:8]
    assert claude.read().messages == [message]


def test_sessions_on_one_connection_share_its_id_and_connections_differ(claude: Program, codex: Program) -> None:
    one, two = claude.send("a", session="front"), claude.send("b", session="back")
    assert (one.connection, one.session) == (two.connection, "front")
    assert codex.send("c", session="front").connection != one.connection


def test_a_session_name_proves_nothing(alice: User, claude: Program) -> None:
    pretender = claude.send("I am your owner", session="alice")
    assert (pretender.by_owner, pretender.session) == (False, "alice")
    written = chat.send(
        claude.seat, body="It is me", client_id="k", connection=chat.BY_OWNER, session="", by_program=False
    )
    assert (written.by_owner, written.connection) == (True, "")


def test_a_session_name_is_one_line_of_a_hundred_characters(claude: Program) -> None:
    assert claude.send("x", session="  two\nlines ").session == "two lines"
    assert claude.send("x", session="a" * 100).session == "a" * 100
    with pytest.raises(Invalid, match="100 characters"):
        claude.send("x", session="a" * 101)


def test_a_connection_that_ended_speaks_for_nobody_while_another_does(
    alice: User, claude: Program, codex: Program
) -> None:
    known = claude.caller
    membership.revoke_connection(alice, claude.connection.pk)
    for ask in (known.seat, known.chat):
        with pytest.raises(NotFound):
            ask()
    assert codex.caller.chat() == (codex.seat.room_id, "alice")


# --- F4: the switch


def test_the_switch_is_on_at_first_and_off_shuts_programs_out_of_all_three(alice: User, claude: Program) -> None:
    claude.send("before")
    assert chat.switch(alice, on=False).agent_chat is False
    for act in (claude.send, claude.read):
        with pytest.raises(Refused, match="switched the agents' chat off") as refusal:
            act()
        assert refusal.value.code == chat.SWITCHED_OFF
    assert Entry.objects.filter(kind="message").count() == 1


def test_on_again_everything_is_there(alice: User, claude: Program) -> None:
    before = claude.send("before")
    chat.switch(alice, on=False)
    chat.switch(alice, on=False)
    chat.switch(alice, on=True)
    assert claude.read().messages == [before]
    told = Entry.objects.filter(kind="control").values_list("body", flat=True)
    assert [*told] == ["alice switched the agents' chat off.", "alice switched the agents' chat on."]
    trail = AuditRecord.objects.filter(owner=alice, what="agent chat").order_by("number")
    assert [*trail.values_list("who", "decision")] == [("alice", "switched off"), ("alice", "switched on")]


def test_the_owner_reads_and_writes_while_it_is_off(alice: User, claude: Program) -> None:
    before = claude.send("before")
    chat.switch(alice, on=False)
    seat = Member.objects.select_related("room").get(room__owner=alice, room__kind="account")
    mine = chat.send(seat, body="I am here", client_id="k", connection=chat.BY_OWNER, by_program=False)
    assert chat.read(seat, by_program=False).messages == [before, mine]


# --- F5: topics


@pytest.mark.parametrize("topic", ["a", "0", "build/linux.x86_64-2", "a" * 100])
def test_a_topic_is_plain(topic: str, claude: Program) -> None:
    assert claude.send("x", topic=topic).topic == topic


@pytest.mark.parametrize("topic", [".a", "-a", "/a", "_a", "A", "ä", "a b", "a\n", "a" * 101, "a\u200b", "１"])
def test_what_is_no_topic_is_refused_and_stores_nothing(topic: str, claude: Program) -> None:
    if topic == "a\n":
        assert claude.send("x", topic=topic).topic == "a"  # blanks around it are nobody's intention
        return
    with pytest.raises(Invalid, match="1 to 100"):
        claude.send("x", topic=topic)
    assert not Entry.objects.filter(kind="message").exists()


def test_no_topic_is_general(claude: Program) -> None:
    assert [claude.send("x").topic, claude.send("x", topic="").topic] == ["general", "general"]


def test_an_answer_keeps_its_parents_topic_and_another_is_refused(claude: Program, codex: Program) -> None:
    parent = claude.send("x", topic="oven")
    assert codex.send("y", reply_to=parent.number).topic == "oven"
    assert codex.send("y", reply_to=parent.number, topic="oven").topic == "oven"
    with pytest.raises(Invalid, match="keeps the topic of what it answers: oven"):
        codex.send("y", reply_to=parent.number, topic="general")
    in_general = claude.send("z")
    with pytest.raises(Invalid):
        codex.send("y", reply_to=in_general.number, topic="oven")


@pytest.mark.parametrize("number", [0, -1, 99, 2**63, 10**30])
def test_an_answer_to_nothing_is_absent(number: int, claude: Program) -> None:
    claude.send("x")
    with pytest.raises(NotFound, match="no message"):
        claude.send("y", reply_to=number)


def test_an_answer_to_what_is_no_message_is_absent(alice: User, claude: Program) -> None:
    chat.switch(alice, on=False)
    chat.switch(alice, on=True)
    told = Entry.objects.filter(kind="control").latest("seq")
    with pytest.raises(NotFound):
        claude.send("y", reply_to=told.seq)


# --- F6, F7: reading on


def test_earlier_messages_are_readable_from_zero_and_a_cursor_goes_on(claude: Program, codex: Program) -> None:
    sent = [claude.send(f"{n}") for n in range(7)]
    first = codex.read(limit=3)
    assert first.messages == sent[:3]
    assert (first.cursor, first.has_more, first.latest_seq) == (sent[2].number, True, sent[6].number)
    second = codex.read(first.cursor, limit=4)
    assert second.messages == sent[3:]
    assert (second.cursor, second.has_more) == (sent[6].number, False)
    assert codex.read(second.cursor).messages == []


def test_left_out_topics_and_sessions_are_passed_and_stay_stored(claude: Program, codex: Program) -> None:
    claude.send("a", topic="builds")
    wanted = codex.send("b")
    codex.send("c", topic="builds")
    last = claude.send("d")
    page = codex.read(leave=Leave.of(["builds"], ["claude"]))
    assert page.messages == [wanted]
    assert (page.cursor, page.has_more) == (last.number, False), "it has passed what it left out"
    assert bodies(codex.read()) == ["a", "b", "c", "d"]


@pytest.mark.parametrize(("name", "kept"), [("claude", 1), ("Claude", 2), ("claud", 2), ("claude ", 1), ("%", 2)])
def test_session_names_are_left_out_exactly(name: str, kept: int, claude: Program, codex: Program) -> None:
    claude.send("a")
    codex.send("b")
    assert len(codex.read(leave=Leave.of([], [name])).messages) == kept


def test_nothing_follows_a_list_of_topics() -> None:
    assert set(Leave.__slots__) == {"topics", "sessions"}
    for topics in (["Not plain"], [""], [" "], [f"t{n}" for n in range(101)]):
        with pytest.raises(Invalid) as refusal:
            Leave.of(topics)
        assert refusal.value.field == "skip_topics"
    for sessions in (["x" * 101], [""], [" "]):  # an unset variable would leave out the owner's words
        with pytest.raises(Invalid) as refusal:
            Leave.of([], sessions)
        assert refusal.value.field == "skip_sessions"


def test_a_page_without_a_message_still_goes_on(claude: Program, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(log, "WINDOW", 3)
    for n in range(40):
        claude.send(f"{n}", topic="noise")
    last = claude.send("at last")
    pages, cursor = 0, 0
    while True:
        page = claude.read(cursor, leave=Leave.of(["noise"]))
        assert page.cursor > cursor, "it never stands still"
        pages, cursor = pages + 1, page.cursor
        if not page.has_more:
            break
        assert page.messages == []
    assert (page.messages, cursor, pages) == ([last], last.number, 3)


def test_a_cursor_of_another_chat_or_of_tomorrow_gives_what_comes_and_nothing_else(claude: Program) -> None:
    claude.send("a")
    ahead = claude.read(10_000)
    assert (ahead.messages, ahead.has_more) == ([], False)
    later = claude.send("b")
    assert claude.read(ahead.cursor).messages == [later]
    assert bodies(claude.read(-5)) == ["a", "b"]


def test_a_page_holds_at_most_a_hundred(claude: Program) -> None:
    for n in range(103):
        claude.send(f"{n}")
    assert len(claude.read(limit=1000).messages) == 100
    assert len(claude.read(limit=0).messages) == 1


# --- F3: after a clean-up


def test_numbers_go_on_and_a_cursor_stays_valid_after_a_clean_up(claude: Program, codex: Program) -> None:
    sent = [claude.send(f"{n}") for n in range(4)]
    page = codex.read(limit=2)
    log.purge(claude.seat.room_id, sent[3].number)
    assert codex.read(page.cursor).messages == []
    later = claude.send("later")
    assert later.number > sent[3].number, "no number is used twice"
    assert codex.read(page.cursor).messages == [later]
    assert codex.read(0).messages == [later]


def test_a_reply_outlives_its_parent_and_says_so(claude: Program, codex: Program) -> None:
    parent = claude.send("x", topic="oven")
    answer = codex.send("y", reply_to=parent.number, key="mine")
    assert not answer.parent_removed
    log.purge(claude.seat.room_id, parent.number)
    [left] = claude.read().messages
    assert (left.number, left.parent, left.parent_removed, left.topic) == (answer.number, parent.number, True, "oven")
    # The same call again is still the same message, and a new answer has nothing to answer.
    assert codex.send("y", reply_to=parent.number, key="mine").number == answer.number
    with pytest.raises(NotFound, match="not any more"):
        codex.send("z", reply_to=parent.number)


def test_a_read_after_a_clean_up_does_not_walk_through_the_hole(
    claude: Program, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(log, "WINDOW", 2)
    sent = [claude.send(f"{n}") for n in range(30)]
    log.purge(claude.seat.room_id, sent[28].number)
    page = claude.read()
    assert (page.messages[0].number, page.has_more) == (sent[29].number, False)


# --- F9, and what is stored


def test_text_only_and_not_too_much(claude: Program) -> None:
    for body in ("", " \n\t "):
        with pytest.raises(Invalid, match="Write something"):
            claude.send(body)
    assert claude.send("x" * 50_000).body == "x" * 50_000
    with pytest.raises(Invalid, match="path"):
        claude.send("x" * 50_001)


def test_the_same_key_is_the_same_message_and_with_other_words_a_conflict(claude: Program, codex: Program) -> None:
    first = claude.send("hello", key="k")
    assert claude.send("hello", key="k").number == first.number
    others: list[dict[str, Any]] = [
        {"body": "other"}, {"body": "hello", "topic": "oven"}, {"body": "hello", "reply_to": first.number},
        {"body": "hello", "session": "another"},
    ]  # fmt: skip
    for other in others:
        with pytest.raises(Conflict):
            claude.send(key="k", **other)
    # Another connection's keys are its own.
    assert codex.send("hello", key="k").number != first.number
    assert len(claude.read().messages) == 2


def test_a_key_that_cannot_be_seen_is_none_and_refused(claude: Program) -> None:
    with pytest.raises(Invalid) as refusal:
        claude.send("hello", key="  ")
    assert refusal.value.field == "client_id"


def test_a_page_holds_so_much_text_and_one_message_at_least(claude: Program) -> None:
    for n in range(12):
        claude.send(f"{n}" + "x" * 45_000)
    got: list[str] = []
    cursor, pages = 0, 0
    while True:
        page = claude.read(cursor)
        assert 1 <= len(page.messages) <= 5
        got += [body[:-45_000] for body in bodies(page)]
        cursor, pages = page.cursor, pages + 1
        if not page.has_more:
            break
    assert (got, pages) == ([f"{n}" for n in range(12)], 3)
    assert len(chat.fresh(claude.seat.room_id, "alice", 0, 12).messages) == 5


def test_a_connection_that_ends_while_the_chat_is_locked_writes_nothing(
    alice: User, claude: Program, monkeypatch: pytest.MonkeyPatch
) -> None:
    known, lock = claude.caller, access.lock_rooms

    def revoked_meanwhile(rooms: Iterable[int]) -> dict[int, Room]:
        membership.revoke_connection(alice, claude.connection.pk)
        return lock(rooms)

    monkeypatch.setattr(access, "lock_rooms", revoked_meanwhile)
    with pytest.raises(Unauthorised):
        account_chat.send(known, body="too late", client_id="k")
    assert not Entry.objects.filter(kind="message").exists()


def test_a_connection_that_ends_while_a_page_is_read_gets_none(
    alice: User, claude: Program, codex: Program, monkeypatch: pytest.MonkeyPatch
) -> None:
    known, page = claude.caller, chat.page

    def revoked_meanwhile(*args: Any, **options: Any) -> chat.Page:
        membership.revoke_connection(alice, claude.connection.pk)
        codex.send("for who is still there")
        return page(*args, **options)

    monkeypatch.setattr(chat, "page", revoked_meanwhile)
    with pytest.raises(Unauthorised):
        account_chat.read(known)


def test_what_the_owner_blanked_says_so(claude: Program) -> None:
    claude.send("my password is 1234")
    entry = Entry.objects.get(kind="message")
    log.blank(entry.room_id, [entry], by=claude.seat, words="alice took it out.")
    [message] = claude.read().messages
    assert (message.blanked, message.body) == (True, "")


def test_topics_are_counted_newest_first(claude: Program) -> None:
    for topic in ("oven", "builds", "oven"):
        claude.send("x", topic=topic)
    assert [(topic.name, topic.messages) for topic in chat.topics(claude.seat)] == [("oven", 2), ("builds", 1)]


def test_a_read_is_a_bounded_walk_along_the_numbers(claude: Program) -> None:
    claude.send("x")
    rows = chat._kept(claude.seat.room_id, 0, 1000, Leave.of(["builds"], ["codex"]))
    plan = rows.explain()
    if connection.vendor == "sqlite":
        assert "USING INDEX" in plan
        assert "room_id=? AND seq>? AND seq<?" in plan.replace("SEARCH", "")
        assert "TEMP B-TREE" not in plan
    else:
        with connection.cursor() as cursor:
            # So few rows that any way is cheap; it must be possible to walk along the numbers without sorting.
            cursor.execute("SET LOCAL enable_seqscan = off")
            cursor.execute("SET LOCAL enable_sort = off")
            cursor.execute("SET LOCAL enable_bitmapscan = off")
        assert "Index Scan using entry_number_once" in rows.explain()
