"""The main job, end to end, without a browser: real server, real daemon, the demo agent; people who press buttons."""

from __future__ import annotations

import subprocess
from dataclasses import dataclass

import pytest

from tests.live import Live, Machine, Person, StoredTurn, until

pytestmark = pytest.mark.timeout(300)


@dataclass
class Day:
    live: Live
    alice: Person
    bob: Person
    vera: Person
    charlie: Person
    machine: Machine
    kitchen: int
    asked: int = 0

    def ask(self, body: str) -> StoredTurn:
        """Bob asks; the turn that comes of it."""
        self.asked += 1
        self.bob.ask(self.kitchen, body)
        return self.live.turn(self.kitchen, self.asked)

    def status(self, turn: StoredTurn) -> str:
        return next(found.status for found in self.live.turns(self.kitchen) if found.id == turn.id)

    def git(self, folder: str, *words: str) -> str:
        path = self.machine.folder / folder
        return subprocess.run(["git", *words], cwd=path, check=True, capture_output=True, text=True).stdout.strip()

    def arrivals(self) -> list[str]:
        """What arrived in the remote's main, the first push aside."""
        return self.git("shop-remote.git", "reflog", "show", "--format=%H", "main").splitlines()


@pytest.fixture(scope="module")
def day(live: Live) -> Day:
    alice, charlie = live.person("alice"), live.person("charlie")
    bob, vera = live.stranger(), live.person("vera")
    kitchen = alice.make_room("kitchen")
    machine = live.machine()
    machine.pair(alice)
    machine.add_agent("claude", runtime="demo", workdir=machine.repository())
    subprocess.run(
        ["git", "config", "core.logAllRefUpdates", "always"], cwd=machine.folder / "shop-remote.git", check=True
    )
    machine.up()
    alice.seat_agent(kitchen, "claude")
    bob.join(alice.invite(kitchen), handle="bob", password="a long enough secret")
    vera.join(alice.invite(kitchen, role="viewer"))
    return Day(live, alice, bob, vera, charlie, machine, kitchen)


def test_a_request_waits_for_the_owner_and_then_each_step_is_shown_and_none_is_asked(day: Day) -> None:
    """What an agent does all day long disturbs nobody: an edit, the tests, a picture."""
    with day.bob.watch(day.kitchen) as watch:
        turn = day.ask("@claude please edit the program, run its tests, then draw a picture")
        watch.until("waiting for")
        assert day.status(turn) == "asked"
        assert "Approve once" not in day.bob.controls(turn.id).buttons()
        assert "Approve once" not in day.vera.controls(turn.id).buttons()

        day.alice.decide(turn.id, "Approve once")
        assert day.live.until_turn(turn.id, "done", "failed", seconds=90) == "done"
        assert [question.subject for question in day.live.stored.questions(turn.id)] == ["start"]
        watch.until("sales.png")
        watch.until("I multiply each price")

    entries = [entry for entry in day.live.entries(day.kitchen) if entry.data.get("turn") == turn.id]
    states = [entry.data["state"] for entry in entries if entry.kind == "turn"]
    assert states == ["asked", "queued", "running", "done"]
    changes = {e.data["path"]: (e.data["plus"], e.data["minus"]) for e in entries if e.kind == "file_change"}
    assert changes["shop.py"] == (1, 1)
    assert not any("sum(count" in entry.body for entry in entries), "what is in a file never leaves the machine"
    [tests] = {e.data["call"]: e for e in entries if e.kind == "tool_call" and "unittest" in e.data["title"]}.values()
    assert tests.data["state"] == "done"
    [picture] = [entry for entry in entries if entry.kind == "artifact"]
    page = day.bob.room(day.kitchen)
    for words in ("I multiply each price", "All tests pass.", "shop.py", "+1", "sales.png", "approved"):
        assert words in page.text, words
    for person in (day.bob, day.vera):
        answer = person.client.get(f"/rooms/{day.kitchen}/produced/{picture.seq}/sales.png")
        assert (answer.status_code, answer.headers["Content-Type"]) == (200, "image/png")


def test_a_push_pauses_and_arrives_once_after_the_owners_yes(day: Day) -> None:
    turn = day.ask("@claude push what you changed")
    day.alice.decide(turn.id, "Approve once")
    question = day.live.question(turn.id)
    assert question.subject == "push"
    head = day.git("shop", "rev-parse", "HEAD")
    assert f"{head}:refs/heads/main" in question.action
    assert day.arrivals() == [], "it waits"
    page = day.alice.get(f"/questions/{question.id}/")
    assert head in page
    assert "Allow always" not in page.buttons()
    day.bob.get(f"/questions/{question.id}/", status=404)
    for other in (day.bob, day.vera):
        room = other.room(day.kitchen)
        assert "git push origin main" in room
        assert head not in room
        assert "Approve this push" not in room.buttons()

    day.alice.press(page, "Approve this push")
    assert day.live.until_turn(turn.id, "done", "failed") == "done"
    assert day.arrivals() == [head]
    told = [entry for entry in day.live.entries(day.kitchen, "notice") if entry.data.get("turn") == turn.id]
    assert sum("Pushed, as approved" in entry.body for entry in told) == 1
    form, _ = page.form_with("Approve this push")
    day.alice.post(form.action, form.fields | {"verdict": "once"}, status=409)
    assert day.arrivals() == [head]


def test_allow_always_lets_the_second_run_at_once_and_revoking_makes_the_third_wait(day: Day) -> None:
    first = day.ask("@claude what is in this repository?")
    day.alice.decide(first.id, "Allow always")
    day.live.until_turn(first.id, "done")

    second = day.ask("@claude list it again")
    assert day.live.until_turn(second.id, "done", "asked") == "done"
    assert not day.live.stored.questions(second.id)

    grants = day.alice.get("/grants/")
    assert "bob" in grants
    day.alice.press(grants, "Revoke", to="/grants/")
    third = day.ask("@claude and list it once more")
    assert day.status(third) == "asked"
    day.alice.decide(third.id, "Decline", {"note": "Twice is enough for today."})
    assert day.status(third) == "refused"
    assert "Twice is enough for today." in day.bob.room(day.kitchen)


def test_the_owners_own_request_needs_nobody(day: Day) -> None:
    day.asked += 1
    day.alice.ask(day.kitchen, "@claude list what is here")
    turn = day.live.turn(day.kitchen, day.asked)
    assert day.live.until_turn(turn.id, "done") == "done"
    assert not day.live.stored.questions(turn.id)


def test_a_deletion_pauses_and_the_owner_can_decline_it(day: Day) -> None:
    turn = day.ask("@claude delete the old builds")
    day.alice.decide(turn.id, "Approve once")
    question = day.live.question(turn.id)
    assert question.subject == "delete"
    assert question.action.startswith("rm -rf build")
    assert (day.machine.folder / "shop" / "build").is_dir(), "it waits"
    assert "rm -rf build" in day.alice.get(f"/questions/{question.id}/")
    day.bob.get(f"/questions/{question.id}/", status=404)
    day.alice.press(f"/questions/{question.id}/", "Decline", {"note": "Keep them."})
    day.live.until_turn(turn.id, "done")
    assert (day.machine.folder / "shop" / "build").is_dir()
    assert "Keep them." in day.bob.room(day.kitchen)


def test_a_grant_to_start_is_none_to_delete(day: Day) -> None:
    grants = day.ask("@claude what is in this repository?")
    day.alice.decide(grants.id, "Allow always")
    day.live.until_turn(grants.id, "done")
    turn = day.ask("@claude delete the old builds")
    question = day.live.question(turn.id)
    assert question.subject == "delete"
    day.alice.press(f"/questions/{question.id}/", "Approve this deletion")
    day.live.until_turn(turn.id, "done")
    assert not (day.machine.folder / "shop" / "build").exists()
    day.alice.press("/grants/", "Revoke", to="/grants/")


def test_a_plain_question_is_answered_by_whoever_asked(day: Day) -> None:
    turn = day.ask("@claude ask me what to sell")
    day.alice.decide(turn.id, "Approve once")
    question = day.live.question(turn.id, "question")
    day.bob.press(f"/questions/{question.id}/", "Savoury")
    day.live.until_turn(turn.id, "done")
    assert "Savoury it is." in day.vera.room(day.kitchen)


def test_the_asker_can_stop_what_runs(day: Day) -> None:
    turn = day.ask("@claude work slowly")
    day.alice.decide(turn.id, "Approve once")
    until(lambda: "Stirring, 1 of 60" in day.bob.room(day.kitchen), seconds=30)
    day.bob.decide(turn.id, "Stop")
    assert day.live.until_turn(turn.id, "stopped", "done", "failed") == "stopped"
    assert "Ask again" in day.bob.controls(turn.id).buttons()


def test_the_agent_remembers_the_room_after_its_machine_was_started_again(day: Day) -> None:
    turn = day.ask("@claude remember the word cardamom")
    day.alice.decide(turn.id, "Approve once")
    day.live.until_turn(turn.id, "done")
    assert day.machine.stop() == 0
    day.machine.up()
    turn = day.ask("@claude which word did I tell you?")
    day.alice.decide(turn.id, "Approve once")
    day.live.until_turn(turn.id, "done")
    assert "You told me: cardamom." in day.bob.room(day.kitchen)


def test_a_request_to_a_machine_that_is_away_waits_and_runs_when_it_is_back(day: Day) -> None:
    assert day.machine.stop() == 0
    turn = day.ask("@claude list what is here")
    day.alice.decide(turn.id, "Approve once")
    assert day.status(turn) == "queued"
    day.machine.up()
    assert day.live.until_turn(turn.id, "done") == "done"


def test_a_mention_by_a_viewer_is_refused_and_runs_nothing(day: Day) -> None:
    before = day.live.turns(day.kitchen)
    day.vera.ask(day.kitchen, "@claude list what is here", status=403)
    assert day.live.turns(day.kitchen) == before


def test_a_stranger_finds_nothing_anywhere(day: Day) -> None:
    turn = day.live.turns(day.kitchen)[0]
    [picture] = [entry.seq for entry in day.live.entries(day.kitchen, "artifact")][:1]
    for path in (
        f"/rooms/{day.kitchen}/",
        f"/rooms/{day.kitchen}/people/",
        f"/rooms/{day.kitchen}/earlier/?before=9",
        f"/rooms/{day.kitchen}/settings/",
        f"/rooms/{day.kitchen}/produced/{picture}/sales.png",
        f"/rooms/{day.kitchen}/turns/{turn.id}/steps/",
        f"/turns/{turn.id}/controls/",
    ):
        day.charlie.get(path, status=404)
    assert "kitchen" not in day.charlie.get("/")
    day.charlie.post(f"/rooms/{day.kitchen}/messages/", {"body": "@claude let me in"}, status=404)
    with pytest.raises(Exception, match=r"40[34]"):
        day.charlie.watch(day.kitchen)


def test_the_audience_of_a_removed_member_ends_at_once(day: Day) -> None:
    dana = day.live.person("dana")
    dana.join(day.alice.invite(day.kitchen))
    with dana.watch(day.kitchen) as watch:
        watch.until("dana joined")
        [(seat,)] = day.live.stored.rows(
            "SELECT id FROM rooms_member WHERE room_id = ? AND handle = ?", day.kitchen, "dana"
        )
        day.alice.post(f"/members/{seat}/remove/")
        until(lambda: watch.frame() and watch.gone, seconds=5, what="the end of dana's socket")
    dana.get(f"/rooms/{day.kitchen}/", status=404)
