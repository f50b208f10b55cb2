"""Commands of a shell, read as bash reads them; what bash would refuse, or what is not known here, is Unreadable."""

from __future__ import annotations

import re

from agentroom_machine.danger.lexing import META, Lexer
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
    Text,
    Unreadable,
    Word,
)

_REDIRECT = re.compile(r"(?P<fd>\d+|\{\w+\})?(?P<operator><<<|<<-|<<|<>|<&|<(?!\()|&>>|&>|>>|>\||>&|>(?!\())", re.ASCII)
_ASSIGN = re.compile(r"(?P<name>[A-Za-z_]\w*)(?P<index>\[)?", re.ASCII)
_WORDS = re.compile(r"[\w.]\s+[\w./~-]|^\s*[A-Za-z_]\w*\s*$")
_CLOSING = {"then", "else", "elif", "fi", "do", "done", "esac", "}", "in", "]]"}
_OPENING = {"if", "while", "until", "for", "select", "case", "function", "{", "[["}
_DECLARING = {"declare", "typeset", "local", "export", "readonly"}


def parse(text: str, depth: int = 0) -> Script:
    """The whole text as a script, or Unreadable."""
    parser = Parser(text, depth)
    script = parser.script_until("")
    if parser.pending:
        raise Unreadable("a here-document never begins")
    return script


class Parser(Lexer):
    def __init__(self, text: str, depth: int = 0) -> None:
        super().__init__(text, depth)
        self.pending: list[tuple[list[Redirect], str, Redirect, bool, bool]] = []

    def nested(self, text: str) -> Script:
        return parse(text, self.depth + 1)

    # Blanks, newlines and the here-documents that begin after them.

    def blank(self) -> None:
        while self.at < len(self.text):
            if self.peek() in {" ", "\t"}:
                self.at += 1
            elif self.peek(2) == "\\\n":
                self.at += 2
            elif self.peek() == "#":
                end = self.text.find("\n", self.at)
                self.at = len(self.text) if end < 0 else end
            else:
                return

    def newlines(self) -> None:
        self.blank()
        while self.take("\n"):
            self._heredocs()
            self.blank()

    def _heredocs(self) -> None:
        pending, self.pending = self.pending, []
        for redirects, delimiter, redirect, quoted, strip in pending:
            lines: list[str] = []
            while True:
                if self.at >= len(self.text):
                    raise Unreadable("a here-document never ends")
                end = self.text.find("\n", self.at)
                line = self.text[self.at :] if end < 0 else self.text[self.at : end]
                self.at = len(self.text) if end < 0 else end + 1
                line = line.lstrip("\t") if strip else line
                if line == delimiter:
                    break
                lines.append(line + "\n")
            body = "".join(lines)
            word: Word = (Text(body, quoted=True),) if quoted else Parser(body, self.depth + 1).heredoc_word()
            redirects[redirects.index(redirect)] = Redirect("<<", word, redirect.descriptor, heredoc=True)

    # Lists.

    def script_until(self, end: str) -> Script:
        """Commands up to the closing parenthesis, or with an empty end the whole text."""
        outer, self.pending = self.pending, []
        script = self._list()
        if end and not self.take(end):
            raise Unreadable("a parenthesis is never closed")
        if not end and self.at < len(self.text):
            raise Unreadable(f"{self.peek()!r} stands where no shell expects it")
        if end and self.pending:
            raise Unreadable("a here-document begins outside of the parentheses that name it")
        self.pending += outer
        return script

    def _list(self) -> Script:
        script: Script = []
        while True:
            self.newlines()
            if self.at >= len(self.text) or self.peek() == ")" or self.peek(2) in {";;", ";&"}:
                return script
            if self._reserved() in _CLOSING:
                return script
            pipeline = self._pipeline()
            script.append(pipeline)
            self.blank()
            if self.peek(2) in {"&&", "||"}:
                self.at += 2
                self.newlines()
                if self.at >= len(self.text) or self.peek() in ");&|" or self._reserved() in _CLOSING:
                    raise Unreadable("&& or || has nothing after it")
            elif self.peek() == "&":
                self.at += 1
                pipeline.background = True
            elif self.peek() == ";" and self.peek(2) not in {";;", ";&"}:
                self.at += 1
            elif self.at < len(self.text) and self.peek() not in "\n)" and self.peek(2) not in {";;", ";&"}:
                raise Unreadable(f"{self.peek()!r} stands where no shell expects it")

    def _pipeline(self) -> Pipeline:
        self.blank()
        while self._reserved() in {"!", "time"}:
            word = self._reserved()
            self.at += len(word)
            self.blank()
            if word == "time":
                while self._bare() in {"-p", "--"}:
                    self.at += len(self._bare())
                    self.blank()
            if self.at >= len(self.text) or self.peek() in "\n;)&|":
                return Pipeline([Simple()])
        commands = [self._command()]
        while True:
            self.blank()
            if self.peek(2) == "|&":
                self.at += 2
            elif self.peek() == "|" and self.peek(2) != "||":
                self.at += 1
            else:
                return Pipeline(commands)
            self.newlines()
            commands.append(self._command())

    def _bare(self) -> str:
        end = self.at
        while end < len(self.text) and self.text[end] not in META:
            end += 1
        return self.text[self.at : end]

    def _reserved(self) -> str:
        bare = self._bare()
        return bare if bare in _CLOSING or bare in _OPENING or bare in {"!", "time", "coproc"} else ""

    def _expect(self, word: str) -> None:
        self.newlines()
        if self._bare() != word:
            raise Unreadable(f"{word!r} is missing")
        self.at += len(word)

    # Commands.

    def _command(self) -> Command:
        self.depth += 1
        if self.depth > 60:
            raise Unreadable("it is nested too deeply")
        self.blank()
        command = self._compound()
        if command is None:
            command = self._simple()
        elif not isinstance(command, Function):
            self._redirects(command.redirects)
        self.depth -= 1
        return command

    def _compound(self) -> Command | None:
        if self.peek(2) == "((":
            inner = self._arithmetic_text(self.at + 2)
            # To bash all of it is arithmetic, to other shells it may be commands in parentheses, which have words.
            if inner is not None and not _WORDS.search(inner):
                self.at += 2 + len(inner) + 2
                return Compound("((", [], [self._inner_word(inner)])
        if self.take("("):
            body = self.script_until(")")
            return Compound("(", [body])
        word = self._reserved()
        if word not in _OPENING and word != "coproc":
            if word in _CLOSING:
                raise Unreadable(f"{word!r} stands where no shell expects it")
            return None
        self.at += len(word)
        match word:
            case "{":
                body = self._list()
                self._expect("}")
                return Compound("{", [body])
            case "if":
                return self._if()
            case "while" | "until":
                condition = self._list()
                return Compound("while", [condition, self._do()])
            case "for" | "select":
                return self._for()
            case "case":
                return self._case()
            case "function":
                return self._function_word()
            case "[[":
                return self._condition()
            case _:
                return self._coproc()

    def _do(self) -> Script:
        self._expect("do")
        body = self._list()
        self._expect("done")
        return body

    def _if(self) -> Compound:
        bodies = [self._list()]
        self._expect("then")
        bodies.append(self._list())
        while True:
            self.newlines()
            word = self._bare()
            self.at += len(word)
            if word == "fi":
                return Compound("if", bodies)
            if word == "elif":
                bodies.append(self._list())
                self._expect("then")
            elif word != "else":
                raise Unreadable("'fi' is missing")
            bodies.append(self._list())

    def _for(self) -> Command:
        self.blank()
        if self.peek(2) == "((":
            end = self.text.find("))", self.at)
            if end < 0:
                raise Unreadable("for (( is never closed")
            inner = self.text[self.at + 2 : end]
            if re.search(r"\$\(|`", inner):
                raise Unreadable("a loop's counter runs commands")
            self.at = end + 2
            self.blank()
            self.take(";")
            self.newlines()
            words = [self._inner_word(inner)]
            return Compound("while", [self._do()], words)
        name = self._bare()
        if not re.fullmatch(r"[A-Za-z_]\w*", name, re.ASCII):
            raise Unreadable("a loop's variable has no plain name")
        self.at += len(name)
        self.newlines()
        listed: list[Word] | None = None
        if self._bare() == "in":
            self.at += 2
            listed = []
            self.blank()
            while self.at < len(self.text) and self.peek() not in ";\n":
                listed.append(self._word())
                self.blank()
        self.blank()
        self.take(";")
        self.newlines()
        return Loop(name, listed, self._do())

    def _word(self) -> Word:
        start = self.at
        word = self.word()
        if self.at == start:
            raise Unreadable(f"{self.peek()!r} stands where no shell expects it")
        return word

    def _case(self) -> Compound:
        self.blank()
        words = [self._word()]
        self._expect("in")
        bodies: list[Script] = []
        while True:
            self.newlines()
            if self._bare() == "esac":
                self.at += 4
                return Compound("case", bodies, words)
            self.take("(")
            while True:
                self.blank()
                words.append(self._word())
                self.blank()
                if not self.take("|"):
                    break
            if not self.take(")"):
                raise Unreadable("a case has a pattern that can't be read")
            bodies.append(self._list())
            self.newlines()
            if not (self.take(";;&") or self.take(";;") or self.take(";&")) and self._bare() != "esac":
                raise Unreadable("'esac' is missing")

    def _function_word(self) -> Function:
        self.blank()
        name = self._bare()
        self.at += len(name)
        self.blank()
        if self.take("("):
            self.blank()
            if not self.take(")"):
                raise Unreadable("a function's head can't be read")
        return self._function_body(name)

    def _function_body(self, name: str) -> Function:
        self.newlines()
        body = self._compound()
        if body is None or isinstance(body, Function):
            raise Unreadable("a function has no body")
        self._redirects(body.redirects)
        return Function(name, body)

    def _condition(self) -> Compound:
        words: list[Word] = []
        while True:
            self.newlines()
            if self.at >= len(self.text):
                raise Unreadable("[[ is never closed")
            if self._bare() == "]]":
                self.at += 2
                return Compound("[[", [], words)
            if self.peek() in "()<>&|;":
                self.at += 1
            else:
                words.append(self._word())

    def _coproc(self) -> Command:
        self.blank()
        found = re.compile(r"[A-Za-z_]\w*[ \t]+(?=[{(])", re.ASCII).match(self.text, self.at)
        if found:
            self.at = found.end()
        return Compound("(", [[Pipeline([self._command()], background=True)]])

    def _redirects(self, redirects: list[Redirect]) -> None:
        while True:
            self.blank()
            if not self._redirect(redirects):
                return

    def _redirect(self, redirects: list[Redirect]) -> bool:
        found = _REDIRECT.match(self.text, self.at)
        if not found:
            return False
        self.at = found.end()
        self.blank()
        operator = found["operator"]
        start = self.at
        target = self._word()
        redirect = Redirect(operator, target, found["fd"] or "")
        redirects.append(redirect)
        if operator in {"<<", "<<-"}:
            if any(not isinstance(part, Text) for part in target) or "\n" in self.text[start : self.at]:
                raise Unreadable("a here-document's end is computed")
            delimiter = "".join(part.text for part in target if isinstance(part, Text))
            quoted = any(part.quoted for part in target if isinstance(part, Text))
            self.pending.append((redirects, delimiter, redirect, quoted, operator == "<<-"))
        return True

    def _simple(self) -> Command:
        command = Simple()
        start = self.at
        while True:
            self.blank()
            if self.at >= len(self.text) or (self.peek() in "\n|&;)" and self.peek(2) != "&>"):
                break
            if self._redirect(command.redirects):
                continue
            if self.peek() == "(":
                return self._function_head(command)
            assignment = self._assignment() if not command.words or self._declares(command) else None
            if assignment is None:
                command.words.append(self._word())
            else:
                command.assignments.append(assignment)
        if not command.words and not command.assignments and not command.redirects:
            raise Unreadable("a command is empty where a shell expects one")
        command.source = self.text[start : self.at].strip()
        return command

    def _declares(self, command: Simple) -> bool:
        first = command.words[0]
        return len(first) == 1 and isinstance(first[0], Text) and first[0].text in _DECLARING

    def _function_head(self, command: Simple) -> Function:
        word = command.words[0] if len(command.words) == 1 and not command.assignments else ()
        self.at += 1
        self.blank()
        if len(word) != 1 or not isinstance(word[0], Text) or word[0].quoted or not self.take(")"):
            raise Unreadable("a parenthesis stands where no shell expects it")
        return self._function_body(word[0].text)

    def _assignment(self) -> Assignment | None:
        found = _ASSIGN.match(self.text, self.at)
        if not found:
            return None
        at = found.end()
        index: Word | None = None
        if found["index"]:
            end = self.text.find("]", at)
            if end < 0 or self.text[end + 1 : end + 2] not in {"=", "+"} or re.search(r"[\s;|&]", self.text[at:end]):
                return None
            index = self._inner_word(self.text[at:end])
            at = end + 1
        append = self.text.startswith("+=", at)
        if not append and not self.text.startswith("=", at):
            return None
        self.at = at + (2 if append else 1)
        if self.peek() != "(":
            return Assignment(found["name"], self.word(), append=append, index=index)
        self.at += 1
        items: list[Word] = []
        while True:
            self.newlines()
            if self.take(")"):
                return Assignment(found["name"], tuple(items), array=True, append=append, index=index)
            if self.at >= len(self.text):
                raise Unreadable("an array is never closed")
            items.append(self._word())
