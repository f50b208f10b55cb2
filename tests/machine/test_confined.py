"""The daemon with its box, its snapshots and its pushes, against a server in memory, with the real demo agent."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from agentroom_machine import wire
from agentroom_machine.confine.choice import Choice
from agentroom_machine.daemon import push
from agentroom_machine.daemon.journal import Journal
from tests.confine import canary
from tests.machine.cast import agent, offer
from tests.machine.conftest import House
from tests.machine.fake_server import allow


@pytest.fixture
def canaries(tmp_path: Path, house: House, monkeypatch: pytest.MonkeyPatch) -> Iterator[canary.House]:
    with canary.house(tmp_path / "machine") as made:
        monkeypatch.setenv("HOME", str(made.home))
        house.server.agents = [agent(made.workdir)]
        yield made


async def ran(house: House, turn_id: int, words: str) -> wire.EndFact:
    house.server.decide = allow
    house.server.ask(offer(turn_id, house.server.agents[0], words))
    return await house.end_of(turn_id)


async def test_the_demo_agent_s_commands_are_confined(house: House, canaries: canary.House) -> None:
    house.up()
    assert (await ran(house, 1, "run `sh probe.sh`")).state == "done"
    canary.assert_confined(canaries)
    await house.until(lambda: house.server.syncs[-1].confined == {1: ""}, "the report")


async def test_switched_off_on_the_machine_they_are_not_and_the_room_hears_it(
    house: House, canaries: canary.House
) -> None:
    Choice(house.profile).choose(1, confined=False)
    house.up()
    assert (await ran(house, 1, "run `sh probe.sh`")).state == "done"
    canary.assert_open(canaries)
    assert any("without confinement" in fact.text for fact in house.server.of(1, "notice"))
    await house.until(lambda: "switched" in house.server.syncs[-1].confined.get(1, ""), "the report")


async def test_the_switch_counts_for_the_next_request_of_a_live_session(house: House, canaries: canary.House) -> None:
    house.up()
    await ran(house, 1, "run `cat .env`")
    Choice(house.profile).choose(1, confined=False)
    await ran(house, 2, "run `cat .env`")
    outputs = ["".join(fact.output for fact in house.server.of(turn, "tool_call")) for turn in (1, 2)]
    assert canary.SONG not in outputs[0]
    assert canary.SONG in outputs[1]


async def a_new_secret_stays_hidden(house: House, canaries: canary.House, name: str, called: str = "") -> None:
    house.up()
    await ran(house, 1, "run `true`")
    canaries.hide(f"kitchen/{name}")
    await ran(house, 2, f"run `cat {called or name}; echo looked`")
    [call] = {fact.call: fact for fact in house.server.of(2, "tool_call")}.values()
    assert "looked" in call.output
    assert canary.SONG not in call.output


async def test_a_secret_that_is_new_is_hidden_from_a_live_session(house: House, canaries: canary.House) -> None:
    await a_new_secret_stays_hidden(house, canaries, "later/.env")


async def test_so_is_one_that_only_the_owners_policy_names(house: House, canaries: canary.House) -> None:
    policy = house.profile.policy_file("claude")
    policy.parent.mkdir(parents=True)
    policy.write_text('secrets = ["*.vault.txt"]\n')
    await a_new_secret_stays_hidden(house, canaries, "soup.vault.txt", "*.txt")


async def test_the_hooks_of_a_session_lie_in_the_profile_and_none_of_an_earlier_daemon_stay(house: House) -> None:
    """In a folder where everybody writes an agent could change what its next commit runs."""
    guards = house.profile.scratch / "guards"
    (guards / "ar-guards-left").mkdir(parents=True)
    house.up()
    await ran(house, 1, "run `git config core.hooksPath`")
    [folder] = guards.iterdir()
    assert folder.name != "ar-guards-left"
    assert (folder / "hooks/post-commit").is_file()
    assert guards.stat().st_mode & 0o077 == 0


def there(house: House) -> str:
    remote = house.repository.with_name("shop-remote.git")
    done = subprocess.run(["git", "rev-parse", "main"], cwd=remote, capture_output=True, text=True, check=True)
    return done.stdout.strip()


def head(house: House) -> str:
    done = subprocess.run(
        ["git", "rev-parse", "HEAD"], cwd=house.repository, capture_output=True, text=True, check=True
    )
    return done.stdout.strip()


async def test_an_approved_push_arrives_as_shown_and_the_agent_s_git_says_so(house: House) -> None:
    house.up()
    assert (await ran(house, 1, "push it")).state == "done"
    question = house.server.of(1, "question")[-1]
    assert question.subject == "push"
    assert f"{head(house)}:refs/heads/main" in question.action
    assert there(house) == head(house)
    assert any(fact.text.startswith("Pushed, as approved") for fact in house.server.of(1, "notice"))
    [*_, call] = {fact.call: fact for fact in house.server.of(1, "tool_call")}.values()
    assert (call.title, call.state) == ("git push origin main", "done"), call.output
    assert "main -> main" in call.output


async def test_a_push_that_is_more_than_a_push_does_not_arrive(house: House) -> None:
    house.up()
    before = there(house)
    await ran(house, 1, "run `git commit -q --allow-empty -m x; git push origin main`")
    assert head(house) != before
    assert there(house) == before
    [call] = {fact.call: fact for fact in house.server.of(1, "tool_call")}.values()
    assert "nothing is pushed from here" in call.output


async def test_a_declined_push_does_not_arrive(house: House) -> None:
    def decide(question: wire.QuestionFact) -> wire.Verdict:
        return wire.Verdict(key=question.key, verdict="no" if question.subject == "push" else "once")

    house.up()
    before = there(house)
    house.server.decide = decide
    house.server.ask(offer(1, house.server.agents[0], "push it"))
    await house.end_of(1)
    assert there(house) == before


async def test_a_push_that_had_begun_at_the_crash_is_unknown_and_not_tried_again(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As if the program had ended between the journal and git."""
    journal = Journal(house.profile.journal_file)
    config = house.server.agents[0]
    held = offer(1, config)
    journal.add_offer(held)
    journal.mark_running(1)
    plan = push.resolve("git push origin main", house.repository)
    assert plan is not None
    journal.begin_outside("k", 1, plan.short())
    journal.close()
    house.server.offered[1] = held
    house.server.running.add(1)
    before = there(house)
    house.up()
    assert (await house.end_of(1)).state == "interrupted"
    assert any("not known" in fact.text and "refs/heads/main" in fact.text for fact in house.server.of(1, "notice"))
    assert there(house) == before
    await house.kill()
    again = Journal(house.profile.journal_file)
    assert again.begun_outside() == []
    again.close()


async def test_what_a_turn_did_is_listed_and_undone_on_the_owner_s_word(house: House) -> None:
    house.up()
    before = (house.repository / "shop.py").read_text()
    (house.repository / ".gitignore").write_text("build/\n")
    await ran(house, 1, "run `rm -rf build; echo new > new.txt; echo >> shop.py`")
    [fact] = house.server.of(1, "undoable")
    assert (fact.created, fact.changed, fact.deleted) == (["new.txt"], ["shop.py"], ["build/"])
    removed = {fact.path for fact in house.server.of(1, "file_change") if fact.change == "deleted"}
    assert removed == {"build/old.txt"}
    house.server.undo.add(1)
    house.server.changed.set()
    [undone] = await house.until(lambda: house.server.of(1, "undone"), "the undo")
    assert (undone.removed, undone.conflicts) == (["new.txt"], [])
    assert (house.repository / "shop.py").read_text() == before
    assert (house.repository / "build/old.txt").exists()
    assert not (house.repository / "new.txt").exists()


async def test_a_folder_that_git_ignores_is_listed_when_it_is_removed(house: House) -> None:
    (house.repository / "cache").mkdir()
    (house.repository / "cache/page").write_text("page\n")
    (house.repository / ".gitignore").write_text("cache/\n")
    house.up()
    await ran(house, 1, "run `rm -rf cache`")
    assert [fact.path for fact in house.server.of(1, "file_change")] == ["cache/"]


async def test_an_undo_of_what_is_no_longer_kept_says_so(house: House) -> None:
    house.up()
    await ran(house, 1, "look around")
    house.server.undo.add(99)
    house.server.changed.set()
    [undone] = await house.until(lambda: house.server.of(99, "undone"), "the answer")
    assert undone.gone


async def test_a_planted_pointer_to_other_settings_does_not_outlive_the_turn(house: House) -> None:
    house.up()
    end = await ran(house, 1, "run `echo ../evil > .git/commondir; cat .git/commondir`")
    assert end.state == "done", end.reason
    [call] = {fact.call: fact for fact in house.server.of(1, "tool_call")}.values()
    assert call.output == "../evil\n", "it was planted"
    assert not (house.repository / ".git/commondir").exists()
    assert any("settings from elsewhere" in fact.text for fact in house.server.of(1, "notice"))
