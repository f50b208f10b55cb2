from __future__ import annotations

import csv
import io
import json
from datetime import datetime

import pytest

from agentroom_machine import wire
from approvals import audit, turns
from approvals.models import AuditRecord
from tests.approvals.kitchen import Kitchen
from tests.pages.conftest import In
from tests.pages.reading import text

COVERED = ("number", "room", "agent", "who", "what", "about", "in_name_of", "decision")


@pytest.fixture
def lived_in(kitchen: Kitchen) -> Kitchen:
    turn = kitchen.turn(kitchen.ask(kitchen.bob, "@claude secret recipe"))
    turns.answer(kitchen.alice, kitchen.question(turn).pk, verdict="once")
    kitchen.daemon.run()
    kitchen.daemon.tell(
        turn.pk, wire.QuestionFact(key="k", subject="push", title="t", action="git push\u202e origin", short="push")
    )
    turns.answer(kitchen.alice, kitchen.question(turn, "push").pk, verdict="no")
    kitchen.daemon.end(turn.pk)
    return kitchen


def test_the_owner_reads_who_asked_what_ran_and_who_decided(lived_in: Kitchen, signed_in: In) -> None:
    page = text(signed_in(lived_in.alice).get("/audit/"))
    assert "The whole chain verifies." in page
    for words in ("bob bob ask claude kitchen", "alice bob answer push claude kitchen", "git push U+202E origin no"):
        assert words in page, words
    assert "secret recipe" not in page


def test_it_is_filtered_by_agent_person_and_kind(lived_in: Kitchen, signed_in: In) -> None:
    alice = signed_in(lived_in.alice)

    def numbers(query: str) -> set[int]:
        lines = alice.get(f"/audit/export.jsonl?{query}").content.decode().splitlines()
        return {json.loads(line)["number"] for line in lines}

    mine = AuditRecord.objects.filter(owner=lived_in.alice)
    assert numbers("agent=claude") == set(mine.filter(agent="claude").values_list("number", flat=True)) != set()
    assert numbers("agent=codex") == set()
    assert numbers("kind=answer+push") == {mine.get(what="answer push").number}
    assert numbers("person=bob") == set(mine.filter(in_name_of="bob").values_list("number", flat=True))


def test_nobody_reads_anothers_trail(lived_in: Kitchen, signed_in: In) -> None:
    for user in (lived_in.bob, lived_in.dana, lived_in.charlie):
        browser = signed_in(user)
        for path in ("/audit/", "/audit/export.jsonl", "/audit/export.csv"):
            assert b"git push" not in browser.get(path).content


def test_the_export_can_be_verified_elsewhere(lived_in: Kitchen, signed_in: In) -> None:
    answer = signed_in(lived_in.alice).get("/audit/export.jsonl")
    assert "attachment" in answer["Content-Disposition"]
    previous = ""
    lines = [json.loads(line) for line in answer.content.decode().splitlines()]
    assert len(lines) == AuditRecord.objects.filter(owner=lived_in.alice).count()
    for line in lines:
        said = {name: line[name] for name in COVERED}
        record = AuditRecord(owner_id=line["owner"], at=datetime.fromisoformat(line["at"]), **said)
        assert line["digest"] == audit.digest(previous, record)
        previous = line["digest"]


@pytest.mark.parametrize("begin", ["=", "+", "-", "@", "\t", "\r"])
def test_a_spreadsheet_runs_nothing_of_it(kitchen: Kitchen, signed_in: In, begin: str) -> None:
    audit.write(kitchen.alice, "answer push", who="alice", about=f'{begin}HYPERLINK("http://evil","x")')
    rows = list(csv.reader(io.StringIO(signed_in(kitchen.alice).get("/audit/export.csv").content.decode(), newline="")))
    header, *lines = rows
    assert lines[-1][header.index("about")].startswith(f"'{begin}")
    assert not [cell for line in lines for cell in line if cell.startswith(("=", "+", "-", "@", "\t", "\r"))]


def test_a_broken_chain_is_said(lived_in: Kitchen, signed_in: In) -> None:
    line = AuditRecord.objects.get(owner=lived_in.alice, what="answer push")
    line.delete()
    assert f"broken at line {line.number}" in text(signed_in(lived_in.alice).get("/audit/"))


def test_a_long_trail_is_read_in_pages(kitchen: Kitchen, signed_in: In) -> None:
    for number in range(120):
        audit.write(kitchen.alice, "limit", who="alice", about=f"line-{number}.")
    alice = signed_in(kitchen.alice)
    page = alice.get("/audit/").content.decode()
    assert "line-119." in page
    assert "line-5." not in page
    oldest = AuditRecord.objects.get(owner=kitchen.alice, about="line-20.").number
    assert f"before={oldest}" in page
    assert "line-5." in alice.get(f"/audit/?before={oldest}").content.decode()
