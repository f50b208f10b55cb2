"""The ``agentroom`` command, with a server in memory; and once as a process of its own."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import httpx
import pytest
from click.testing import CliRunner, Result

from agentroom_machine import cli, client, doctor, tokens, wire
from agentroom_machine.cli import login, output
from agentroom_machine.confine.choice import Choice
from agentroom_machine.daemon.journal import Journal
from agentroom_machine.daemon.lock import NOW, Lock, SecondDaemon
from agentroom_machine.errors import Rejected, Trouble
from agentroom_machine.profile import Profile, Settings
from agentroom_machine.tokens import Tokens, hashed
from tests.machine.cast import agent
from tests.machine.fake_server import TOKEN, FakeServer, problem

Cli = Callable[..., Result]


@pytest.fixture
def server() -> FakeServer:
    return FakeServer()


@pytest.fixture
def agentroom(server: FakeServer, no_home: Path, monkeypatch: pytest.MonkeyPatch) -> Cli:
    def connect(url: str, token: str | None) -> client.Client:
        return client.Client(url, token, server.transport())

    for module in (output, login, doctor):
        monkeypatch.setattr(module, "Client", connect)

    def run(*args: str) -> Result:
        return CliRunner().invoke(cli.cli, args)

    return run


@pytest.fixture
def paired(no_home: Path) -> Profile:
    profile = Profile.named()
    tokens.keep(profile, Tokens(TOKEN, "arc_test"))
    profile.keep(Settings(server="http://kitchen.test", name="laptop", machine_id=1, owner="alice"))
    return profile


def test_login_sends_only_hashes_and_keeps_the_secrets(agentroom: Cli, server: FakeServer, no_home: Path) -> None:
    done = agentroom("login", "http://kitchen.test", "--name", "laptop", "--no-browser")
    assert done.exit_code == 0, done.output
    assert "ABCD-EFGH" in done.output
    assert "http://kitchen.test/pair" in done.output
    kept = tokens.load(Profile.named())
    assert kept is not None
    assert server.paired_with is not None
    assert server.paired_with.token_hash == hashed(kept.machine)
    assert server.paired_with.connection_hash == hashed(kept.connection)
    assert kept.machine not in done.output
    assert kept.machine not in server.paired_with.model_dump_json()


def test_pairing_again_leaves_old_reports_behind(agentroom: Cli, server: FakeServer, no_home: Path) -> None:
    file = Profile.named().make().journal_file
    journal = Journal(file)
    journal.add(1, wire.NoticeFact(text="old"))
    journal.close()
    assert agentroom("login", "http://kitchen.test", "--no-browser").exit_code == 0
    again = Journal(file)
    assert again.count_pending() == 0
    assert again.journal_id != journal.journal_id
    again.close()


@pytest.mark.parametrize(("state", "words"), [("declined", "declined"), ("expired", "expired")])
def test_login_that_was_not_confirmed_keeps_nothing(
    agentroom: Cli, server: FakeServer, no_home: Path, state: str, words: str
) -> None:
    server.pairing = [state]
    done = agentroom("login", "http://kitchen.test", "--no-browser")
    assert isinstance(done.exception, Trouble)
    assert words in str(done.exception)
    assert not Profile.named().paired()


@pytest.mark.parametrize("url", ["ftp://x", "https://", "https://me:pw@x"])
def test_login_takes_only_a_plain_address(agentroom: Cli, url: str) -> None:
    assert agentroom("login", url).exit_code == 2


def test_login_over_plain_http_is_warned_about(agentroom: Cli) -> None:
    assert "not reached over https" in agentroom("login", "http://rooms.example.com", "--no-browser").stderr


def test_without_a_pairing_every_command_says_what_to_do(agentroom: Cli) -> None:
    for command in (["agents"], ["status"], ["stop"], ["up"]):
        done = agentroom(*command)
        assert isinstance(done.exception, Trouble)
        assert "agentroom login URL" in str(done.exception)


def test_an_agent_is_added_in_its_real_folder(
    agentroom: Cli, server: FakeServer, paired: Profile, tmp_path: Path
) -> None:
    done = agentroom("agents", "add", "@Claude", "--runtime", "claude", "--workdir", str(tmp_path), "--role", "cooks")
    assert done.exit_code == 0, done.output
    (added,) = server.agents
    assert (added.handle, added.runtime, added.workdir, added.role) == ("claude", "claude", str(tmp_path), "cooks")


@pytest.mark.parametrize("handle", ["", "two words", "ünï", "x" * 33])
def test_a_handle_that_nobody_could_mention_is_refused(agentroom: Cli, paired: Profile, handle: str) -> None:
    assert agentroom("agents", "add", handle, "--runtime", "demo").exit_code == 2


def test_a_folder_that_is_not_there_is_refused(agentroom: Cli, paired: Profile, tmp_path: Path) -> None:
    done = agentroom("agents", "add", "claude", "--runtime", "claude", "--workdir", str(tmp_path / "none"))
    assert (done.exit_code, "is no directory" in done.output) == (2, True)


def test_the_demo_gets_a_repository_to_work_in(
    agentroom: Cli, server: FakeServer, paired: Profile, tmp_path: Path
) -> None:
    agentroom("agents", "add", "robo", "--runtime", "demo", "--workdir", str(tmp_path / "shop"))
    assert (tmp_path / "shop" / ".git").is_dir()
    assert server.agents[0].runtime == "demo"


def test_edit_changes_only_what_is_given(agentroom: Cli, server: FakeServer, paired: Profile) -> None:
    server.agents = [agent("/w")]
    assert agentroom("agents", "edit", "claude", "--share-diffs", "--pause", "--model", "").exit_code == 0
    assert server.edits == [("PATCH", "claude", {"model": "", "share_diffs": True, "paused": True, "here": False})]
    assert agentroom("agents", "edit", "claude", "--wake-for-mail").exit_code == 0
    assert server.edits[-1] == ("PATCH", "claude", {"wake_for_mail": True, "here": False})
    assert agentroom("agents", "edit", "claude").exit_code == 2


def test_confinement_is_switched_off_on_this_machine_alone(agentroom: Cli, server: FakeServer, paired: Profile) -> None:
    server.agents = [agent("/w")]
    off = agentroom("agents", "edit", "claude", "--unconfined")
    assert off.exit_code == 0
    assert "WITHOUT confinement" in off.output
    assert server.edits == []
    assert Choice(paired).unconfined() == {1}
    assert "not confined" in " ".join(agentroom("agents").output.split())
    on = agentroom("agents", "edit", "claude", "--confined", "--role", "cook")
    assert "run confined" in on.output
    assert Choice(paired).unconfined() == set()
    assert [change["role"] for _, _, change in server.edits] == ["cook"]
    assert isinstance(agentroom("agents", "edit", "nobody", "--unconfined").exception, Trouble)


def test_move_brings_an_agent_here(agentroom: Cli, server: FakeServer, paired: Profile, tmp_path: Path) -> None:
    server.agents = [agent("/w")]
    assert agentroom("agents", "move", "claude", "--runtime", "codex", "--workdir", str(tmp_path)).exit_code == 0
    assert server.edits == [("PATCH", "claude", {"runtime": "codex", "workdir": str(tmp_path), "here": True})]


def test_remove_asks_first(agentroom: Cli, server: FakeServer, paired: Profile) -> None:
    server.agents = [agent("/w")]
    assert agentroom("agents", "remove", "claude").exit_code == 1
    assert server.edits == []
    assert agentroom("agents", "remove", "claude", "--yes").exit_code == 0
    assert server.edits == [("DELETE", "claude", {})]


def test_an_agent_that_is_not_there_is_an_error(agentroom: Cli, paired: Profile) -> None:
    assert isinstance(agentroom("agents", "edit", "nobody", "--role", "x").exception, Rejected)


def test_lists_as_words_and_as_json(agentroom: Cli, server: FakeServer, paired: Profile) -> None:
    server.agents = [agent("/w")]
    assert "claude" in agentroom("agents").output
    (seen,) = json.loads(agentroom("agents", "--json").output)
    assert (seen["handle"], seen["here"]) == ("claude", True)
    assert json.loads(agentroom("agents", "list", "--json").output) == [seen]


def test_without_agents_it_says_how_to_add_one(agentroom: Cli, paired: Profile) -> None:
    assert "agentroom agents add" in agentroom("agents").output


def test_what_a_server_sends_can_not_command_the_terminal(agentroom: Cli, server: FakeServer, paired: Profile) -> None:
    evil = "\x1b[2J\x1b]0;x\x07\x1b]52;c;eA==\x07\r\u202e\u200b[bold]"
    server.agents = [agent("/w", display_name=evil, role=evil).model_copy(update={"workdir": evil})]
    for done in (agentroom("agents"), agentroom("agents", "--json"), agentroom("status"), agentroom("doctor")):
        assert not {"\x1b", "\x07", "\r", "\u202e", "\u200b"} & set(done.output)


@pytest.mark.parametrize(
    "room", [r"a \[/x] room", r"a \[link=https://evil.example]hi", "[bold]loud[/bold]", r"\\[red]x", "[/]"]
)
def test_a_rooms_name_is_shown_letter_for_letter(
    agentroom: Cli, server: FakeServer, paired: Profile, room: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "300")
    monkeypatch.setenv("FORCE_COLOR", "1")
    seen = wire.AgentSeen(**agent("/w").model_dump(), here=True, rooms=[room]).model_dump(mode="json")
    server.fault = lambda request: httpx.Response(200, json=[seen])
    done = agentroom("agents")
    assert done.exit_code == 0, done.exception
    assert room in done.output
    assert "\x1b]8" not in done.output


def test_status_says_whether_the_daemon_runs(agentroom: Cli, server: FakeServer, paired: Profile) -> None:
    assert "does not run" in agentroom("status").output
    lock = Lock(paired)
    try:
        seen = json.loads(agentroom("status", "--json").output)
        assert (seen["running"], seen["pid"], seen["connection"]) == (True, os.getpid(), "paired")
    finally:
        lock.release()


def test_status_while_the_server_is_away(agentroom: Cli, server: FakeServer, paired: Profile) -> None:
    server.fault = lambda request: httpx.Response(502)
    done = agentroom("status")
    assert "offline" in done.output
    assert isinstance(done.exception, Trouble)
    assert done.exception.exit_code == 3


def test_stop_cancels_what_waits(agentroom: Cli, server: FakeServer, paired: Profile) -> None:
    done = json.loads(agentroom("stop", "--now", "--json").output)
    assert done == {"cancelled": 2, "stopping": 1, "ended": True, "was_running": False}
    assert server.stops == [wire.StopRequest(now=True)]


def _unreadable(server: FakeServer, paired: Profile) -> None:
    file = paired.folder / "tokens.json"
    file.unlink()
    file.mkdir()


def _refuse(status: int) -> Callable[[FakeServer, Profile], None]:
    def refuse(server: FakeServer, paired: Profile) -> None:
        server.fault = lambda request: problem(status, "")

    return refuse


@pytest.mark.parametrize(
    "broken",
    [lambda server, paired: tokens.forget(paired), _unreadable, *map(_refuse, (401, 403, 404, 502))],
    ids=["no token", "unreadable", "401", "403", "404", "502"],
)
def test_whatever_the_server_says_stop_ends_what_runs_and_status_says_that_it_runs(
    agentroom: Cli, server: FakeServer, paired: Profile, broken: Callable[[FakeServer, Profile], None],
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    broken(server, paired)
    lock, sent = Lock(paired), list[int]()

    def end(pid: int, number: int) -> None:
        assert pid == os.getpid()
        sent.append(number)
        lock.release()

    try:
        looked = agentroom("status")
        assert f"The daemon runs (process {os.getpid()})." in looked.output
        assert isinstance(looked.exception, Trouble)
        assert json.loads(agentroom("status", "--json").output)["running"] is True
        monkeypatch.setattr(os, "kill", end)
        done = agentroom("stop", "--now")
    finally:
        monkeypatch.undo()
        lock.release()
    assert sent == [NOW]
    assert "could not be cancelled" in done.output
    assert "The daemon has ended." in done.output
    assert isinstance(done.exception, Trouble)


def test_stop_for_one_person_or_agent_ends_nothing_else(agentroom: Cli, server: FakeServer, paired: Profile) -> None:
    lock = Lock(paired)
    try:
        done = json.loads(agentroom("stop", "--person", "@Bob", "--agent", "claude", "--json").output)
        assert done == {"cancelled": 2}
        assert "Cancelled 2 waiting. What runs goes on." in agentroom("stop", "--agent", "claude").output
    finally:
        lock.release()
    assert server.stops == [wire.StopRequest(person="bob", agent="claude"), wire.StopRequest(agent="claude")]
    assert agentroom("stop", "--now", "--person", "bob").exit_code == 2


def test_a_second_daemon_is_refused(agentroom: Cli, paired: Profile) -> None:
    lock = Lock(paired)
    try:
        done = agentroom("up")
        assert isinstance(done.exception, SecondDaemon)
        assert done.exception.exit_code == 5
    finally:
        lock.release()


def test_the_doctor_names_what_mends(
    agentroom: Cli, server: FakeServer, paired: Profile, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    gone = agent(tmp_path / "gone", id=2, handle="codex")
    server.agents = [agent(tmp_path, runtime="gemini"), gone]
    server.clock_off = timedelta(hours=26)
    monkeypatch.setattr(shutil, "which", lambda name, **more: None)
    done = agentroom("doctor", "--json")
    found = {finding["about"]: finding for finding in json.loads(done.output)}
    assert done.exit_code == 1
    assert found["clock"]["state"] == "hint"
    assert found["node"]["state"] == found["git"]["state"] == found["claude"]["state"] == "broken"
    assert found["claude"]["mend"] == "npm install -g @google/gemini-cli"
    assert "--workdir" in found["codex"]["mend"]
    assert "bubblewrap" in found
    assert found["hook"]["state"] == "good"


@pytest.mark.parametrize(
    ("version", "state"), [("v18.19.0", "broken"), ("v20.20.2", "hint"), ("v22.23.3", "good"), ("", "broken")]
)
def test_the_doctor_knows_which_node_is_too_old(monkeypatch: pytest.MonkeyPatch, version: str, state: str) -> None:
    monkeypatch.setattr(shutil, "which", lambda name, **more: "/usr/bin/node")
    monkeypatch.setattr(doctor, "_output", lambda command: version)
    assert doctor._node().state == state


def test_the_doctor_without_a_server(agentroom: Cli, server: FakeServer, paired: Profile) -> None:
    server.fault = lambda request: problem(401, "revoked") if "machine" in request.url.path else None
    found = {finding["about"]: finding for finding in json.loads(agentroom("doctor", "--json").output)}
    assert found["pairing"]["mend"] == "agentroom login http://kitchen.test"


def test_as_a_process_it_ends_with_the_code_that_its_help_names(no_home: Path) -> None:
    def run(*args: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "agentroom_machine.cli", *args],
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )

    shown = run("--help")
    assert (shown.returncode, "5 another daemon" in " ".join(shown.stdout.split())) == (0, True)
    up = run("up")
    assert (up.returncode, up.stdout) == (1, "")
    assert "agentroom login URL" in up.stderr
    assert run("agents", "edit").returncode == 2
    profile = Profile.named()
    profile.keep(Settings(server="http://127.0.0.1:9"))
    assert run("status").returncode == 4
    tokens.keep(profile, Tokens.make())
    assert run("status").returncode == 3
