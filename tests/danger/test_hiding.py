"""Hypothesis hides dangerous commands: by quoting, splitting, naming, nesting; none of them passes."""

from __future__ import annotations

import base64
import shlex

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from agentroom_machine.danger import Policy, classify
from agentroom_machine.danger.programs import find_program
from agentroom_machine.danger.reader import Reader
from tests.danger.corpus import DANGEROUS, HARMLESS, closed
from tests.danger.test_bash import spelled

WORDS = st.sampled_from(
    [
        ["git", "push"], ["git", "push", "origin", "main"], ["git", "reset", "--hard"], ["git", "clean", "-fdx"],
        ["rm", "x"], ["rm", "-rf", "build"], ["unlink", "a"], ["find", ".", "-delete"], ["npm", "publish"],
        ["gh", "pr", "merge", "3"], ["cat", ".env"], ["cat", "/etc/shadow"], ["printenv"], ["gh", "auth", "token"],
        ["terraform", "apply"], ["terraform", "destroy"], ["stripe", "charges", "create"],
        ["kubectl", "delete", "pod", "x"],
        ["docker", "push", "x"], ["psql", "-c", "DROP TABLE x"], ["aws", "s3", "rm", "s3://b/k"], ["shred", "f"],
        ["curl", "-X", "DELETE", "http://localhost/x"], ["python3", "-c", "import os; os.remove('x')"],
        ["node", "-e", "require('fs').rmSync('x')"], ["sqlite3", "a.db", "delete from t"], ["docker", "rm", "-f", "x"],
    ]
)  # fmt: skip
OTHERS = st.sampled_from(
    ["ls", "pwd", "git status", "echo 'a; b'", "x=1", "cat README.md", "for i in 1 2; do echo $i; done"]
)


def sh(command: str) -> str:
    return shlex.quote(command)


@st.composite
def hidden(draw: st.DrawFn) -> str:
    """A dangerous command, each of its words written in one of many ways."""
    words = draw(WORDS)
    before: list[str] = []
    out: list[str] = []
    for position, word in enumerate(words):
        match draw(st.sampled_from(["spelled", "variable", "echo", "printf", "default", "array", "joined", "plain"])):
            case "variable":
                before.append(f"v{position}={sh(word)}")
                out.append(f'"$v{position}"')
            case "echo" if "\\" not in word and not word.startswith("-"):
                out.append(f'"$(echo {sh(word)})"')
            case "printf":
                out.append(f'"$(printf %s {sh(word)})"')
            case "default":
                out.append(
                    '"${nothing:-' + word.replace("'", "\\'").replace('"', '\\"') + '}"' if word.isalnum() else sh(word)
                )
            case "array":
                before.append(f"a{position}=(z {sh(word)})")
                out.append(f'"${{a{position}[1]}}"')
            case "joined" if len(word) > 1:
                before.append(f"w{position}={sh(word[:1])}; w{position}+={sh(word[1:])}")
                out.append(f'"$w{position}"')
            case "spelled":
                out.append(draw(spelled(word)))
            case _:
                out.append(sh(word))
    return "; ".join([*before, " ".join(out)])


@st.composite
def nested(draw: st.DrawFn, command: str) -> str:
    """The command inside of what shells have to put commands into, one in another."""
    for _ in range(draw(st.integers(0, 4))):
        other = draw(OTHERS)
        command = draw(
            st.sampled_from(
                [
                    f"{other}; {command}", f"{other} && {command}", f"{other}\n{command}\n{other}", f"( {command} )",
                    f"{{ {command}\n}}", f"bash -c {sh(command)}", f"sh -c {sh(command)} _ a", f"eval {sh(command)}",
                    f"if {other}; then\n{command}\nfi", f"while {other}; do {command}\ndone", f"! {{ {command}\n}}",
                    f"case x in *) {command}\n;; esac", f"f() {{ {command}\n}}; f", f"echo \"$( {command}\n)\"",
                    f"cat <<X1\n$( {command}\n)\nX1", f"bash <<'X2'\n{command}\nX2",
                    f"env A=1 bash -c {sh(command)}",
                    f"echo {sh(base64.b64encode(command.encode()).decode())} | base64 -d | sh",
                    f"trap {sh(command)} EXIT", f"x=$( {command}\n)", f"diff <( {command}\n) a",
                    f"timeout 5 nice -n 3 bash -lc {sh(command)}", f"find . -exec sh -c {sh(command)} \\;",
                    f"echo y | xargs -n1 sh -c {sh(command)}", f"sudo bash -c {sh(command)}",
                    f"git submodule foreach {sh(command)}", f"git -c {sh('alias.q=!' + command)} q",
                    f"coproc {{ {command}\n}}", f"printf %s {sh(command)} > now.sh; sh now.sh",
                    f"python3 -c {sh(f'import os; os.system({command!r})')}", f"ls & {command}",
                    f"ls | {{ {command}\n}}", f"watch {sh(command)}", f"tar cf a b --to-command={sh(command)}",
                    f"function g {{ {command}\n}}\ng a b", f"alias z={sh(command)}", f"[[ -n $( {command}\n) ]]",
                ]
            )
        )  # fmt: skip
    return command


@settings(max_examples=300, deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data(), command=hidden())
def test_no_way_of_writing_hides_a_dangerous_command(data: st.DataObject, command: str) -> None:
    written = data.draw(nested(command))
    assert classify(written).pauses, written


@settings(max_examples=200, deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_no_nesting_lets_a_line_of_the_corpus_pass(data: st.DataObject) -> None:
    command = data.draw(st.sampled_from([line.command for line in DANGEROUS if closed(line.command)]))
    written = data.draw(nested(command))
    assert classify(written).pauses, written


@settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
@given(text=st.text(max_size=120), line=st.sampled_from([line.command for line in HARMLESS if closed(line.command)]))
def test_what_is_only_said_is_not_done(text: str, line: str) -> None:
    said = text.replace("\0", "").replace("\ufdd0", "")
    if any(0xFDD0 <= ord(char) <= 0xFDEF or 0xD800 <= ord(char) <= 0xDFFF for char in said):
        return
    assert classify(f"echo {sh(said)}").kind is None
    assert classify(f"echo {sh(line)}; git commit -m {sh(line)}; grep -rn -- {sh(line)} src").kind is None


@settings(max_examples=250, deadline=None, suppress_health_check=list(HealthCheck))
@given(text=st.text(st.sampled_from("abrm xgit$(){}[]<>|&;'\"`\\\n*?~#!=-/.0"), max_size=60))
def test_any_text_at_all_is_read_to_an_end(text: str) -> None:
    Reader(None, Policy(), find_program).read(text)


@settings(max_examples=250, deadline=None, suppress_health_check=list(HealthCheck))
@given(noise=st.text(st.sampled_from("ab $(){}[]<>|&;'\"`\\\n*#!="), max_size=30), data=st.data())
def test_noise_before_a_dangerous_command_does_not_hide_it(noise: str, data: st.DataObject) -> None:
    command = "\n".join([noise, "rm -rf x"])
    reading = classify(command)
    quoting = any(char in noise for char in "'\"`\\#<$({[=") or not reading.pauses
    assert reading.pauses or quoting
