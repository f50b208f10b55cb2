"""The reader and the real bash agree about which words reach which program."""

from __future__ import annotations

import fnmatch
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from agentroom_machine.danger.policy import Policy
from agentroom_machine.danger.programs import find_program
from agentroom_machine.danger.reader import Reader
from agentroom_machine.danger.unknown import UNKNOWN, pattern
from tests.danger.bash import runs

SAID = st.sampled_from(
    ["aim", "bow", "cat_", "d e", "f", "", "-g", "h=i", "*", "~x", "a#b", "{", "}", "!", "$", "\\", "'"]
)
NAMES = st.sampled_from(["run_a", "run_b", "run_c"])


class Listener(Reader):
    """Notes the words of every program that it meets."""

    def __init__(self) -> None:
        super().__init__(None, Policy(), find_program)
        self.met: list[list[str]] = []

    def run(self, argv: list[str], stdin: str | None = None) -> str:
        self.met.append(argv)
        return super().run(argv, stdin)


def covers(met: list[list[str]], words: list[str]) -> bool:
    return any(fits(argv, words) for argv in met)


def fits(argv: list[str], words: list[str]) -> bool:
    """Whether the words may be what the reader met: a word that it does not know may be none, or several."""
    if not argv:
        return not words
    if argv[0] == UNKNOWN and any(fits(argv[1:], words[count:]) for count in range(len(words) + 1)):
        return True
    return bool(words) and fnmatch.fnmatchcase(words[0], pattern(argv[0])) and fits(argv[1:], words[1:])


def agree(command: str, folder: Path) -> None:
    reader = Listener()
    findings = reader.read(command)
    if any(finding.kind == "unreadable" and not finding.confinable for finding in findings):
        return
    for words in runs(command, folder):
        assert covers(reader.met, words), (command, words, reader.met)


@st.composite
def spelled(draw: st.DrawFn, text: str) -> str:
    """One of the many ways to write a word."""
    out = ""
    rest = text
    while rest or not out:
        size = draw(st.integers(1, max(1, len(rest))))
        piece, rest = rest[:size], rest[size:]
        way = draw(st.sampled_from(["single", "double", "ansi", "backslash", "hex", "empty", "line"]))
        if way == "single" and "'" not in piece:
            out += f"'{piece}'"
        elif way == "double":
            out += '"' + "".join(f"\\{char}" if char in '$`"\\' else char for char in piece) + '"'
        elif way == "ansi":
            out += "$'" + piece.replace("\\", "\\\\").replace("'", "\\'") + "'"
        elif way == "hex":
            out += "$'" + "".join(f"\\x{ord(char):02x}" for char in piece) + "'"
        elif way == "backslash" and piece:
            out += "".join(f"\\{char}" for char in piece)
        elif way == "empty":
            out += "''" + "".join(f"\\{char}" for char in piece)
        else:
            out += "\\\n" + "".join(f"\\{char}" for char in piece) + '""'
    return out


@st.composite
def word(draw: st.DrawFn) -> str:
    text = draw(SAID)
    way = draw(st.sampled_from(["spelled", "spelled", "variable", "echo", "braces", "default", "cut", "array", "bare"]))
    plain = "".join(char for char in text if char.isalnum() or char in "_-") or "x"
    match way:
        case "variable":
            return draw(
                st.sampled_from(['"$v"', "$v", '"${v}"', "${v:-u}", "${w:-u}", '"$v$w"', "$1", '"$@"', "${#v}"])
            )
        case "echo":
            return draw(
                st.sampled_from([f"$(echo {plain})", f"`echo {plain}`", f'"$(printf %s {plain})"', "$(echo a b)"])
            )
        case "braces":
            return draw(
                st.sampled_from(
                    [f"{{{plain},b}}", f"x{{{plain},}}y", "{1..3}", "{a}", "{a,b}{c,d}", "{,}", '{"a b",c}']
                )
            )
        case "default":
            return draw(
                st.sampled_from(["${v%b}", "${v#a}", "${v##*i}", "${v/i/o}", "${v^^}", "${v:1}", "${v:0:2}", "${v+z}"])
            )
        case "array":
            return draw(st.sampled_from(['"${a[@]}"', "${a[0]}", "${a[@]}", '"${a[1]}"', '"${a[*]}"']))
        case "bare":
            return plain
        case _:
            return draw(spelled(text))


@st.composite
def simple(draw: st.DrawFn) -> str:
    name = draw(
        st.one_of(NAMES, NAMES.flatmap(spelled), st.sampled_from(["$n", '"${n}"', "$(echo run_a)", "{run_a,run_b}"]))
    )
    words = draw(st.lists(word(), max_size=3))
    return " ".join([*draw(st.lists(st.sampled_from(["k=1", "k=$v", "v=new"]), max_size=1)), name, *words])


def nested(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    pairs = st.tuples(inner, inner, st.sampled_from([";", "\n", "&&", "||", "|", ";\n\n", " & wait;"]))
    return st.one_of(
        pairs.map(lambda two: f"{two[0]} {two[2]} {two[1]}"),
        inner.map(lambda one: f"( {one} )"),
        inner.map(lambda one: f"{{ {one}\n}}"),
        inner.map(lambda one: f"if {one}\nthen {one}\nelse :\nfi"),
        inner.map(lambda one: f"for v in one two; do {one}\ndone"),
        inner.map(lambda one: f"case x in (y|z) :;; x) {one}\n;; esac"),
        inner.map(lambda one: f"f() {{ {one}\n}}; f p 'q r'"),
        inner.map(lambda one: f'echo "$({one}\n)"'),
        inner.map(lambda one: f"cat <<END\n$({one}\n)\nEND\n"),
        inner.map(lambda one: f"set -- s 't u'; {one}"),
        inner.map(lambda one: f"v='two words'; a=(x 'y z'); {one}"),
        inner.map(lambda one: f"eval {_quoted(one)}"),
        inner.map(lambda one: f"while {one}\ndo break; done"),
        inner.map(lambda one: f"[[ -n $({one}\n) ]] || ! {one}"),
    )


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "'\\''") + "'"


COMMANDS = st.recursive(simple(), nested, max_leaves=5)


@settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
@given(command=COMMANDS)
def test_bash_runs_no_words_that_the_reader_has_not_met(command: str, tmp_path_factory: pytest.TempPathFactory) -> None:
    agree(f"n=run_c; v=aimb; a=(one two)\n{command}", tmp_path_factory.mktemp("bash"))


@pytest.mark.parametrize(
    "command",
    [
        "x=run_a; false && x=run_b; $x",
        "for i in 1 2; do $x y; x=run_a; done",
        "f() { shift; \"$@\"; }; f a run_a b",
        "x='run_a b'; $x; \"$x\"",
        "run_a \"a\\\nb\" 'c\nd'",
        "a=(run_a b); a+=(c); \"${a[@]}\"",
        "IFS=,; x=run_a,b; $x",
        "run_a $(cat <<'E'\na ) b\nE\n)",
        "run_a `run_b \\`run_c\\``",
        "run_a ${x:-`run_b`} \"${y:=\"a b\"}\" $y",
        "cat <<A; run_a <<B\n$(run_b)\nA\n`run_c`\nB",
        "run_a {a,b{c,d}}e {1..3..2} {x..z} a{b,c",
        "case a in a) run_a;& b) run_b;; *) run_c; esac",
        "function g() { run_a; }\ng",
        "((1)) && run_a; (( 0 )) || run_b; run_c $((1+(2*3)))",
        "run_a 2>&1 >/dev/null b 3<&- c",
        "x=1 run_a; >/dev/null run_b c",
        "! run_a; time run_b; if run_a; then run_b; elif run_c; then :; fi",
        "select x in a b; do run_a $x; break; done <<< 1",
        "run_a \"${v//a/b}\" ${#v} ${v:+w} ${v:(-1)}",
        "run_a $'a\\'b\\x41\\u00e9\\n' $\"loc\"",
        "run_a#x #y\nrun_b",
        "eval \"eval 'run_a b'\"; eval run_b '\"c d\"'",
        "run_a $(( $(echo 1) + 1 ))",
        "x=$(run_a); y=`run_b`; z+=$(run_c)",
        "run_a | run_b |& run_c; run_a &\nwait",
        "until run_a; do run_b; done",
        "[[ a == a && $(run_a) ]]; [ \"$(run_b)\" ]",
        "trap 'run_a b' EXIT; run_b",
        "x=(a $(run_a) [3]=b); run_b \"${x[@]}\"",
        "run_a <(run_b) > >(run_c)",
        "a=b; run_a ${a}c $a\"d\" $a'e' \"$a\"f",
        "printf -v x '%s' run_a; $x b",
        "read x <<< run_a; $x",
        "x=run_a; y=x; ${!y} b",
        "alias r=run_a\nshopt -s expand_aliases\neval 'r b'",
        "{ run_a; } 2>/dev/null; ( run_b ) | { run_c; }",
        "x=\"a b\"; for i in $x \"$x\"; do run_a $i; done",
        "f() case x in x) run_a $1;; esac; f b",
        "coproc run_a; wait",
        "run_a\\\n_b; run\\\n_a",
    ],
)  # fmt: skip
def test_of_the_corners_of_bash_none_is_missed(command: str, tmp_path: Path) -> None:
    agree(command, tmp_path)
