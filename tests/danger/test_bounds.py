import time

import pytest

from agentroom_machine.danger import classify
from tests.danger.corpus import LINES

LONG = [
    "echo " + "x " * 5_970 + "; rm -rf ~",
    "echo " + "'" + "y" * 11_900 + "'; rm x",
    " " * 11_900 + "; rm x",
    ";".join(["ls -la src"] * 1_000) + ";rm x",
    "&&".join(["true"] * 1_900) + "&&rm x",
    "|".join(["cat"] * 2_000) + "|xargs rm",
    "(" * 3_000 + "rm x" + ")" * 3_000,
    "{" * 12_000,
    "{a,b}" * 2_400,
    "{1..9}" * 2_000,
    "$(" * 5_000,
    "`" * 12_000,
    "\\`" * 6_000,
    "'" * 11_999,
    "${x:-" * 2_400,
    "${x" * 4_000,
    "<<a " * 3_000,
    "if " * 4_000,
    "a() { a; a; }; a",
    ":(){ :|:& };:",
    "f() { f; f; f; }; f; rm x",
    "x=$x$x$x; " * 1_000 + "$x",
    "for a in 1 2 3 4 5 6 7 8 9; do for b in 1 2 3 4 5 6 7 8 9; do for c in 1 2 3 4 5; do $a$b$c; done; done; done",
    "eval " * 2_000 + "rm x",
    "sudo " * 2_000 + "rm x",
    "env A=1 " * 1_400 + "rm x",
    "xargs " * 1_900 + "rm x",
    "bash -c " * 1_400 + "rm",
    "echo " + "*" * 11_900,
    "cat " + ".*" * 5_000,
    "echo $((" + "1+" * 5_000 + "1)); rm x",
    "python3 -c '" + "(" * 5_000 + "'",
    "python3 -c '" + "-" * 11_000 + "1'",
    "sed '" + "s/a/b/;" * 1_600 + "' f; rm x",
    "sed 's" + "/" * 11_000 + "'; rm x",
    "psql -c '" + "select 1;" * 1_200 + "drop table x'",
    "psql -c '" + "alter " * 2_000 + "'; rm x",
    "awk '" + "/a/{print}" * 1_100 + "'; rm x",
    "node -e '" + "a[" * 5_000 + "'; rm x",
    "perl -e '" + "s/a/b/" * 1_800 + "'; rm x",
    "vim " + "+x " * 3_900 + "; rm x",
    "curl " + "-H a " * 2_300 + "http://x; rm x",
    "a=(" + "x " * 5_000 + "); rm \"${a[@]}\"",
    "cat <<E\n" + "line\n" * 2_000 + "E\nrm x",
    "exiftool '" + "${a;" * 9_000 + "'; rm x",
    "dc -e '" + "[" * 30_000 + "'; rm x",
]  # fmt: skip


@pytest.mark.parametrize("command", LONG, ids=range(len(LONG)))
def test_a_long_command_pauses_within_two_seconds(command: str) -> None:
    began = time.process_time()
    reading = classify(command)
    took = time.process_time() - began
    assert took < 2, f"{took:.2f} s for {command[:40]!r}"
    harmless = command.startswith(("echo ***", "{a,b}", "{1..9}", "``", "\\`"))
    assert reading.pauses or harmless


def test_a_command_takes_a_few_milliseconds() -> None:
    for line in LINES[:50]:
        classify(line.command)
    began = time.process_time()
    for line in LINES:
        classify(line.command)
    assert (time.process_time() - began) / len(LINES) < 0.005


@pytest.mark.parametrize("command", ["a\0b", "ls \ufdd0", "\ufdd1", "x" * 64_001])
def test_what_no_text_has_is_not_read(command: str) -> None:
    assert classify(command).kind == "unreadable"
