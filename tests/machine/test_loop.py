"""The daemon's life with its server: offers, starts, reports, and every way in which that can go wrong."""

import hashlib
import json
import sqlite3
import sys
import threading
from datetime import timedelta
from pathlib import Path

import httpx
import psutil
import pytest

from agentroom_machine import wire
from agentroom_machine.client import Client
from agentroom_machine.daemon import session, workspace
from agentroom_machine.daemon.journal import Journal
from agentroom_machine.daemon.lock import SecondDaemon
from agentroom_machine.daemon.loop import LOST, Ended
from agentroom_machine.errors import Trouble
from tests.machine.cast import agent, offer
from tests.machine.conftest import House
from tests.machine.fake_server import allow, problem

ODD = f"{sys.executable} {Path(__file__).parent / 'odd_agent.py'}"


def did(house: House, what: str) -> list[dict[str, object]]:
    log = house.repository.parent / "demo.log"
    lines = [json.loads(line) for line in log.read_text().splitlines()] if log.exists() else []
    return [line for line in lines if line["did"] == what]


async def test_a_request_runs_and_is_told_in_order(house: House) -> None:
    house.server.decide = allow
    house.up()
    house.server.ask(offer(1, house.server.agents[0], "fix the test, draw a picture"))
    end = await house.end_of(1)
    assert end.state == "done"
    assert [fact.n for fact in house.server.facts] == list(range(1, len(house.server.facts) + 1))
    said = " ".join(str(line["text"]) for line in did(house, "say"))
    assert house.server.text(1).split() == said.split()
    assert [fact.path for fact in house.server.of(1, "file_change")] == ["shop.py", "sales.png"]
    (artifact,) = house.server.of(1, "artifact")
    assert house.server.files[artifact.sha256] == (house.repository / "sales.png").read_bytes()


async def test_what_was_declined_does_not_happen_and_the_agent_hears_why(house: House) -> None:
    house.up()
    house.server.ask(offer(1, house.server.agents[0], "delete"))
    (question,) = await house.until(lambda: house.server.questions(1), "a question")
    assert question.subject == "delete"
    assert question.action.startswith("rm -rf build\n\nin ")
    assert (house.repository / "build").exists()
    house.server.answer(wire.Verdict(key=question.key, verdict="no", answer="keep it", decided_by="alice"))
    assert (await house.end_of(1)).state == "done"
    assert (house.repository / "build").exists()
    assert "keep it" in house.server.text(1)
    assert house.server.of(1, "tool_call")[-1].state == "refused"


async def test_a_plain_question_is_answered_in_words(house: House) -> None:
    house.up()
    house.server.ask(offer(1, house.server.agents[0], "ask me"))
    (question,) = await house.until(lambda: house.server.questions(1), "a question")
    assert (question.subject, question.options) == ("question", ["Sweet", "Savoury"])
    house.server.answer(wire.Verdict(key=question.key, verdict="once", answer="with cheese"))
    await house.end_of(1)
    assert "with cheese it is." in house.server.text(1)


async def test_a_lost_acknowledgement_repeats_nothing(house: House) -> None:
    lost = 0

    def lose(request: httpx.Request) -> None:
        nonlocal lost
        if request.url.path == "/api/machine/facts" and lost < 3:
            lost += 1
            raise httpx.ReadError("cut", request=request)

    house.server.after = lose
    house.up()
    house.server.ask(offer(1, house.server.agents[0], "look"))
    await house.end_of(1)
    await house.until(lambda: house.server.sent[-1][-1] == house.server.acked and not house.server.offered)
    assert lost == 3
    numbers = [n for batch in house.server.sent for n in batch]
    assert len(numbers) > len(set(numbers))
    assert [fact.n for fact in house.server.facts] == sorted(set(numbers))


async def test_a_lost_answer_to_start_runs_once(house: House) -> None:
    lost: list[str] = []

    def lose(request: httpx.Request) -> None:
        if request.url.path.endswith("/start") and not lost:
            lost.append("start")
            raise httpx.ReadError("cut", request=request)

    house.server.after = lose
    house.up()
    house.server.ask(offer(1, house.server.agents[0], "look"))
    await house.end_of(1)
    assert house.server.started == [1, 1]
    assert len(did(house, "done")) == 1


async def test_a_turn_that_may_not_start_any_more_runs_nothing(house: House) -> None:
    house.server.fault = lambda request: problem(409, "conflict") if request.url.path.endswith("/start") else None
    house.up()
    house.server.ask(offer(1, house.server.agents[0], "look"))
    await house.until(lambda: house.said("dropped"), "a dropped offer")
    assert house.server.facts == []
    assert did(house, "say") == []


async def test_an_offer_that_was_only_journaled_runs_after_a_crash(house: House) -> None:
    config = house.server.agents[0]
    journal = Journal(house.profile.journal_file)
    journal.add_offer(offer(1, config, "look"))
    journal.close()
    house.server.offered[1] = offer(1, config, "look")
    house.up()
    assert (await house.end_of(1)).state == "done"
    assert house.server.started == [1]


async def test_a_turn_that_ran_at_the_crash_is_interrupted_and_never_runs_again(house: House) -> None:
    house.up()
    house.server.ask(offer(1, house.server.agents[0], "slow"))
    await house.until(lambda: house.server.of(1, "text"), "a first word")
    await house.kill()
    said = len(did(house, "say"))
    house.up()
    end = await house.end_of(1)
    assert (end.state, end.reason) == ("interrupted", LOST)
    house.server.ask(offer(2, house.server.agents[0], "look"))
    assert (await house.end_of(2)).state == "done"
    assert house.server.started == [1, 2]
    assert not [line for line in did(house, "say")[said:] if "Stirring" in str(line["text"])]


async def test_facts_that_were_not_sent_before_the_crash_are_sent_after_it(house: House) -> None:
    house.server.fault = lambda r: problem(503, "") if r.url.path == "/api/machine/facts" else None
    house.up()
    house.server.ask(offer(1, house.server.agents[0], "look"))
    await house.until(lambda: house.said("ended"), "the end on the machine")
    await house.kill()
    house.server.fault = None
    house.up()
    assert (await house.end_of(1)).state == "done"
    assert "The README says" in house.server.text(1)


async def test_it_says_once_that_it_is_connected_though_an_old_report_is_answered_before_the_hello(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    house.server.fault = lambda r: problem(503, "") if r.url.path == "/api/machine/facts" else None
    house.up()
    house.server.ask(offer(1, house.server.agents[0], "look"))
    await house.until(lambda: house.said("ended"), "the end on the machine")
    await house.kill()
    house.server.fault = None
    sync = Client.sync

    async def late(client: Client, request: wire.SyncRequest) -> wire.SyncReply:
        await house.until(lambda: house.said("online"), "the answer to the old report")
        return await sync(client, request)

    monkeypatch.setattr(Client, "sync", late)
    house.heard.clear()
    house.up()
    await house.until(lambda: house.said("agents"), "the hello")
    assert house.said("online") == ["Connected."]


async def test_stop_ends_the_whole_tree(house: House) -> None:
    house.server.agents = [agent(house.repository, runtime=ODD)]
    house.up()
    house.server.ask(offer(1, house.server.agents[0], "leave a child"))
    child = await house.until(lambda: _read(house.repository / "worker"), "the child")
    assert _alive(child)
    house.server.press_stop(1)
    assert (await house.end_of(1)).state == "stopped"
    assert not _alive(child)


async def test_an_agent_that_dies_while_its_child_lives_ends_its_turn(house: House) -> None:
    house.server.agents = [agent(house.repository, runtime=ODD)]
    house.up()
    house.server.ask(offer(1, house.server.agents[0], "die with a child"))
    end = await house.end_of(1)
    assert end.state == "failed"
    assert "odd agent starts" in end.reason
    assert "ghp_" not in end.reason
    assert not _alive(_read(house.repository / "worker") or "")


@pytest.mark.parametrize(
    ("word", "reason"),
    [("change mode", "left its asking mode"), ("refuse", "refused"), ("break", "the model is away"), ("die", "ended")],
)
async def test_a_turn_that_goes_wrong_ends_with_its_reason(house: House, word: str, reason: str) -> None:
    house.server.agents = [agent(house.repository, runtime=ODD)]
    house.up()
    house.server.ask(offer(1, house.server.agents[0], word))
    end = await house.end_of(1)
    assert end.state == "failed"
    assert reason in end.reason


async def test_an_agent_without_an_asking_mode_does_not_run(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ODD_MODES", "free,freer")
    house.server.agents = [agent(house.repository, runtime=ODD)]
    house.up()
    house.server.ask(offer(1, house.server.agents[0], "anything"))
    end = await house.end_of(1)
    assert "no mode in which it asks" in end.reason
    assert house.server.text(1) == ""


async def test_a_runtime_that_is_not_signed_in_says_so(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ODD_LOGIN", "1")
    house.server.agents = [agent(house.repository, runtime=ODD)]
    house.up()
    house.server.ask(offer(1, house.server.agents[0], "anything"))
    assert "not signed in" in (await house.end_of(1)).reason


async def test_a_withdrawn_turn_is_killed_and_says_nothing_more(house: House) -> None:
    house.up()
    house.server.ask(offer(1, house.server.agents[0], "slow"))
    await house.until(lambda: house.server.of(1, "text"), "a first word")
    house.server.withdraw(1)
    house.server.offered.pop(1)
    await house.until(lambda: house.said("ended"), "the end on the machine")
    house.server.ask(offer(2, house.server.agents[0], "look"))
    await house.end_of(2)
    assert house.server.end(1) is None


async def test_one_agent_runs_one_turn_and_two_agents_run_two(house: House) -> None:
    claude, codex = agent(house.repository), agent(house.repository, id=2, handle="codex")
    house.server.agents = [claude, codex]
    house.up()
    for turn_id, config in ((1, claude), (2, claude), (3, codex)):
        house.server.ask(offer(turn_id, config, "ask me"))
    await house.until(lambda: house.server.questions(1) and house.server.questions(3), "two questions")
    assert sorted(house.server.started) == [1, 3]
    (question,) = house.server.questions(1)
    house.server.answer(wire.Verdict(key=question.key, verdict="once", answer="Sweet"))
    await house.until(lambda: house.server.questions(2), "the second turn")


async def test_a_room_is_remembered_after_a_restart_and_another_room_is_not_told(house: House) -> None:
    config = house.server.agents[0]
    house.up()
    house.server.ask(offer(1, config, "remember the word lemon"))
    await house.end_of(1)
    await house.kill()
    house.up()
    house.server.ask(offer(2, config, "which word?"))
    await house.end_of(2)
    house.server.ask(offer(3, config, "which word?", room_id=8, room="pantry"))
    await house.end_of(3)
    house.server.ask(offer(4, config, "which word?", memory=2))
    await house.end_of(4)
    assert "lemon" in house.server.text(2)
    assert "lemon" not in house.server.text(3)
    assert "lemon" not in house.server.text(4)
    assert "A new session begins" in house.server.of(4, "notice")[0].text


async def test_an_idle_session_is_let_go_and_found_again(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(session, "IDLE", 0)
    daemon = house.up()
    house.server.ask(offer(1, house.server.agents[0], "remember the word lemon"))
    await house.end_of(1)
    await house.until(lambda: not house.server.running)
    assert await daemon._sessions.let_go() == 1
    house.server.ask(offer(2, house.server.agents[0], "which word?"))
    await house.end_of(2)
    assert "lemon" in house.server.text(2)


async def test_attached_files_reach_the_agent(house: House) -> None:
    content = b"three eggs"
    sha = hashlib.sha256(content).hexdigest()
    house.server.attached[sha] = content
    attached = {"sha256": sha, "name": "../list.txt", "content_type": "text/plain", "size": len(content)}
    house.up()
    house.server.ask(offer(1, house.server.agents[0], "look", attachments=[attached]))
    await house.end_of(1)
    assert (house.repository / ".agentroom" / "1" / "list.txt").read_bytes() == content
    assert house.server.of(1, "file_change", "artifact") == []


@pytest.mark.parametrize("refusal", [problem(413, "too_large"), httpx.Response(413, text="<html>too large</html>")])
async def test_a_file_that_the_server_refuses_becomes_words(house: House, refusal: httpx.Response) -> None:
    house.server.decide = allow
    house.server.fault = lambda request: refusal if request.method == "PUT" else None
    house.up()
    house.server.ask(offer(1, house.server.agents[0], "draw a picture"))
    assert (await house.end_of(1)).state == "done"
    assert house.server.of(1, "artifact") == []
    assert "sales.png could not be sent" in house.server.of(1, "notice")[0].text


async def test_a_fact_that_the_server_can_not_take_does_not_hold_up_the_rest(house: House) -> None:
    def refuse_plans(request: httpx.Request) -> httpx.Response | None:
        return problem(422, "invalid") if b'"kind":"plan"' in request.content else None

    house.server.fault = refuse_plans
    house.up()
    house.server.ask(offer(1, house.server.agents[0], "look and slice the test"))
    assert (await house.end_of(1)).state == "done"
    assert house.server.of(1, "plan") == []
    assert house.server.of(1, "notice")
    assert house.server.of(1, "tool_call")[-1].state in {"done", "failed"}


@pytest.mark.parametrize("status", [302, 400, 401, 403, 404, 405])
async def test_what_is_not_the_servers_own_answer_ends_nothing_and_loses_nothing(house: House, status: int) -> None:
    house.server.decide = allow
    house.up()
    house.server.ask(offer(1, house.server.agents[0], "slice the test, draw a picture"))
    await house.until(lambda: house.server.of(1, "text"), "a first word")
    refused: set[str] = set()

    def somebody_else(request: httpx.Request) -> httpx.Response | None:
        refused.add(request.url.path)
        return httpx.Response(status, text="<html>no such backend</html>", headers={"Location": "http://portal.test/"})

    house.server.fault = somebody_else
    await house.until(lambda: {"/api/machine/sync", "/api/machine/facts"} <= refused, "calls to somebody else")
    house.server.fault = None
    assert (await house.end_of(1)).state == "done"
    assert [fact.n for fact in house.server.facts] == list(range(1, len(house.server.facts) + 1))
    assert len(house.server.of(1, "artifact")) == 1
    assert house.said("refused") == []
    assert str(status) in house.said("offline")[0]


async def test_a_start_that_somebody_else_refuses_is_asked_again(house: House) -> None:
    house.server.fault = lambda r: httpx.Response(403) if r.url.path.endswith("/start") else None
    house.up()
    house.server.ask(offer(1, house.server.agents[0], "look"))
    await house.until(lambda: house.said("offline"), "offline")
    house.server.fault = None
    assert (await house.end_of(1)).state == "done"
    assert house.said("dropped") == []


async def test_offline_is_said_once_and_work_goes_on_when_the_server_is_back(house: House) -> None:
    house.server.fault = lambda request: problem(502, "")
    house.server.ask(offer(1, house.server.agents[0], "look"))
    house.up()
    await house.until(lambda: house.said("offline"), "offline")
    house.server.fault = None
    await house.end_of(1)
    assert len(house.said("offline")) == 1


@pytest.mark.parametrize("hours", [26, -26])
async def test_a_wrong_clock_changes_nothing_but_one_warning(house: House, hours: int) -> None:
    house.server.clock_off = timedelta(hours=hours)
    house.up()
    house.server.ask(offer(1, house.server.agents[0], "look"))
    assert (await house.end_of(1)).state == "done"
    assert len(house.said("clock")) == 1
    assert "26.0 hours" in house.said("clock")[0]


@pytest.mark.parametrize(
    ("status", "code", "error"),
    [(401, "revoked", Ended), (409, "second_daemon", SecondDaemon), (409, "superseded", Ended)],
)
async def test_a_daemon_that_is_not_wanted_ends(house: House, status: int, code: str, error: type[Exception]) -> None:
    house.up()
    house.server.ask(offer(1, house.server.agents[0], "slow"))
    await house.until(lambda: house.server.of(1, "text"), "a first word")
    house.server.fault = lambda request: problem(status, code)
    with pytest.raises(error):
        await house.ended()
    assert not [p for p in psutil.Process().children(recursive=True) if "demo_agent" in " ".join(_cmdline(p))]


async def test_draining_finishes_what_runs_and_takes_nothing_more(house: House) -> None:
    daemon = house.up()
    house.server.ask(offer(1, house.server.agents[0], "ask me"))
    (question,) = await house.until(lambda: house.server.questions(1), "a question")
    daemon.drain()
    house.server.ask(offer(2, house.server.agents[0], "look"))
    house.server.answer(allow(question))
    await house.ended()
    assert house.server.end(1) is not None
    assert house.server.started == [1]
    assert house.server.syncs[-1].draining


async def test_stopping_now_ends_what_runs_and_tells_it(house: House) -> None:
    daemon = house.up()
    house.server.ask(offer(1, house.server.agents[0], "ask me"))
    await house.until(lambda: house.server.questions(1), "a question")
    daemon.stop_now()
    await house.ended()
    end = house.server.end(1)
    assert end is not None
    assert (end.state, end.reason) == ("stopped", "stopped on the machine")
    assert house.server.questions(1) == []


async def test_an_agent_that_can_not_run_here_is_a_problem_in_words(house: House, tmp_path: Path) -> None:
    house.server.agents = [
        agent(tmp_path / "gone"),
        agent(house.repository, id=2, handle="codex", runtime="no-such-agent"),
    ]
    house.up()
    found = await house.until(lambda: house.server.syncs[-1].problems if house.server.syncs else None, "problems")
    assert "is missing" in found[1]
    assert "no-such-agent is not installed" in found[2]
    assert house.server.syncs[-1].ready == []


async def test_the_agent_gets_no_token_of_ours_and_none_that_pushes(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GITHUB_TOKEN", "x" * 20)
    monkeypatch.setenv("AGENTROOM_SECRET", "y" * 20)
    daemon = house.up()
    house.server.ask(offer(1, house.server.agents[0], "look"))
    await house.end_of(1)
    (live,) = daemon._sessions._live.values()
    assert live.runtime.tree is not None
    environ = psutil.Process(live.runtime.tree.process.pid).environ()
    assert "GITHUB_TOKEN" not in environ
    assert "AGENTROOM_SECRET" not in environ
    assert "PATH" in environ


async def test_a_slow_disk_delays_no_call_to_the_server(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    hangs, goes_on = threading.Event(), threading.Event()

    def slow(config: wire.AgentConfig) -> Path:
        hangs.set()
        goes_on.wait(30)
        return Path(config.workdir)

    monkeypatch.setattr(workspace, "check", slow)
    try:
        house.up()
        await house.until(hangs.is_set, "a look at the disk")
        before = len(house.server.syncs)
        await house.until(lambda: len(house.server.syncs) >= before + 2, "calls meanwhile")
    finally:
        goes_on.set()


async def test_a_journal_that_can_not_be_written_ends_the_daemon_in_words(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    daemon = house.up()
    house.server.ask(offer(1, house.server.agents[0], "slow"))
    await house.until(lambda: house.server.of(1, "text"), "a first word")

    def full(*given: object, **more: object) -> int:
        raise sqlite3.OperationalError("database or disk is full")

    monkeypatch.setattr(daemon._journal, "add", full)
    with pytest.raises(Trouble, match="database or disk is full"):
        await house.ended()


async def test_a_server_that_was_set_back_gets_a_new_journal(house: House) -> None:
    house.up()
    house.server.ask(offer(1, house.server.agents[0], "remember the word lemon"))
    await house.end_of(1)
    await house.until(lambda: not house.server.running)
    house.server.facts.clear()
    house.server.ask(offer(2, house.server.agents[0], "look"))
    with pytest.raises(Ended, match="agentroom up again"):
        await house.ended()
    house.server.offered.clear()
    house.up()
    house.server.ask(offer(3, house.server.agents[0], "which word?"))
    await house.end_of(3)
    assert "lemon" in house.server.text(3)


@pytest.mark.parametrize("meanwhile", [0, 40])
async def test_a_journal_that_was_set_back_takes_nothing_for_reported_that_was_not(
    house: House, meanwhile: int
) -> None:
    """``meanwhile``: so many reports wait before the server is asked for the first time."""
    house.up()
    house.server.ask(offer(1, house.server.agents[0], "remember the word lemon"))
    await house.end_of(1)
    await house.kill()
    earlier = house.profile.journal_file.read_bytes()
    house.up()
    house.server.ask(offer(2, house.server.agents[0], "slice the test"))
    await house.end_of(2)
    await house.until(lambda: house.server.sent[-1][-1] == house.server.acked)
    await house.kill()
    house.profile.journal_file.write_bytes(earlier)
    held = len(house.server.facts)
    journal = Journal(house.profile.journal_file)
    old = journal.journal_id
    journal.close()
    daemon = house.up()
    for _ in range(meanwhile):
        daemon._write(1, wire.NoticeFact(text="late"))
    house.server.ask(offer(3, house.server.agents[0], "look"))
    with pytest.raises(Ended, match="agentroom up again"):
        await house.ended()
    assert len(house.server.facts) == held
    (aside,) = house.profile.folder.glob("*.old-*.sqlite3")
    kept = Journal(aside)
    assert kept.count_pending() >= max(1, meanwhile)
    kept.close()
    house.server.facts.clear()
    house.server.offered.clear()
    house.up()
    house.server.ask(offer(4, house.server.agents[0], "which word?"))
    await house.end_of(4)
    assert "lemon" in house.server.text(4)
    assert house.server.syncs[-1].journal_id != old


def _read(path: Path) -> str | None:
    return path.read_text() if path.exists() else None


def _alive(word: str) -> bool:
    """Whether a process runs that was started with this word; in its box its number is another one."""
    assert word
    return any(word in (process.info["cmdline"] or []) for process in psutil.process_iter(["cmdline"]))


def _cmdline(process: psutil.Process) -> list[str]:
    try:
        return process.cmdline()
    except psutil.Error:
        return []
