"""Follows a command the way a shell would, and gathers every reason to pause."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Protocol

from agentroom_machine.danger import environment, places
from agentroom_machine.danger.expansion import Expander, combine
from agentroom_machine.danger.parsing import parse
from agentroom_machine.danger.policy import Policy
from agentroom_machine.danger.reading import Finding, Kind
from agentroom_machine.danger.scope import MAX_VALUES, Scope
from agentroom_machine.danger.syntax import (
    Assignment,
    Command,
    Compound,
    Function,
    Loop,
    Pipeline,
    Redirect,
    Script,
    Simple,
    Substitution,
    Text,
    Unreadable,
    Word,
)
from agentroom_machine.danger.unknown import BRACKET, UNKNOWN, open_ended, plain, shown

MAX_STEPS = 3_000
MAX_DEPTH = 40
MAX_SCRIPT = 64_000
MAX_READ = 256_000
"""Characters of scripts inside of the command, and inside of those."""
MAX_STREAM = 20_000
MAX_VALUE = 4_000
_OUTPUT = {">", ">>", ">|", "&>", "&>>", "<>"}
_KEEPS = {">>", "&>>", "<>"}
"""Those of them that leave what a file holds."""

type Program = Callable[[Reader, list[str], str | None], str]
"""Reads one program's arguments (its name first) and standard input (None: nothing), gives what it prints."""


class Find(Protocol):
    def __call__(self, name: str, *, unless: bool) -> Program | None:
        """The program of that name as it was written; with ``unless``, None for one that is not known."""


class Reader:
    """One reading of one command; ``read`` may be called once."""

    def __init__(self, cwd: Path | None, policy: Policy, find: Find) -> None:
        self.cwd = cwd
        self.policy = policy
        self.scope = Scope()
        self.findings: list[Finding] = []
        self.expander = Expander(self.scope, self.script, self._secret_variable, self.unreadable)
        self._program = find
        self._part = ""
        self._steps = 0
        self._read = 0
        self._depth = 0
        self._inherited: str | None = None
        self.scripts = 0
        """How many files deep this reading is."""

    def read(self, text: str) -> list[Finding]:
        """Every finding; names are followed until nothing new is learned about them."""
        try:
            script = parse(text)
            for _ in range(4):
                known = self.scope.size()
                self.findings.clear()
                self.scope.directory, self.scope.positional = "", None
                self.script(script)
                if self.scope.size() == known:
                    return self.findings
            self.unreadable("its variables change in ways that can't be followed")
        except Unreadable as stop:
            self.unreadable(str(stop))
        except RecursionError:
            self.unreadable("it is nested too deeply")
        return self.findings

    # Findings.

    def find(self, kind: Kind, why: str, *, confinable: bool = False) -> None:
        self.findings.append(Finding(kind, why, self._part, confinable))

    def unreadable(self, why: str) -> None:
        self.find("unreadable", why)

    def project(self, why: str) -> None:
        """Code that nobody has read: it pauses unless it runs confined."""
        self.find("unreadable", why, confinable=True)

    def soften(self, since: int, why: str) -> None:
        """Makes what could not be read since that finding the project's own code; what was named stays named."""
        for position in range(since, len(self.findings)):
            if self.findings[position].kind == "unreadable":
                self.findings[position] = Finding("unreadable", why, self.findings[position].part, confinable=True)

    def _secret_variable(self, name: str) -> None:
        self.find("credentials", f"it uses the secret in ${name}")

    def reads(self, path: str, *, tree: bool = False) -> bool:
        """Notes a file that is read, or a tree of them; True when it holds secrets."""
        if path == UNKNOWN:
            self.project("which file it reads is only known when it runs")
            return False
        found = places.secret(path, self.scope.directory) or self.policy.secret(plain(path))
        if not found and tree:
            found = places.tree_of_secrets(path, self.scope.directory)
        if found:
            self.find("credentials", f"it touches {shown(path)}, which holds secrets")
        return found

    def writes(self, path: str, *, verb: str = "writes") -> None:
        if not path or path == UNKNOWN:
            return
        if places.device(path):
            self.find("delete", f"it {verb} {shown(path)}, a device")
        elif path.startswith(("/dev/tcp/", "/dev/udp/")):
            self.unreadable("it opens a connection to the network")
        elif self.reads(path):
            return
        elif places.runs_code(path, self.scope.directory):
            self.unreadable(f"it {verb} {shown(path)}, which decides what runs later")
        elif places.outside(path, self.scope.directory, self.cwd):
            self.find("delete", f"it {verb} {shown(path)}, outside the working directory")

    def wrote(self, path: str, text: str) -> None:
        """Notes what a file will hold, should the same command go on to run it."""
        if not path or path.startswith("/dev/"):
            return
        texts = self.scope.written.setdefault(places.place(path, self.scope.directory), [])
        if text not in texts and len(texts) < 8:
            texts.append(text)

    def written(self, path: str) -> list[str]:
        """What this command has written into a file, each of it; empty when it has not."""
        return self.scope.written.get(places.place(path, self.scope.directory), [])

    # Scripts.

    def _step(self) -> None:
        self._steps += 1
        if self._steps > MAX_STEPS:
            raise Unreadable("it is too long to be followed")

    def script(self, script: Script) -> str:
        """Follows a script and gives what it prints, UNKNOWN where that can't be told."""
        printed = [self._pipeline(pipeline) for pipeline in script]
        return join(printed)

    def text(self, text: str, *, positional: list[str] | None = None, zero: str = "bash", stdin: str | None = None,
             alone: bool = True) -> str:  # fmt: skip
        """Follows a text as a script of its own; unknown parts of it make it unreadable, and are still followed."""
        self._read += len(text)
        if len(text) > MAX_SCRIPT or self._read > MAX_READ:
            raise Unreadable("the scripts in it are too long to be read")
        self._depth += 1
        if self._depth > MAX_DEPTH:
            raise Unreadable("it calls itself too deeply")
        if UNKNOWN in text:
            self.unreadable("a part of the script that it runs is only known when it runs")
        scope = self.scope
        before = (scope.positional, scope.zero, scope.directory)
        if alone:
            scope.positional, scope.zero = positional, zero
        inherited, self._inherited = self._inherited, stdin if stdin is not None else self._inherited
        try:
            return self.script(parse(plain(text), self._depth // 4))
        finally:
            self._depth -= 1
            self._inherited = inherited
            scope.positional, scope.zero = before[:2]
            if alone:
                scope.directory = before[2]

    def _pipeline(self, pipeline: Pipeline) -> str:
        flowing: str | None = self._inherited
        directory = self.scope.directory
        for command in pipeline.commands:
            self._depth += 1
            if self._depth > MAX_DEPTH:
                raise Unreadable("it is nested too deeply")
            flowing = self._command(command, flowing)
            self._depth -= 1
        if len(pipeline.commands) > 1:
            self.scope.directory = directory
        return flowing or ""

    def _command(self, command: Command, stdin: str | None) -> str:
        self._step()
        match command:
            case Simple():
                return self._simple(command, stdin)
            case Function(name, body, _):
                bodies = self.scope.functions.setdefault(name, [])
                if body not in bodies:
                    bodies.append(body)
                before, self.scope.positional = self.scope.positional, None
                self._command(body, None)
                self.scope.positional = before
                return ""
            case Loop():
                given = self._redirects(command.redirects, stdin)
                said = self._inside(lambda: self._loop(command), given)
                self._keep(command.redirects, said)
                return said
            case Compound():
                given = self._redirects(command.redirects, stdin)
                said = self._inside(lambda: self._compound(command), given)
                self._keep(command.redirects, said)
                return said

    def _inside(self, body: Callable[[], str], stdin: str | None) -> str:
        before, self._inherited = self._inherited, stdin
        try:
            return body()
        finally:
            self._inherited = before

    def _loop(self, loop: Loop) -> str:
        values: list[str] = []
        if loop.words is None:
            values = [UNKNOWN] if self.scope.positional is None else list(self.scope.positional)
        for word in loop.words or []:
            for way in self.expander.fields(word):
                values += way
        for value in dict.fromkeys(values):
            self.scope.assign(loop.name, value)
            if len(values) > MAX_VALUES and places.secret(value, self.scope.directory):
                self.reads(value)
        return UNKNOWN if self.script(loop.body) and values else ""

    def _compound(self, command: Compound) -> str:
        directory = self.scope.directory
        self.expander.looking_only = command.kind == "[["
        for word in command.words:
            for value in self.expander.text(word):
                self._arithmetic(value)
        self.expander.looking_only = False
        printed = [self.script(body) for body in command.bodies]
        if command.kind == "(":
            self.scope.directory = directory
        return join(printed) if command.kind in {"(", "{"} else UNKNOWN if any(printed) else ""

    def _arithmetic(self, value: str) -> None:
        # bash evaluates an index as arithmetic, and arithmetic runs substitutions that were quoted.
        text = plain(value)
        if "[" in text and ("$(" in text or "`" in text):
            self.unreadable("an array's index runs a command")

    # Simple commands.

    def _simple(self, command: Simple, stdin: str | None) -> str:
        if command.source:
            self._part = command.source
        declaring = bool(command.words) and plainly(command.words[0]) in {
            "declare", "typeset", "local", "export", "readonly",
        }  # fmt: skip
        assigned = self._assign(command.assignments)
        self.expander.looking_only = bool(command.words) and plainly(command.words[0]) in {"[", "test"}
        ways = combine([self.expander.fields(word) for word in command.words])
        self.expander.looking_only = False
        given = self._redirects(command.redirects, stdin, command=command)
        if not command.words:
            self._keep(command.redirects, "")
            return ""
        if "IFS" in self.scope.variables and plainly(command.words[0]) is None:
            self.unreadable("it changes how words are split, and runs what comes of it")
        printed: list[str] = []
        for argv in ways:
            if argv and declaring:
                argv = [*argv, *assigned]
            if argv:
                printed.append(self.run(argv, given))
        said = printed[0] if len(printed) == 1 else UNKNOWN if any(printed) else ""
        self._keep(command.redirects, said)
        return said

    def _keep(self, redirects: list[Redirect], said: str) -> None:
        """Notes what files hold after a command that printed this; one that prints nothing empties them."""
        for redirect in redirects:
            if redirect.operator not in _OUTPUT or any(isinstance(part, Substitution) and part.kind == ">"
                                                       for part in redirect.target):  # fmt: skip
                continue
            for target in self.expander.text(redirect.target):
                if not said and redirect.operator not in _KEEPS and not plain(target).startswith("/dev/"):
                    self.find("delete", f"it empties {shown(target)}")
                if redirect.descriptor in {"", "1"}:
                    self.wrote(target, said)

    def _assign(self, assignments: list[Assignment]) -> list[str]:
        said: list[str] = []
        for assignment in assignments:
            if assignment.index is not None:
                for value in self.expander.text(assignment.index):
                    self._arithmetic(f"[{value}")
            if assignment.array:
                items: list[str] = []
                for word in assignment.value:
                    for way in self.expander.fields(word):  # type: ignore[arg-type]
                        items += [re.sub(f"^{BRACKET}[^]]*\\]=", "", item) for item in way]
                self.set_array(assignment.name, items, append=assignment.append)
                continue
            for value in self.expander.text(assignment.value):  # type: ignore[arg-type]
                self.assign(assignment.name, value, append=assignment.append)
                if assignment.index is not None:
                    self.set_array(assignment.name, [value], append=True)
                said.append(f"{assignment.name}={value}")
        return said

    def set_array(self, name: str, items: list[str], *, append: bool = False) -> None:
        known = self.scope.arrays.setdefault(name, [])
        if append or not known:
            if items and items != known[-len(items) :]:
                known += items
        elif known != items:
            # Two arrays of one name: which of them counts depends on the way that was taken.
            known[:] = [UNKNOWN] * max(len(known), len(items))
        if len(known) > 200:
            known[:] = [UNKNOWN] * 201

    def assign(self, name: str, value: str, *, append: bool = False) -> None:
        """Notes a variable's value, and what that makes other programs do."""
        self._step()
        environment.judge(self, name, value)
        if append:
            for before in self.scope.values(name) or [""]:
                self.scope.assign(name, before + value if len(before) < MAX_VALUE else UNKNOWN)
        self.scope.assign(name, value if len(value) < MAX_VALUE else UNKNOWN)

    def run(self, argv: list[str], stdin: str | None = None) -> str:
        """Follows one program with its arguments, wherever the name came from."""
        self._step()
        self._depth += 1
        if self._depth > MAX_DEPTH:
            raise Unreadable("it calls itself too deeply")
        try:
            return self._run(argv, stdin)[:MAX_STREAM]
        finally:
            self._depth -= 1

    def _run(self, argv: list[str], stdin: str | None) -> str:
        words = " ".join(plain(word) for word in argv)
        name = argv[0].rpartition("/")[2]
        if self.policy.asks(words) or self.policy.asks(" ".join([plain(name), *map(plain, argv[1:])])):
            self.unreadable("the owner's policy asks before it")
        if plain(name) == "[":
            name = "["
        if open_ended(name) or not name:
            if any(places.secret(word, self.scope.directory) for word in argv[1:]):
                self.find("credentials", "it gives a secret to a program whose name is computed")
            self.unreadable("which program it runs is only known when it runs")
            return UNKNOWN
        if not name.isascii():
            self.unreadable("the name of a program in it holds letters that look like others")
        said = ""
        for body in self.scope.functions.get(argv[0], []):
            before, self.scope.positional = self.scope.positional, argv[1:]
            said += self._command(body, stdin)
            self.scope.positional = before
        for value in self.scope.aliases.get(argv[0], []):
            if value.split()[:1] != [argv[0]]:
                said += self.text(" ".join([value, *(quote(word) for word in argv[1:])]), alone=False)
        own = argv[0] in self.scope.functions or argv[0] in self.scope.aliases
        program = self._program(argv[0], unless=own)
        if program is None:
            return UNKNOWN if said else ""
        return program(self, argv, stdin)

    # Redirections.

    def _redirects(self, redirects: list[Redirect], stdin: str | None, command: Simple | None = None) -> str | None:
        for redirect in redirects:
            for target in self.expander.text(redirect.target):
                if redirect.heredoc:
                    stdin = target
                elif redirect.operator == "<<<":
                    stdin = target + "\n"
                elif redirect.operator == "<":
                    stdin = self.content(target)
                elif redirect.operator in {"<&", ">&"} and (target.isdigit() or target.rstrip("-").isdigit()):
                    stdin = UNKNOWN if redirect.operator == "<&" and redirect.descriptor in {"", "0"} else stdin
                elif redirect.operator in _OUTPUT or redirect.operator == ">&":
                    self._output(redirect.operator, target, command)
        return stdin

    def _output(self, operator: str, target: str, command: Simple | None) -> None:
        self.writes(target)
        if operator in _KEEPS or plain(target).startswith("/dev/"):
            return
        if command is not None and prints_nothing(command):
            self.find("delete", f"it empties {shown(target)}")

    def content(self, path: str) -> str:
        """A file's text, UNKNOWN where it can't be opened; a secret one is noted and not opened."""
        if self.reads(path) or plain(path) == "/dev/null":
            return "" if plain(path) == "/dev/null" else UNKNOWN
        written = self.written(path)
        if written:
            return written[0] if len(written) == 1 else UNKNOWN
        if self.cwd is None or open_ended(path):
            return UNKNOWN
        try:
            file = self.cwd / self.scope.directory / Path(path).expanduser()
            if not file.is_file() or file.stat().st_size > MAX_SCRIPT:
                return UNKNOWN
            return file.read_text()
        except (OSError, ValueError, RuntimeError):
            return UNKNOWN


def join(printed: list[str]) -> str:
    """What several commands print, one after another."""
    lines = [one if one.endswith("\n") or one == UNKNOWN or not one else one + "\n" for one in printed[:-1]]
    return "".join([*lines, *printed[-1:]])[:MAX_STREAM]


def plainly(word: Word) -> str | None:
    """The word, when it says itself and nothing computes it."""
    if all(isinstance(part, Text) for part in word):
        return "".join(part.text for part in word if isinstance(part, Text))
    return None


def prints_nothing(command: Simple) -> bool:
    words = [plainly(word) for word in command.words]
    if not words:
        return True
    name, *rest = ["$" if word is None else word for word in words]
    if name in {":", "true", "false"}:
        return True
    if name in {"echo", "printf"}:
        return all(word in {"", "-n", "-e", "-ne", "%s", "\\0"} for word in rest)
    return name in {"cat", "head", "tail"} and "/dev/null" in rest and len([w for w in rest if w[:1] != "-"]) == 1


def quote(word: str) -> str:
    """The word, so that a second reading as a shell's text gives it again."""
    return "'" + plain(word).replace("'", "'\\''") + "'"
