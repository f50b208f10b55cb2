import shlex
from pathlib import Path
from typing import Any

import pytest

from agentroom_machine import wire
from agentroom_machine.daemon.call import Call, as_asked, from_hook, passable
from agentroom_machine.daemon.gate import Ask, Gate, Harmless
from agentroom_machine.daemon.showing import counts, line_counts
from agentroom_machine.danger import Policy


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


READS = [
    ("Read", {"file_path": "{work}/src/app.py"}),
    ("Read", {"file_path": "src/app.py"}),
    ("Glob", {"pattern": "**/*"}),
    ("Grep", {"pattern": "x", "path": "src", "output_mode": "content"}),
    ("Grep", {"pattern": "x"}),
    ("TodoWrite", {"todos": []}),
    ("update_plan", {"plan": []}),
    ("BashOutput", {"bash_id": "1"}),
]
WORK = [
    ("Bash", {"command": "ls -l src"}),
    ("Bash", {"command": "git status", "description": "Look", "timeout": 1000, "run_in_background": False}),
    ("exec_command", {"cmd": "git diff && cat src/app.py", "yield_time_ms": 500, "login": True}),
    ("Write", {"file_path": "src/app.py", "content": "x"}),
    ("Edit", {"file_path": "{work}/src/app.py", "old_string": "print()", "new_string": ""}),
    ("apply_patch", {"command": "*** Begin Patch\n*** Update File: src/app.py\n-a\n+b\n*** End Patch"}),
]
PROJECT_CODE = ["make test", "pytest -q", "./run.sh", "npm test", "python -m app"]
ASKED = [
    ("Read", {"file_path": ".env"}, "credentials"),
    ("Read", {"file_path": ".ENV"}, "credentials"),
    ("Read", {"file_path": "innocent"}, "credentials"),
    ("Read", {"file_path": "link"}, "unreadable"),
    ("Read", {"file_path": "../outside.txt"}, "unreadable"),
    ("Read", {"file_path": "/usr/share/dict"}, "unreadable"),
    ("Read", {"file_path": "~/.ssh/id_ed25519"}, "credentials"),
    ("Read", {"file_path": ".git/config"}, "credentials"),
    ("Read", {"file_path": ".git/HEAD"}, "unreadable"),
    ("Read", {"file_path": ".claude/settings.json"}, "credentials"),
    ("Read", {"file_path": "deploy.pem"}, "credentials"),
    ("Read", {"file_path": "a\x00b"}, "unreadable"),
    ("Read", {}, "unreadable"),
    ("Grep", {"pattern": "KEY", "output_mode": "content"}, "credentials"),
    ("Glob", {"pattern": "*", "path": "/usr"}, "unreadable"),
    ("Glob", {"pattern": "/usr/**"}, "unreadable"),
    ("Glob", {"pattern": "~/**"}, "unreadable"),
    ("Glob", {"pattern": "../*"}, "unreadable"),
    ("Write", {"file_path": ".env", "content": "x"}, "credentials"),
    ("Write", {"file_path": ".git/hooks/pre-commit", "content": "x"}, "unreadable"),
    ("Write", {"file_path": ".claude/settings.json", "content": "x"}, "credentials"),
    ("Write", {"file_path": "../outside.txt", "content": "x"}, "delete"),
    ("Write", {"file_path": "/tmp/ar-guards-abc/hooks/post-commit", "content": "x"}, "unreadable"),
    ("Write", {"file_path": "/tmp/ar-box-abc/settings", "content": "x"}, "unreadable"),
    ("Bash", {"command": "echo x > /tmp/ar-guards-abc/hooks/post-commit"}, "unreadable"),
    ("Bash", {"command": "cp x /var/tmp/ar-push-abc/push.git/config"}, "unreadable"),
    ("Edit", {"file_path": "link", "old_string": "x", "new_string": "y"}, "delete"),
    ("apply_patch", {"command": "*** Begin Patch\n*** Delete File: src/app.py\n*** End Patch"}, "delete"),
    ("apply_patch", {"command": "*** Begin Patch\n  *** Delete File: src/app.py\n*** End Patch"}, "delete"),
    ("apply_patch", {"patch": "*** Begin Patch\n\t*** Delete File: src/app.py\r\n*** End Patch"}, "delete"),
    ("apply_patch", {"changes": {"src/app.py": {"type": "delete", "content": ""}}}, "delete"),
    ("apply_patch", {"changes": {"src/app.py": {"delete": {}}}}, "delete"),
    ("WebFetch", {"url": "https://example.com", "prompt": "x"}, "unreadable"),
    ("WebFetch", {"url": "http://169.254.169.254/latest"}, "credentials"),
    ("WebFetch", {"url": "file:///etc/passwd"}, "unreadable"),
    ("WebSearch", {"query": "x"}, "tool"),
    ("Agent", {"prompt": "do it"}, "tool"),
    ("mcp__files__read", {"path": "src/app.py"}, "spend"),
    ("mcp__agentroom__agents_send", {}, "spend"),
    ("mcp__room__agents_send", {}, "unreadable"),
    ("mcp__room_evil__agents_send", {}, "spend"),
    ("anything", {}, "unreadable"),
    ("anything", {"command": "ls"}, "unreadable"),
    ("write_stdin", {"chars": "git push\n"}, "unreadable"),
    ("Bash", {"command": "git push"}, "push"),
    ("Bash", {"command": "cd src && git -C .. push origin HEAD:main"}, "push"),
    ("Bash", {"command": "rm -rf src"}, "delete"),
    ("Bash", {"command": "aws ec2 run-instances"}, "spend"),
    ("Bash", {"command": "cat .env"}, "credentials"),
    ("Bash", {"command": "$(cat x) y"}, "unreadable"),
    ("Bash", {"command": "ls", "env": {"LD_PRELOAD": "x"}}, "unreadable"),
    ("exec_command", {"cmd": "ls", "shell": "/usr/bin/python3"}, "unreadable"),
    ("exec_command", {"cmd": "ls", "shell": "./bash"}, "unreadable"),
    ("exec_command", {"cmd": ["git", "push"]}, "push"),
    ("exec_command", {"cmd": ["python3", "-c", "import os; os.system('git push')"]}, "push"),
    ("exec_command", {"cmd": ["bash", "-lc", "rm -r src"]}, "delete"),
]


PATCHES = [
    ("  *** Update File: .mcp.json\n-a\n+b", "credentials"),
    ("*** Update File: src/app.py\n \t*** Move to: .vscode/tasks.json\n-a\n+b", "unreadable"),
    ("\u3000*** Update File: /home/alice/.bashrc\n-a\n+b", "unreadable"),
    ("*** Add File: src/a.py\n+a\n *** Add File: ../b.py\n+b", "delete"),
    ("*** Update File: src/app.py\n-a\n+b\n  *** Delete File: src/app.py", "delete"),
    ("*** Update File: src/app.py\x0c/../../../x\n-a\n+b", "unreadable"),
    ("*** Rename File: src/app.py\n-a\n+b", "unreadable"),
    ("*** Update File: src/app.py\n-a\n *** Copy to: x\n+b", "unreadable"),
]


def filled(work: Path, raw: dict[str, Any]) -> dict[str, Any]:
    return {key: value.replace("{work}", str(work)) if isinstance(value, str) else value for key, value in raw.items()}


@pytest.mark.parametrize("gate", [Gate(), Gate(confined="commands"), Gate(confined="everything")])
@pytest.mark.parametrize(("name", "raw"), READS + WORK)
def test_reading_and_working_in_the_working_directory_needs_no_question(
    work: Path, gate: Gate, name: str, raw: dict[str, Any]
) -> None:
    assert gate.judge(hook(work, name, **filled(work, raw))) == Harmless()


@pytest.mark.parametrize("gate", [Gate(), Gate(confined="commands")])
@pytest.mark.parametrize(("name", "raw", "subject"), ASKED)
def test_the_four_kinds_and_what_cannot_be_read_are_asked_each_with_its_name(
    work: Path, gate: Gate, name: str, raw: dict[str, Any], subject: str
) -> None:
    asked = gate.judge(hook(work, name, **raw))
    assert isinstance(asked, Ask)
    assert asked.subject == subject


@pytest.mark.parametrize(("lines", "subject"), PATCHES)
def test_a_patch_is_read_as_codex_reads_it_or_not_at_all(work: Path, lines: str, subject: str) -> None:
    for gate in (Gate(), Gate(confined="commands"), Gate(confined="everything")):
        asked = gate.judge(hook(work, "apply_patch", command=f"*** Begin Patch\n{lines}\n*** End Patch"))
        assert isinstance(asked, Ask)
        assert asked.subject == subject


@pytest.mark.parametrize("command", PROJECT_CODE)
def test_the_projects_own_code_runs_unasked_only_where_it_is_confined(work: Path, command: str) -> None:
    asked = Gate().judge(hook(work, "Bash", command=command))
    assert isinstance(asked, Ask)
    assert asked.subject == "unreadable"
    assert Gate(confined="commands").judge(hook(work, "Bash", command=command)) == Harmless()
    assert Gate(confined="everything").judge(hook(work, "Bash", command=command)) == Harmless()


@pytest.mark.parametrize(
    ("name", "raw"),
    [
        ("Bash", {"command": "make test", "dangerouslyDisableSandbox": True}),
        ("Monitor", {"command": "make test"}),
        ("exec_command", {"cmd": "make test", "sandbox_permissions": "require_escalated"}),
    ],
)
def test_what_asks_to_leave_its_sandbox_is_judged_as_unconfined(work: Path, name: str, raw: dict[str, Any]) -> None:
    asked = Gate(confined="commands").judge(hook(work, name, **raw))
    assert isinstance(asked, Ask)
    assert asked.subject == "unreadable"


@pytest.mark.parametrize(
    ("confined", "raw", "words"),
    [
        ("nothing", {"command": "rm -rf src"}, ""),
        ("commands", {"command": "rm -rf src"}, "keeps it from the network and from secrets."),
        ("everything", {"command": "npm publish"}, "keeps it from the network and from secrets; it may fail for that."),
        ("commands", {"command": "rm -rf src", "dangerouslyDisableSandbox": True}, "It asks to run outside of"),
    ],
)
def test_the_owner_reads_where_a_command_would_run(work: Path, confined: Any, raw: dict[str, Any], words: str) -> None:
    gate, call = Gate(confined=confined), hook(work, "Bash", **raw)
    asked = gate.judge(call)
    assert isinstance(asked, Ask)
    said = gate.stays(call, asked)
    assert words in said
    assert bool(words) == bool(said)


def test_a_shell_that_the_project_has_made_is_the_projects_own_code(work: Path) -> None:
    call = hook(work, "exec_command", cmd=["./bash", "-c", "ls"])
    assert call.command == "./bash -c ls"
    assert isinstance(Gate().judge(call), Ask)
    assert hook(work, "exec_command", cmd=["/bin/bash", "-lc", "ls"]).command == "ls"


def test_a_command_is_read_from_where_it_runs(work: Path) -> None:
    outside = from_hook("t1", "Bash", {"command": "echo x > app.py"}, "/usr", work)
    asked = Gate(confined="commands").judge(outside)
    assert isinstance(asked, Ask)
    assert asked.subject == "delete"
    within = from_hook("t1", "Bash", {"command": "echo x > app.py"}, str(work / "src"), work)
    assert Gate(confined="commands").judge(within) == Harmless()
    for key in ("workdir", "cwd", "dir_path"):
        elsewhere = hook(work, "exec_command", cmd="cat config", **{key: "/home/alice/.ssh"})
        asked = Gate(confined="commands").judge(elsewhere)
        assert isinstance(asked, Ask)
        assert asked.subject == "credentials"
        assert elsewhere.cwd == "/home/alice/.ssh"
        near = hook(work, "exec_command", cmd="cat app.py", **{key: "src"})
        assert Gate(confined="commands").judge(near) == Harmless()
        assert near.cwd == str(work / "src")
    for odd in ({"workdir": "src", "cwd": "/home/alice/.ssh"}, {"workdir": ["/home/alice/.ssh"]}):
        asked = Gate(confined="commands").judge(hook(work, "exec_command", cmd="cat config", **odd))
        assert isinstance(asked, Ask)
        assert asked.subject == "unreadable"
    unheard = from_hook("t1", "Bash", {"command": "cat config", "cwd": str(work)}, "/home/alice/.ssh", work)
    assert isinstance(Gate(confined="commands").judge(unheard), Ask)


def test_the_owners_policy_adds_pauses_and_names_what_is_fine(work: Path) -> None:
    policy = Policy(ask=("git status",), hosts=("docs.example.org",), secrets=("*.secret.txt",))
    gate = Gate(policy, "commands")
    assert isinstance(gate.judge(hook(work, "Bash", command="git status")), Ask)
    assert isinstance(gate.judge(hook(work, "Read", file_path="a.secret.txt")), Ask)
    assert gate.judge(hook(work, "WebFetch", url="https://docs.example.org/x", prompt="x")) == Harmless()


def test_only_what_was_understood_whole_and_fails_inside_can_be_done_outside(work: Path) -> None:
    def releasable(gate: Gate, command: str) -> bool:
        asked = gate.judge(hook(work, "Bash", command=command))
        assert isinstance(asked, Ask)
        return asked.releasable

    confined = Gate(confined="commands")
    assert releasable(confined, "cat .env")
    assert releasable(confined, "aws ec2 run-instances --count 1")
    assert not releasable(confined, "rm -rf src")
    assert not releasable(confined, "cat .env | ./send.sh")
    assert not releasable(Gate(), "cat .env")
    assert not releasable(Gate(confined="everything"), "cat .env")


def test_our_own_tools_need_no_question_where_the_session_has_them(work: Path) -> None:
    call = hook(work, "mcp__room__agents_send", to=["codex"], body="git push")
    assert Gate(mail=True).judge(call) == Harmless()
    assert isinstance(Gate().judge(call), Ask)


def test_where_a_runtime_has_walls_of_its_own_what_needs_the_network_can_be_done_outside_or_says_so(work: Path) -> None:
    def put(gate: Gate, command: str, **more: str) -> tuple[bool, str]:
        call = hook(work, "Bash", command=command, **more)
        asked = gate.judge(call)
        assert isinstance(asked, Ask)
        return asked.releasable, gate.stays(call, asked)

    walled, nothing = Gate(walled=True), Gate()
    assert put(walled, "stripe charges create")[0]
    releasable, words = put(walled, "stripe charges create | ./x")
    assert not releasable
    assert "nothing reach the network" in words
    assert put(walled, "cat .env") == (False, "")
    assert put(walled, "stripe charges create", sandbox_permissions="require_escalated") == (False, "")
    assert put(nothing, "stripe charges create") == (False, "")
    assert put(nothing, "gh pr create") == (False, "")
    assert "only where it is the whole command" in put(nothing, "git commit -am x && git push")[1]


def test_a_runtimes_word_that_a_call_only_thinks_does_not_hide_a_command(work: Path) -> None:
    call = Call("1", "think", "", "thinking", "rm -rf /", (), {"command": "rm -rf /"}, work)
    assert isinstance(Gate().judge(call), Ask)


def test_the_action_shows_the_whole_command_and_where_it_runs(work: Path) -> None:
    command = "cd src && " + " " * 5000 + "; rm -rf ~"
    asked = Gate().judge(hook(work, "Bash", command=command))
    assert isinstance(asked, Ask)
    assert asked.action is not None
    assert command in asked.action
    assert str(work) in asked.action


def test_what_is_too_long_to_be_shown_whole_has_no_action(work: Path) -> None:
    asked = Gate().judge(hook(work, "Bash", command="x" * (wire.MAX_TEXT + 1)))
    assert isinstance(asked, Ask)
    assert asked.action is None
    assert len(asked.short) < 200


def test_an_edit_says_path_and_counts_and_its_exact_input(work: Path) -> None:
    asked = Gate().judge(hook(work, "Edit", file_path=".git/app.py", old_string="print()", new_string="a\nb"))
    assert isinstance(asked, Ask)
    assert asked.title.startswith("change .git/app.py (+2 −1): ")
    assert asked.action is not None
    assert '"new_string": "a\\nb"' in asked.action


def test_others_learn_no_path_outside_the_working_directory(work: Path) -> None:
    asked = Gate().judge(hook(work, "Read", file_path="/home/alice/diary.txt"))
    assert isinstance(asked, Ask)
    assert "diary" not in asked.short


def test_a_patch_names_its_files(work: Path) -> None:
    patch = "*** Begin Patch\n*** Update File: src/app.py\n-print()\n+print(1)\n+print(2)\n*** End Patch"
    call = hook(work, "apply_patch", command=patch)
    assert call.paths == ("src/app.py",)
    assert counts(call) == (2, 1)


def test_only_what_codex_would_refuse_whoever_approved_it_is_said_in_other_words(work: Path) -> None:
    for command in ("rm -rf src", 'for f in *; do rm -f "$f"; done', "echo 'it'; rm -f 'a b'"):
        told = passable(hook(work, "Bash", command=command))
        assert shlex.split(told) == ["eval", command]
        for raw in ({"command": told}, {"command": ["/bin/bash", "-lc", told]}):
            shown = as_asked({"toolCallId": "1", "title": told, "rawInput": raw}, {told: command})
            assert shown == {"toolCallId": "1", "title": command, "rawInput": {"command": command}}
    assert as_asked({"title": "ls", "rawInput": None}, {"eval x": "x"}) == {"title": "ls", "rawInput": None}
    assert passable(hook(work, "Bash", command="git push")) == ""
    assert passable(hook(work, "exec_command", cmd=["rm", "-f", "x"])) == ""


def test_long_texts_are_counted_too() -> None:
    assert line_counts("a\n" * 9000, "a\n" * 9000 + "b\n" * 3) == (3, 0)
    assert line_counts("a\nb\nc", "a\nB\nc\nd") == (2, 1)
