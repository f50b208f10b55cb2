import json
import subprocess
import sys
from pathlib import Path

from tests.danger.corpus import LINES


def explain(*args: str, said: str = "", cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "agentroom_machine.cli", "explain", *args],
        input=said, capture_output=True, text=True, timeout=60, check=False, cwd=cwd,
    )  # fmt: skip


def test_it_says_what_would_happen_and_why() -> None:
    told = explain("cd x && git push")
    assert told.returncode == 0
    assert told.stdout.startswith("asks you first: push\n")
    assert "in: git push" in told.stdout
    assert explain("ls").stdout.startswith("runs unasked\n")


def test_unconfined_is_another_answer() -> None:
    assert explain("make").stdout.startswith("runs unasked")
    assert explain("--unconfined", "make").stdout.startswith("asks you first: unreadable")


def test_lines_come_back_with_their_kind() -> None:
    said = "".join(json.dumps({"command": line.command, "expect": line.expect}) + "\n" for line in LINES[::7])
    told = explain("--jsonl", "--confined", said=said)
    assert told.returncode == 0, told.stderr
    answers = [json.loads(line) for line in told.stdout.splitlines()]
    assert len(answers) == len(LINES[::7])
    assert [(a["command"], a["kind"]) for a in answers if (a["kind"] is None) != (a["expect"] is None)] == []


def test_a_line_that_is_none_is_answered_with_an_error_and_the_others_are_done() -> None:
    told = explain("--jsonl", said='{"command": "ls"}\nnonsense\n[1]\n{"command": 3, "id": 7}\n\n{"command": "rm x"}\n')
    answers = [json.loads(line) for line in told.stdout.splitlines()]
    assert told.returncode == 1
    assert [answer.get("kind", "-") for answer in answers] == [None, "-", "-", "-", "delete"]
    assert all(("error" in answer) == ("kind" not in answer) for answer in answers)
    assert answers[3]["id"] == 7
    assert "lines 2, 3, 4" in told.stderr


def test_a_policy_file_counts(tmp_path: Path) -> None:
    policy = tmp_path / "claude.toml"
    policy.write_text('ask = ["ls"]')
    assert explain("--policy", str(policy), "ls").stdout.startswith("asks you first")
    policy.write_text('allow = ["git push"]')
    assert explain("--policy", str(policy), "ls").returncode == 2


def test_nothing_in_the_answer_steers_a_terminal() -> None:
    told = explain("rm '\x1b[2J' x\u202e")
    assert "\x1b" not in told.stdout
    assert "\u202e" not in told.stdout


def test_it_wants_to_be_told_which_command() -> None:
    assert explain().returncode == 2
    assert explain("--jsonl", "ls").returncode == 2
