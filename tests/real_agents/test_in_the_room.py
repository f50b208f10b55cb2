"""The whole way with the real Claude Code and the real Codex: a member's words, the owner's yes, the agent's work."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path

import pytest

from tests.live import Live
from tests.real_agents import homes
from tests.real_agents.kitchen import Kitchen, repository
from tests.real_agents.model.server import scripted_model

pytestmark = pytest.mark.timeout(300)

HOMES: dict[str, Callable[[Path, str], Mapping[str, str]]] = {
    "claude": homes.claude,
    "codex": homes.codex,
    "codex in JavaScript": partial(homes.codex, model=homes.JAVASCRIPT),
}
IN_EACH = pytest.mark.parametrize("kitchen", HOMES, indirect=True)
"""For what the tools of the runtime make a difference to; the rest is tried in the two runtimes."""


@pytest.fixture(scope="module", params=["claude", "codex"])
def kitchen(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Kitchen]:
    runtime: str = request.param
    folder = tmp_path_factory.mktemp("live")
    with scripted_model() as model, Live.start(folder) as live:
        alice, bob = live.person("alice"), live.person("bob")
        room = alice.make_room("kitchen")
        bob.join(alice.invite(room))
        machine = live.machine()
        machine.environment.update(HOMES[runtime](machine.folder, model.url))
        machine.pair(alice)
        menu = repository(machine.folder / "menu")
        machine.add_agent("cook", runtime=runtime.split()[0], workdir=menu)
        alice.seat_agent(room, "cook")
        machine.up()
        yield Kitchen(live, model, alice, bob, machine, room, menu)
    assert not model.failures


def test_a_member_waits_for_the_owner_and_then_hears_the_agent(kitchen: Kitchen) -> None:
    turn = kitchen.ask("Say `good evening`")
    assert kitchen.status(turn) == "asked"
    assert not kitchen.model.played
    kitchen.alice.decide(turn, "Approve once")
    kitchen.until_done(turn)
    assert kitchen.text(turn) == "good evening"
    assert "good evening" in kitchen.bob.room(kitchen.room)


@IN_EACH
def test_a_harmless_command_runs_unasked(kitchen: Kitchen) -> None:
    turn = kitchen.ask("Run `echo $((6 * 7)) > sum.txt; cat sum.txt`", who=kitchen.alice)
    kitchen.until_done(turn)
    assert kitchen.live.stored.questions(turn) == []
    assert (kitchen.folder / "sum.txt").read_text() == "42\n"
    [call] = kitchen.last_calls(turn)
    assert (call.data["tool"], call.data["state"]) == ("execute", "done")
    assert "42" in call.body
    assert "It printed:" in kitchen.text(turn)


@IN_EACH
def test_a_deletion_is_asked_for_and_then_happens(kitchen: Kitchen) -> None:
    (kitchen.folder / "crumbs.txt").write_text("crumbs\n")
    turn = kitchen.ask("Run `rm -f crumbs.txt; ls`", who=kitchen.alice)
    question = kitchen.live.question(turn, "delete")
    assert "rm -f crumbs.txt; ls" in question.action
    assert (kitchen.folder / "crumbs.txt").exists()

    kitchen.answer(question.id, "once")
    kitchen.until_done(turn)
    assert not (kitchen.folder / "crumbs.txt").exists()
    assert (kitchen.folder / "menu.txt").exists()
    [call] = kitchen.last_calls(turn)
    assert (call.data["tool"], call.data["state"]) == ("execute", "done")
    assert "menu.txt" in call.body


@IN_EACH
def test_a_command_that_the_owner_declines_does_not_run(kitchen: Kitchen) -> None:
    turn = kitchen.ask("Run `touch burnt.txt && rm menu.txt`", who=kitchen.alice)
    kitchen.answer(kitchen.live.question(turn, "delete").id, "no", note="not today")
    kitchen.until_done(turn)
    assert not (kitchen.folder / "burnt.txt").exists()
    assert (kitchen.folder / "menu.txt").exists()
    assert "not today" in kitchen.text(turn)


@IN_EACH
def test_an_edit_shows_its_path_and_counts_and_never_its_content(kitchen: Kitchen) -> None:
    turn = kitchen.asked_and_done("Change `bread` to `sourdough bread` in `menu.txt`", who=kitchen.alice)
    assert kitchen.live.stored.questions(turn) == []
    assert (kitchen.folder / "menu.txt").read_text() == "soup\nsourdough bread\n"
    [change] = {entry.data["path"]: entry for entry in kitchen.timeline(turn, "file_change")}.values()
    assert change.data == change.data | {"path": "menu.txt", "change": "changed", "plus": 1, "minus": 1}
    assert change.body == ""


def test_a_picture_is_seen_by_members_and_by_nobody_else(kitchen: Kitchen) -> None:
    turn = kitchen.asked_and_done("Draw `plate.png`", who=kitchen.alice)
    [artifact] = kitchen.timeline(turn, "artifact")
    assert artifact.data["name"] == "plate.png"
    address = f"/rooms/{kitchen.room}/produced/{artifact.seq}/plate.png"
    assert address in kitchen.bob.room(kitchen.room).html
    seen = kitchen.bob.client.get(address)
    assert seen.headers["Content-Type"] == "image/png"
    assert seen.content == (kitchen.folder / "plate.png").read_bytes()
    kitchen.live.person("charlie").get(address, status=404)


def test_it_remembers_its_room_after_the_daemon_was_killed(kitchen: Kitchen) -> None:
    kitchen.asked_and_done("Remember the word saffron", who=kitchen.alice)
    kitchen.machine.kill()
    kitchen.machine.up()
    turn = kitchen.asked_and_done("Which word was it?", who=kitchen.alice)
    assert kitchen.text(turn) == "The word was saffron."


def test_it_remembers_nothing_of_another_room(kitchen: Kitchen) -> None:
    pantry = kitchen.alice.make_room("pantry")
    kitchen.alice.seat_agent(pantry, "cook")
    kitchen.asked_and_done("Remember the word cumin", who=kitchen.alice)
    turn = kitchen.asked_and_done("Which word was it?", who=kitchen.alice, room=pantry)
    assert kitchen.text(turn) == "I remember no word."


@pytest.mark.parametrize("kitchen", ["claude"], indirect=True)
def test_the_member_answers_a_plain_question(kitchen: Kitchen) -> None:
    kitchen.alice.decide(turn := kitchen.ask("Ask `Which soup?` with `leek, tomato`"), "Approve once")
    question = kitchen.live.question(turn, "question")
    assert "Which soup?" in question.action
    kitchen.bob.answer(question.id, {"option": "1"})
    kitchen.until_done(turn)
    assert "tomato" in kitchen.text(turn)


def test_stop_ends_a_turn_that_hangs(kitchen: Kitchen) -> None:
    turn = kitchen.ask("Wait for me", who=kitchen.alice)
    assert kitchen.model.held.wait(30)
    kitchen.alice.decide(turn, "Stop")
    kitchen.live.until_turn(turn, "stopped")
    assert kitchen.text(kitchen.asked_and_done("Say `next`", who=kitchen.alice)) == "next"
