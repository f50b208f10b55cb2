from pathlib import Path
from typing import Any

import pytest

from agentroom_machine import wire
from agentroom_machine.daemon.call import Call, from_hook
from agentroom_machine.daemon.gate import Ask, Harmless, judge, line_counts


@pytest.fixture
def work(tmp_path: Path) -> Path:
    folder = tmp_path / "work"
    (folder / "src").mkdir(parents=True)
    (folder / "src" / "app.py").write_text("print()\n")
    (folder / ".env").write_text("KEY=1\n")
    (tmp_path / "outside.txt").write_text("x")
    (folder / "link").symlink_to(tmp_path / "outside.txt")
    (folder / "innocent").symlink_to(folder / ".env")
    return folder


def hook(work: Path, name: str, **raw: Any) -> Call:
    return from_hook("t1", name, raw, str(work), work)


@pytest.mark.parametrize(
    ("name", "raw"),
    [
        ("Read", {"file_path": "{work}/src/app.py"}),
        ("Read", {"file_path": "src/app.py"}),
        ("Glob", {"pattern": "**/*"}),
        ("Grep", {"pattern": "x", "path": "src", "output_mode": "content"}),
        ("Grep", {"pattern": "x"}),
        ("TodoWrite", {"todos": []}),
        ("update_plan", {"plan": []}),
    ],
)
def test_reading_inside_the_working_directory_is_harmless(work: Path, name: str, raw: dict[str, Any]) -> None:
    raw = {key: value.format(work=work) if isinstance(value, str) else value for key, value in raw.items()}
    assert judge(hook(work, name, **raw)) == Harmless()


@pytest.mark.parametrize(
    ("name", "raw"),
    [
        ("Read", {"file_path": ".env"}),
        ("Read", {"file_path": ".ENV"}),
        ("Read", {"file_path": "innocent"}),
        ("Read", {"file_path": "link"}),
        ("Read", {"file_path": "../outside.txt"}),
        ("Read", {"file_path": "/etc/passwd"}),
        ("Read", {"file_path": "~/.ssh/id_ed25519"}),
        ("Read", {"file_path": ".git/config"}),
        ("Read", {"file_path": ".claude/settings.json"}),
        ("Read", {"file_path": "deploy.pem"}),
        ("Read", {"file_path": "a\x00b"}),
        ("Read", {}),
        ("Grep", {"pattern": "KEY", "output_mode": "content"}),
        ("Glob", {"pattern": "*", "path": "/etc"}),
        ("Bash", {"command": "ls"}),
        ("Write", {"file_path": "src/app.py", "content": "x"}),
        ("WebFetch", {"url": "https://example.com"}),
        ("Agent", {"prompt": "do it"}),
        ("mcp__files__read", {"path": "src/app.py"}),
        ("exec_command", {"cmd": "ls"}),
        ("write_stdin", {"chars": "git push\n"}),
        ("anything", {}),
    ],
)
def test_everything_else_is_asked(work: Path, name: str, raw: dict[str, Any]) -> None:
    assert isinstance(judge(hook(work, name, **raw)), Ask)


def test_a_runtimes_word_that_a_call_only_thinks_does_not_hide_a_command(work: Path) -> None:
    call = Call("1", "think", "", "thinking", "rm -rf /", (), {"command": "rm -rf /"}, work)
    assert isinstance(judge(call), Ask)


def test_the_action_shows_the_whole_command_and_where_it_runs(work: Path) -> None:
    command = "cd src && " + " " * 5000 + "; rm -rf ~"
    asked = judge(hook(work, "Bash", command=command))
    assert isinstance(asked, Ask)
    assert asked.action is not None
    assert command in asked.action
    assert str(work) in asked.action


def test_what_is_too_long_to_be_shown_whole_has_no_action(work: Path) -> None:
    asked = judge(hook(work, "Bash", command="x" * (wire.MAX_TEXT + 1)))
    assert isinstance(asked, Ask)
    assert asked.action is None
    assert len(asked.short) < 200


def test_an_edit_says_path_and_counts_and_its_exact_input(work: Path) -> None:
    asked = judge(hook(work, "Edit", file_path=str(work / "src/app.py"), old_string="print()", new_string="a\nb"))
    assert isinstance(asked, Ask)
    assert asked.title == "change src/app.py (+2 −1)"
    assert asked.action is not None
    assert '"new_string": "a\\nb"' in asked.action


def test_others_learn_no_path_outside_the_working_directory(work: Path) -> None:
    asked = judge(hook(work, "Read", file_path="/home/alice/diary.txt"))
    assert isinstance(asked, Ask)
    assert "diary" not in asked.short


def test_a_patch_names_its_files(work: Path) -> None:
    patch = "*** Begin Patch\n*** Update File: src/app.py\n-print()\n+print(1)\n+print(2)\n*** End Patch"
    asked = judge(hook(work, "apply_patch", command=patch))
    assert isinstance(asked, Ask)
    assert asked.title == "change src/app.py (+2 −1)"


def test_long_texts_are_counted_too() -> None:
    assert line_counts("a\n" * 9000, "a\n" * 9000 + "b\n" * 3) == (3, 0)
    assert line_counts("a\nb\nc", "a\nB\nc\nd") == (2, 1)
