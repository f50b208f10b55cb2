import hashlib
import os
import signal
import sqlite3
import subprocess
import sys
import textwrap
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import pytest

from agentroom_machine import wire
from agentroom_machine.daemon.journal import Journal, SessionRecord
from agentroom_machine.errors import Trouble
from tests.machine.cast import agent, offer


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "journal.sqlite3"


@pytest.fixture
def opened(path: Path) -> Iterator[Callable[[], Journal]]:
    """Opens the journal, again and again; all are closed at the end."""
    journals: list[Journal] = []

    def open_journal() -> Journal:
        journals.append(Journal(path))
        return journals[-1]

    yield open_journal
    for journal in journals:
        journal.close()


Opened = Callable[[], Journal]


def text(words: str) -> wire.TextFact:
    return wire.TextFact(part="1.1", text=words)


def test_facts_are_numbered_without_a_gap_across_restarts_and_acknowledgements(opened: Opened) -> None:
    journal = opened()
    assert [journal.add(1, text("a")), journal.add(1, text("b"))] == [1, 2]
    journal.ack(2)
    journal.close()
    again = opened()
    assert again.journal_id == journal.journal_id
    assert again.add(1, text("c")) == 3
    assert [fact.n for fact in again.pending()] == [3]


def test_an_offer_is_held_once_with_its_first_claim(opened: Opened) -> None:
    journal = opened()
    assert journal.add_offer(offer(5, agent("/w")))
    assert not journal.add_offer(offer(5, agent("/w"), claim_id="other"))
    assert [(held.offer.claim_id, held.state) for held in journal.turns()] == [("claim-5", "offered")]


def test_a_turn_is_forgotten_only_when_its_end_is_acknowledged(opened: Opened) -> None:
    journal = opened()
    journal.add_offer(offer(5, agent("/w")))
    journal.mark_running(5)
    journal.add(5, text("a"))
    end = journal.add(5, wire.EndFact(state="done"))
    assert journal.turn_ids("ended") == [5]
    journal.ack(end - 1)
    assert journal.turn_ids("ended") == [5]
    journal.ack(end)
    assert journal.turns() == []


def test_an_ended_turn_never_becomes_running_again(opened: Opened) -> None:
    journal = opened()
    journal.add_offer(offer(5, agent("/w")))
    journal.add(5, wire.EndFact(state="stopped"))
    journal.mark_running(5)
    assert journal.turn_ids("running") == []


def test_a_batch_is_bounded_in_number_and_size(opened: Opened) -> None:
    journal = opened()
    for _ in range(5):
        journal.add(1, text("x" * 1000))
    assert len(journal.pending(limit=3)) == 3
    assert len(journal.pending(size=2500)) == 2
    assert len(journal.pending(size=10)) == 1


def test_a_produced_file_is_kept_until_every_fact_that_names_it_is_acknowledged(opened: Opened, tmp_path: Path) -> None:
    picture = tmp_path / "p.png"
    picture.write_bytes(b"png")
    sha = hashlib.sha256(b"png").hexdigest()
    fact = wire.ArtifactFact(sha256=sha, name="p.png", content_type="image/png", size=3)
    journal = opened()
    first, second = journal.add(1, fact, file=picture), journal.add(1, fact, file=picture)
    picture.unlink()
    journal.ack(first)
    assert journal.file(sha).read_bytes() == b"png"
    journal.ack(second)
    assert not journal.file(sha).exists()


def test_a_damaged_journal_is_moved_aside_for_a_new_one(path: Path, opened: Opened) -> None:
    journal = opened()
    journal.add(1, text("a"))
    old = journal.journal_id
    journal.close()
    path.write_bytes(b"not a database at all" * 100)
    again = opened()
    assert again.damaged is not None
    assert again.damaged.read_bytes().startswith(b"not a database")
    assert again.journal_id != old
    assert again.add(1, text("b")) == 1


def test_a_page_that_broke_is_damage_too(path: Path, opened: Opened) -> None:
    journal = opened()
    for _ in range(50):
        journal.add(1, text("a" * 500))
    journal.close()
    content = bytearray(path.read_bytes())
    content[-4096:] = b"\xff" * 4096
    path.write_bytes(content)
    assert opened().damaged is not None


def test_a_sound_journal_that_can_not_be_opened_now_stays(
    path: Path, opened: Opened, monkeypatch: pytest.MonkeyPatch
) -> None:
    journal = opened()
    journal.add(1, text("a"))
    old = journal.journal_id
    journal.close()
    holder = sqlite3.connect(path, isolation_level=None)
    holder.execute("BEGIN EXCLUSIVE")
    with monkeypatch.context() as patched:
        patched.setattr(sqlite3, "connect", partial(sqlite3.connect, timeout=0))
        with pytest.raises(Trouble, match=r"database is locked. Nothing in it was changed"):
            opened()
    holder.close()
    again = opened()
    assert (again.damaged, again.journal_id) == (None, old)
    assert [fact.n for fact in again.pending()] == [1]


def test_a_disk_that_is_full_is_no_damage(path: Path, opened: Opened, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(journal: Journal) -> sqlite3.Connection:
        error = sqlite3.OperationalError("database or disk is full")
        error.sqlite_errorcode = sqlite3.SQLITE_FULL
        raise error

    old = opened().journal_id
    with monkeypatch.context() as patched, pytest.raises(Trouble, match="disk is full"):
        patched.setattr(Journal, "_open", full)
        opened()
    assert opened().journal_id == old


def test_starting_over_keeps_sessions_alone_and_a_copy_of_the_rest(path: Path, opened: Opened) -> None:
    journal = opened()
    old = journal.journal_id
    journal.add_offer(offer(5, agent("/w")))
    journal.add(5, text("a"))
    journal.keep_session(1, 7, SessionRecord("demo", 1, "/w", "s-1"))
    aside = journal.start_over()
    assert journal.journal_id != old
    assert (journal.pending(), journal.turns()) == ([], [])
    assert journal.session(1, 7) is not None
    assert journal.add(5, text("b")) == 1
    kept = Journal(aside)
    assert [fact.n for fact in kept.pending()] == [1]
    kept.close()


def test_a_session_is_remembered_per_agent_and_room(opened: Opened) -> None:
    journal = opened()
    journal.keep_session(1, 7, SessionRecord("demo", 1, "/w", "s-1"))
    assert journal.session(1, 8) is None
    journal.close()
    assert opened().session(1, 7) == SessionRecord("demo", 1, "/w", "s-1")


def test_the_journal_is_its_owners_alone(path: Path, opened: Opened) -> None:
    opened()
    assert path.stat().st_mode & 0o077 == 0


@pytest.mark.parametrize("seed", range(6))
def test_a_kill_between_any_two_writes_loses_nothing_that_was_said_to_be_written(
    path: Path, opened: Opened, seed: int
) -> None:
    """The child prints a number after each write has returned; it is killed after some of them."""
    program = textwrap.dedent(
        """
        import sys
        from pathlib import Path
        from agentroom_machine import wire
        from agentroom_machine.daemon.journal import Journal
        journal = Journal(Path(sys.argv[1]))
        while True:
            print(journal.add(1, wire.TextFact(part="1", text="x")), flush=True)
        """
    )
    child = subprocess.Popen([sys.executable, "-c", program, str(path)], stdout=subprocess.PIPE, text=True)
    assert child.stdout is not None
    said = 0
    for line in child.stdout:
        said = int(line)
        if said >= 3 + 7 * seed:
            os.kill(child.pid, signal.SIGKILL)
            break
    child.wait()
    child.stdout.close()
    numbers = [fact.n for fact in opened().pending(limit=100_000)]
    assert numbers == list(range(1, len(numbers) + 1))
    assert len(numbers) >= said


def test_a_write_that_fails_leaves_no_gap(opened: Opened) -> None:
    journal = opened()
    journal.add(1, text("a"))
    with pytest.raises(sqlite3.IntegrityError), journal._writing() as db:
        db.execute("UPDATE meta SET value = '2' WHERE name = 'last_n'")
        db.execute("INSERT INTO facts VALUES (1, 1, '', NULL)")
    assert journal.add(1, text("b")) == 2
