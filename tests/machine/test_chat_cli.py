"""``agentroom read``, ``send`` and ``wait``, with a server in memory."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import pytest
from click.testing import CliRunner, Result

from agentroom_machine import cli, client, tokens, wire
from agentroom_machine.cli import output
from agentroom_machine.errors import Trouble
from agentroom_machine.profile import Profile, Settings
from agentroom_machine.tokens import Tokens
from tests.machine.fake_chat import CONNECTION, FakeChat
from tests.machine.fake_server import TOKEN

Cli = Callable[..., Result]
EVIL = "\x1b[2J\x1b]0;owned\x07\x1b]8;;http://x\x07\x1b]52;c;eA==\x07\rover\x08\x9b2J\u202etxt\u2066\u200b\x7f\u2028end"
ACTS = {"\x1b", "\x07", "\r", "\x08", "\x9b", "\u202e", "\u2066", "\u200b", "\x7f", "\u2028"}


@pytest.fixture
def room() -> FakeChat:
    return FakeChat()


@pytest.fixture(autouse=True)
def profile(no_home: Path, monkeypatch: pytest.MonkeyPatch) -> Profile:
    monkeypatch.delenv("AGENTROOM_SESSION", raising=False)
    profile = Profile.named()
    tokens.keep(profile, Tokens(TOKEN, CONNECTION))
    profile.keep(Settings(server="http://kitchen.test", name="laptop", machine_id=1, owner="alice"))
    return profile


@pytest.fixture
def agentroom(room: FakeChat, monkeypatch: pytest.MonkeyPatch) -> Cli:
    monkeypatch.setattr(output, "Client", lambda url, token: client.Client(url, token, room.transport()))

    def run(*args: str, given: str | bytes = "", **environment: str) -> Result:
        return CliRunner().invoke(cli.cli, args, input=given, env=environment)

    return run


def code(done: Result) -> int:
    """What the process would end with."""
    return done.exception.exit_code if isinstance(done.exception, Trouble) else done.exit_code


def printed(done: Result) -> list[int]:
    return [json.loads(line)["number"] for line in done.stdout.splitlines()]


def nothing() -> None:
    """A wait that finds nothing."""


# --- reading --------------------------------------------------------------------------------------------------------


def test_the_chat_is_read_with_the_accounts_connection_page_by_page(agentroom: Cli, room: FakeChat) -> None:
    for i in range(7):
        room.say(f"{i}")
    room.page = 3
    done = agentroom("read", "--json")
    assert (done.exit_code, printed(done)) == (0, [1, 2, 3, 4, 5, 6, 7])
    assert {request.headers["Authorization"] for request in room.asked} == {f"Bearer {CONNECTION}"}
    assert printed(agentroom("read", "--json", "--after", "5")) == [6, 7]
    assert printed(agentroom("read", "--json", "--after", "2", "--limit", "2")) == [3, 4]
    assert agentroom("read", "--after", "7").output == ""


def test_what_is_left_out_is_not_shown(agentroom: Cli, room: FakeChat) -> None:
    room.say("1", topic="noise")
    room.say("2", session="me")
    room.say("3", topic="oven", session="me too")
    room.say("4", topic="hum")
    done = agentroom("read", "--json", "--skip-topic", "noise", "--skip-topic", "hum", "--skip-session", "me")
    assert printed(done) == [3]


@pytest.mark.parametrize("option", ["--skip-topic", "--skip-session"])
@pytest.mark.parametrize("command", ["read", "wait"])
def test_an_unset_variable_leaves_out_nothing_unseen(agentroom: Cli, command: str, option: str) -> None:
    assert agentroom(command, option, "").exit_code == 2


def test_a_message_is_shown_with_who_wrote_it_and_when(agentroom: Cli, room: FakeChat) -> None:
    first = room.say("Who bakes?\n\nI can't.", topic="oven", session="night shift")
    room.say("I do.", topic="oven", parent=first.number, parent_removed=True)
    room.say("Stop.", connection="", by_owner=True)
    room.say("", blanked=True)
    lines = agentroom("read", TZ="UTC").stdout.splitlines()
    at = first.at.astimezone().isoformat(" ", "seconds")
    assert lines == [
        f"1  {at}  oven  1f2e3d4c “night shift”", "    Who bakes?", "", "    I can't.",
        f"2  {at}  oven  answers 1 (removed)  1f2e3d4c", "    I do.",
        f"3  {at}  general  alice, in the browser", "    Stop.",
        f"4  {at}  general  1f2e3d4c", "    (Its words were taken out.)",
    ]  # fmt: skip


def test_nothing_in_a_message_commands_the_terminal_or_passes_for_another_one(agentroom: Cli, room: FakeChat) -> None:
    fake = "ok\n9  2026-01-02 03:04:05+00:00  general  alice, in the browser\r7  2026  general  alice"
    for body, name in ((EVIL, EVIL), (fake, f"x”  alice, in the browser\n{fake}")):
        room.say(body, session=name, topic=f"t{body}", account=name, connection=name, by_owner=body is EVIL)
    shown = agentroom("read")
    assert not ACTS & set(shown.output)
    heads = [line for line in shown.stdout.splitlines() if line and not line.startswith("    ")]
    assert [head.split()[0] for head in heads] == ["1", "2"]
    assert "\\x1b" in shown.output
    assert "U+202E" in shown.output
    as_json = agentroom("read", "--json")
    assert as_json.output.isascii()
    assert not ACTS & set(as_json.output)
    assert [json.loads(line)["body"] for line in as_json.stdout.splitlines()] == [EVIL, fake]


def test_words_of_the_server_do_not_command_the_terminal_either(agentroom: Cli, room: FakeChat) -> None:
    body = wire.Problem(title="No.", status=404, detail=EVIL, code="not_found").model_dump_json()
    room.fault = lambda request: httpx.Response(404, content=body)
    done = agentroom("read")
    assert code(done) == 1
    assert isinstance(done.exception, Trouble)
    assert not ACTS & set(output.inert(str(done.exception)))


# --- following ------------------------------------------------------------------------------------------------------


def test_following_prints_what_is_there_and_what_comes_each_once(agentroom: Cli, room: FakeChat) -> None:
    for i in range(5):
        room.say(f"{i}")
    room.page = 2
    room.waits = iter([lambda: room.say("6"), nothing, lambda: [room.say("7"), room.say("8"), room.say("9")]])
    done = agentroom("read", "--follow", "--json")
    assert printed(done) == [1, 2, 3, 4, 5, 6, 7, 8, 9]


def test_following_lives_through_a_server_that_is_away_and_says_so_once(agentroom: Cli, room: FakeChat) -> None:
    room.say("1")
    outages = iter([1, 0, 1, 1, 1, 0, 0])

    def away(request: httpx.Request) -> httpx.Response | None:
        if next(outages, 0) == 1:
            return httpx.Response(502, content=b"<h1>Bad gateway</h1>")
        return None

    room.fault = away
    room.waits = iter([lambda: room.say("2"), lambda: room.say("3")])
    done = agentroom("read", "--follow", "--json")
    assert printed(done) == [1, 2, 3]
    assert done.stderr.count("Trying again.") == done.stderr.count("The server is back.") == 2


@pytest.mark.parametrize("lost", [httpx.ReadError("cut"), httpx.ReadTimeout("slow"), httpx.RemoteProtocolError("half")])
def test_an_answer_that_was_lost_on_the_way_is_printed_once(agentroom: Cli, room: FakeChat, lost: Exception) -> None:
    cut = iter([True, False, True])

    def lose(request: httpx.Request) -> None:
        if next(cut, False):
            raise lost

    room.say("1")
    room.after = lose
    room.waits = iter([lambda: room.say("2")])
    assert printed(agentroom("read", "--follow", "--json")) == [1, 2]


def test_a_page_of_something_else_that_answers_is_no_message(agentroom: Cli, room: FakeChat) -> None:
    portal = iter([httpx.Response(200, content=b"<h1>Sign in to the train's network</h1>")])
    room.fault = lambda request: next(portal, None)
    room.say("1")
    assert printed(agentroom("read", "--follow", "--json")) == [1]


def test_no_wait_is_longer_than_a_proxy_holds_a_call(agentroom: Cli, room: FakeChat) -> None:
    room.waits = iter([nothing])
    agentroom("read", "--follow")
    agentroom("wait", "--timeout", "900")
    asked = [float(request.url.params["timeout"]) for request in room.asked]
    assert asked
    assert max(asked) <= 25


def test_a_server_that_waits_for_nobody_is_not_asked_without_a_pause(agentroom: Cli, room: FakeChat) -> None:
    room.waits = iter([nothing] * 1000)
    assert code(agentroom("wait", "--timeout", "0.6")) == 7
    assert len(room.asked) < 8


def test_where_much_is_said_it_does_not_ask_for_each_message_by_itself(agentroom: Cli, room: FakeChat) -> None:
    room.waits = iter([lambda: room.say("x")] * 1000)
    began = time.monotonic()
    assert len(printed(agentroom("read", "--follow", "--json", "--limit", "6"))) == 6
    assert time.monotonic() - began > 0.9
    room.page = 1
    began = time.monotonic()
    assert len(printed(agentroom("read", "--follow", "--json", "--limit", "6"))) == 6
    assert time.monotonic() - began < 0.9, "what is there already comes at once"


def test_a_chat_that_became_shorter_is_followed_on_and_said(agentroom: Cli, room: FakeChat) -> None:
    for i in range(9):
        room.say(f"{i}")

    def restored() -> None:
        del room.messages[3:]

    room.waits = iter([restored, lambda: room.say("four again")])
    done = agentroom("read", "--follow", "--json", "--after", "8")
    assert printed(done) == [9, 4]
    assert "reading on from 3" in done.stderr


def test_who_stands_behind_the_end_gets_what_comes_next(agentroom: Cli, room: FakeChat) -> None:
    room.say("one")
    room.waits = iter([lambda: room.say("two")])
    done = agentroom("wait", "--json", "--after", "100")
    assert printed(done) == [2]
    assert "reading on from 2" in done.stderr


@pytest.mark.parametrize("command", [["read"], ["read", "--follow"], ["wait"], ["send", "hello"]])
@pytest.mark.parametrize(("how", "ends"), [("on", 6), ("known", 4)])
def test_it_ends_with_words_and_a_code_of_its_own(
    agentroom: Cli, room: FakeChat, command: list[str], how: str, ends: int
) -> None:
    setattr(room, how, False)
    done = agentroom(*command)
    assert code(done) == ends
    assert str(done.exception)
    if how == "known":
        assert "agentroom login http://kitchen.test" in str(done.exception)
    assert len(room.asked) == 1, "trying again is wrong"


def test_switched_off_while_it_follows_ends_it(agentroom: Cli, room: FakeChat) -> None:
    room.say("1")
    done = agentroom("read", "--follow", "--json")
    assert (printed(done), code(done)) == ([1], 6)
    assert "switched" in str(done.exception)


def test_a_limit_ends_following(agentroom: Cli, room: FakeChat) -> None:
    room.waits = iter([lambda: [room.say("1"), room.say("2"), room.say("3")]])
    done = agentroom("read", "--follow", "--json", "--limit", "2")
    assert (printed(done), done.exit_code) == ([1, 2], 0)


# --- going on where it ended ----------------------------------------------------------------------------------------


def test_resuming_goes_on_behind_what_was_printed(agentroom: Cli, room: FakeChat) -> None:
    for i in range(3):
        room.say(f"{i}")
    assert printed(agentroom("read", "--json", "--resume", "--limit", "2")) == [1, 2]
    assert printed(agentroom("read", "--json", "--resume")) == [3]
    assert printed(agentroom("read", "--json", "--resume")) == []
    room.say("4")
    assert printed(agentroom("read", "--json", "--resume", "--follow")) == [4]
    assert printed(agentroom("wait", "--json", "--resume", "--timeout", "0.1")) == []
    assert printed(agentroom("read", "--json")) == [1, 2, 3, 4], "only who asks for it goes on"


def test_nothing_is_kept_unless_it_is_asked_for(agentroom: Cli, room: FakeChat, profile: Profile) -> None:
    room.say("1")
    agentroom("read")
    agentroom("send", "hello")
    assert not (profile.folder / "chat").exists()
    assert agentroom("read", "--resume", "--after", "1").exit_code == 2


def test_what_could_not_be_printed_is_not_kept_as_read(
    agentroom: Cli, room: FakeChat, profile: Profile, monkeypatch: pytest.MonkeyPatch
) -> None:
    room.say("1")

    def full(text: str, **more: Any) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as broken:
        broken.setattr("agentroom_machine.cli.chat.click.echo", full)
        assert agentroom("read", "--resume").exit_code != 0
    assert printed(agentroom("read", "--json", "--resume")) == [1]


def test_each_session_and_each_connection_goes_on_for_itself(agentroom: Cli, room: FakeChat, profile: Profile) -> None:
    room.say("1")
    assert printed(agentroom("read", "--json", "--resume", AGENTROOM_SESSION="one")) == [1]
    assert printed(agentroom("read", "--json", "--resume", AGENTROOM_SESSION="one")) == []
    assert printed(agentroom("read", "--json", "--resume", AGENTROOM_SESSION="two")) == [1]
    tokens.keep(profile, Tokens(TOKEN, "arc_another"))
    room.token = "arc_another"
    assert printed(agentroom("read", "--json", "--resume", AGENTROOM_SESSION="one")) == [1]


@pytest.mark.parametrize("text", ["", "x", "-1", "true", "[]", "1e3"])
def test_a_damaged_place_reads_from_the_beginning(agentroom: Cli, room: FakeChat, profile: Profile, text: str) -> None:
    room.say("1")
    agentroom("read", "--resume")
    [file] = (profile.folder / "chat").iterdir()
    assert file.stat().st_mode & 0o077 == 0
    file.write_text(text)
    assert printed(agentroom("read", "--json", "--resume")) == [1]


# --- waiting ----------------------------------------------------------------------------------------------------------


def test_waiting_ends_with_what_came(agentroom: Cli, room: FakeChat) -> None:
    room.say("1")
    room.waits = iter([nothing, lambda: room.say("2")])
    done = agentroom("wait", "--after", "1", "--json", "--timeout", "20")
    assert (printed(done), done.exit_code) == ([2], 0)


def test_waiting_begins_with_what_was_not_read(agentroom: Cli, room: FakeChat) -> None:
    room.say("1")
    room.say("2")
    assert printed(agentroom("wait", "--json", "--after", "1")) == [2]
    assert printed(agentroom("wait", "--json")) == [1, 2]


def test_ones_own_words_end_no_wait_that_leaves_them_out(agentroom: Cli, room: FakeChat) -> None:
    room.waits = iter([lambda: room.say("mine", session="me"), nothing, lambda: room.say("theirs")])
    assert printed(agentroom("wait", "--json", "--skip-session", "me", "--timeout", "20")) == [2]


def test_waiting_in_vain_has_a_code_of_its_own(agentroom: Cli, room: FakeChat) -> None:
    room.waits = iter([nothing] * 1000)
    done = agentroom("wait", "--timeout", "0.3")
    assert (code(done), done.stdout) == (7, "")


def test_waiting_for_a_server_that_stays_away_is_not_in_vain_but_offline(agentroom: Cli, room: FakeChat) -> None:
    room.fault = lambda request: httpx.Response(503)
    done = agentroom("wait", "--timeout", "0.5")
    assert code(done) == 3
    assert len(room.asked) > 1


# --- sending ----------------------------------------------------------------------------------------------------------


def test_a_message_is_sent_with_all_that_was_said_about_it(agentroom: Cli, room: FakeChat) -> None:
    room.say("Who?", topic="oven")
    done = agentroom("send", "I do.", "--topic", "oven", "--reply-to", "1", "--session", "baker")
    assert (done.exit_code, done.stdout) == (0, "Sent as 2, topic oven.\n")
    sent = room.messages[-1]
    assert (sent.body, sent.topic, sent.parent, sent.session) == ("I do.", "oven", 1, "baker")
    told = json.loads(agentroom("send", "Again.", "--json").stdout)
    assert (told["number"], told["session"]) == (3, "")


@pytest.mark.parametrize("body", [[], ["-"]])
def test_the_text_may_come_by_standard_input(agentroom: Cli, room: FakeChat, body: list[str]) -> None:
    assert agentroom("send", *body, given="one\n\ntwo é\n").exit_code == 0
    assert agentroom("send", *body, given=b"\xff\xfe broken\n").exit_code == 0
    assert [message.body for message in room.messages] == ["one\n\ntwo é", "\ufffd\ufffd broken"]
    done = agentroom("send", *body, given="x" * 1_000_001)
    assert (code(done), len(room.messages)) == (1, 2)


def test_a_broken_argument_is_text(agentroom: Cli, room: FakeChat) -> None:
    assert agentroom("send", "--session", "\udcff", "a\udce9b").exit_code == 0
    assert (room.messages[-1].body, room.messages[-1].session) == ("a\ufffdb", "\ufffd")


def test_the_sessions_name_may_stand_in_the_environment(agentroom: Cli, room: FakeChat) -> None:
    agentroom("send", "x", AGENTROOM_SESSION="night shift")
    agentroom("send", "x", "--session", "day", AGENTROOM_SESSION="night shift")
    assert [message.session for message in room.messages] == ["night shift", "day"]


def test_an_answer_that_was_lost_sends_once(agentroom: Cli, room: FakeChat) -> None:
    lost = iter([True, True, False])

    def lose(request: httpx.Request) -> None:
        if next(lost):
            raise httpx.ReadError("cut")

    room.after = lose
    done = agentroom("send", "once")
    assert (done.exit_code, [message.body for message in room.messages]) == (0, ["once"])
    assert len(room.asked) == 3
    assert done.stderr.count("Trying again.") == 1


def test_two_messages_with_the_same_words_are_two(agentroom: Cli, room: FakeChat) -> None:
    agentroom("send", "ping")
    agentroom("send", "ping")
    assert len(room.messages) == 2


def test_what_is_not_known_to_be_stored_can_be_sent_again_as_the_same(agentroom: Cli, room: FakeChat) -> None:
    def lose(request: httpx.Request) -> None:
        raise httpx.ReadError("cut")

    room.after = lose
    done = agentroom("send", "once", "--timeout", "0.4")
    assert code(done) == 3
    key = str(done.exception).rpartition("--key ")[2]
    room.after = None
    assert agentroom("send", "once", "--key", key).exit_code == 0
    assert len(room.messages) == 1


@pytest.mark.parametrize("key", ["", "two words", "é", "x" * 201])
def test_a_key_that_is_none_is_refused(agentroom: Cli, room: FakeChat, key: str) -> None:
    assert agentroom("send", "x", "--key", key).exit_code == 2
    assert room.asked == []


def test_what_a_rule_refuses_is_said_and_not_tried_again(agentroom: Cli, room: FakeChat) -> None:
    body = wire.Problem(title="Unprocessable", status=422, detail="Write something first.", code="invalid")
    room.fault = lambda request: httpx.Response(422, content=body.model_dump_json())
    done = agentroom("send", " ")
    assert (code(done), str(done.exception)) == (1, "Write something first.")
    assert len(room.asked) == 1


def test_without_a_pairing_it_says_what_to_do(agentroom: Cli, profile: Profile) -> None:
    profile.settings_file.unlink()
    for command in (["read"], ["send", "x"], ["wait"]):
        done = agentroom(*command)
        assert isinstance(done.exception, Trouble)
        assert "agentroom login URL" in str(done.exception)
