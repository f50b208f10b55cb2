"""Words of a shell command, read character by character as bash reads them."""

from __future__ import annotations

import re

from agentroom_machine.danger.syntax import (
    Arithmetic,
    Parameter,
    Script,
    Segment,
    Substitution,
    Text,
    Unreadable,
    Word,
)

META = " \t\n|&;()<>"
MAX_DEPTH = 24
_NAME = re.compile(r"[A-Za-z_]\w*", re.ASCII)
_ANSI = re.compile(
    r"\\(?:(?P<octal>[0-7]{1,3})|x(?P<hex>[0-9a-fA-F]{1,2})|u(?P<u>[0-9a-fA-F]{1,4})|U(?P<U>[0-9a-fA-F]{1,8})"
    r"|c(?P<control>.)|(?P<plain>.))",
    re.S,
)
_PLAIN = {"a": "\a", "b": "\b", "e": "\x1b", "E": "\x1b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}
_OPERATORS = (
    ":-", ":=", ":+", ":?", "##", "%%", "//", "/#", "/%", "^^", ",,", "-", "=", "+", "?", "#", "%", "/", "^", ",", ":",
    "@",
)  # fmt: skip


def unescape(text: str, unknown: str = "\\") -> str:
    r"""What ``$'text'`` and ``echo -e`` make of the escapes in it; an escape that is none keeps its backslash."""

    def one(found: re.Match[str]) -> str:
        if found["octal"] is not None:
            return chr(int(found["octal"], 8) & 0xFF)
        for group in ("hex", "u", "U"):
            if found[group] is not None:
                code = int(found[group], 16)
                return chr(code) if code <= 0x10FFFF else ""
        if found["control"] is not None:
            return chr(ord(found["control"]) & 0x1F)
        char = found["plain"]
        return _PLAIN.get(char, char if char in "\\'\"?" else unknown + char)

    return _ANSI.sub(one, text)


class Lexer:
    """Reads words from ``text`` at ``at``; a parser of commands builds on it."""

    def __init__(self, text: str, depth: int = 0) -> None:
        if depth > MAX_DEPTH:
            raise Unreadable("it is nested too deeply")
        self.text = text
        self.at = 0
        self.depth = depth

    def peek(self, length: int = 1) -> str:
        return self.text[self.at : self.at + length]

    def take(self, expected: str) -> bool:
        if self.text.startswith(expected, self.at):
            self.at += len(expected)
            return True
        return False

    def script_until(self, end: str) -> Script:
        raise NotImplementedError

    def nested(self, text: str) -> Script:
        raise NotImplementedError

    def word(self, stop: str = META) -> Word:
        """One word, up to an unquoted character of ``stop``."""
        segments: list[Segment] = []
        while self.at < len(self.text):
            char = self.peek()
            if char in "<>" and self.peek(2) in {"<(", ">("} and stop == META:
                self.at += 2
                segments.append(Substitution(self._inside(")"), quoted=False, kind=char))
            elif char in stop:
                break
            else:
                self._segment(segments, stop)
        return tuple(segments)

    def _segment(self, segments: list[Segment], stop: str) -> None:
        char = self.peek()
        if char == "\\":
            self.at += 1
            if self.at >= len(self.text):
                segments.append(Text("\\", quoted=True))
            elif not self.take("\n"):
                segments.append(Text(self.peek(), quoted=True))
                self.at += 1
        elif char == "'":
            segments.append(Text(self._until_quote(), quoted=True))
        elif char == '"':
            self.at += 1
            segments += self._double('"')
        elif self.peek(2) == "$'":
            self.at += 1
            segments.append(Text(unescape(self._until_quote(escapes=True)), quoted=True))
        elif self.peek(2) == '$"':
            self.at += 2
            segments += self._double('"')
        elif char in "$`":
            segments.append(self._dollar(quoted=False))
        else:
            end = self.at + 1
            while end < len(self.text) and self.text[end] not in stop + "\\'\"$`<>":
                end += 1
            segments.append(Text(self.text[self.at : end]))
            self.at = end

    def _until_quote(self, *, escapes: bool = False) -> str:
        start = self.at = self.at + 1
        while self.at < len(self.text):
            char = self.text[self.at]
            if char == "'":
                self.at += 1
                return self.text[start : self.at - 1]
            self.at += 2 if escapes and char == "\\" else 1
        raise Unreadable("a quote is never closed")

    def _double(self, end: str) -> list[Segment]:
        """The inside of double quotes, or with an empty ``end`` a here-document, up to the text's end."""
        segments: list[Segment] = [Text("", quoted=True)]
        plain = self.at
        while True:
            if self.at >= len(self.text):
                if end:
                    raise Unreadable("a double quote is never closed")
                segments.append(Text(self.text[plain:], quoted=True))
                return segments
            char = self.text[self.at]
            if end and char == end:
                segments.append(Text(self.text[plain : self.at], quoted=True))
                self.at += 1
                return segments
            if char in "\\$`":
                segments.append(Text(self.text[plain : self.at], quoted=True))
                if char == "\\":
                    after = self.peek(2)[1:]
                    kept = "" if after and after in '$`\\\n"'[: 5 if end else 4] else "\\"
                    segments.append(Text("" if after == "\n" else kept + after, quoted=True))
                    self.at += 2
                else:
                    segments.append(self._dollar(quoted=True))
                plain = self.at
            else:
                self.at += 1

    def heredoc_word(self) -> Word:
        return tuple(self._double(""))

    def _inside(self, end: str) -> Script:
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise Unreadable("it is nested too deeply")
        script = self.script_until(end)
        self.depth -= 1
        return script

    def _dollar(self, *, quoted: bool) -> Segment:
        if self.peek() == "`":
            return Substitution(self.nested(self._backticks(quoted=quoted)), quoted)
        if self.peek(3) == "$((":
            inner = self._arithmetic_text(self.at + 3)
            if inner is not None:
                self.at += 3 + len(inner) + 2
                return Arithmetic(self._inner_word(inner), quoted)
        if self.peek(2) == "$(":
            self.at += 2
            return Substitution(self._inside(")"), quoted)
        if self.peek(2) == "$[":
            end = self.text.find("]", self.at)
            if end < 0:
                raise Unreadable("$[ is never closed")
            inner = self.text[self.at + 2 : end]
            self.at = end + 1
            return Arithmetic(self._inner_word(inner), quoted)
        if self.peek(2) == "${":
            return self._braced(quoted=quoted)
        self.at += 1
        found = _NAME.match(self.text, self.at)
        name = found[0] if found else self.peek()
        if found or (name and name in "0123456789@*#?$!_-"):
            self.at += len(name)
            return Parameter(name, quoted)
        return Text("$", quoted=True)

    def _backticks(self, *, quoted: bool) -> str:
        self.at += 1
        inner: list[str] = []
        while self.at < len(self.text):
            char = self.text[self.at]
            if char == "`":
                self.at += 1
                return "".join(inner)
            if char == "\\":
                after = self.peek(2)[1:]
                inner.append(after if after and after in ('$`\\"' if quoted else "$`\\") else char + after)
                self.at += 2
            else:
                inner.append(char)
                self.at += 1
        raise Unreadable("a backtick is never closed")

    def _arithmetic_text(self, start: int) -> str | None:
        """The inside of ``((…))`` that begins at start; None when it is two parentheses of commands instead."""
        depth, at = 0, start
        while at < len(self.text):
            char = self.text[at]
            if char == "(":
                depth += 1
            elif char == ")":
                if depth == 0:
                    break
                depth -= 1
            at += 1
        inner = self.text[start:at]
        if self.text[at : at + 2] != "))" or re.search(r"[;`'\"\\\n#]", inner):
            return None
        return inner

    def _inner_word(self, text: str) -> Word:
        lexer = type(self)(text, self.depth + 1)
        return lexer.heredoc_word()

    def _braced(self, *, quoted: bool) -> Segment:
        self.at += 2
        prefix = ""
        if self.peek() in {"!", "#"} and self.peek(2)[1:] not in {"}", ""}:
            prefix = self.peek()
            self.at += 1
        found = _NAME.match(self.text, self.at) or re.compile(r"\d+|[@*#?$!_-]").match(self.text, self.at)
        if not found:
            raise Unreadable("${…} holds something that is no name")
        name = found[0]
        self.at += len(name)
        index = None
        if self.peek() == "[":
            end = self.text.find("]", self.at)
            index = self.text[self.at + 1 : end]
            if end < 0 or re.search(r"[$`]\(|`", index):
                raise Unreadable("an array's index is computed")
            self.at = end + 1
        if self.take("}"):
            return Parameter(name, quoted, prefix, index)
        operator = next((known for known in _OPERATORS if self.text.startswith(known, self.at)), "")
        if prefix == "!" and self.peek(2) in {"*}", "@}"}:
            self.at += 2
            return Parameter(name, quoted, "!*", index)
        if not operator:
            raise Unreadable("${…} is used in a way that is not known")
        self.at += len(operator)
        word = self._brace_word(quoted=quoted)
        return Parameter(name, quoted, prefix, index, operator, word)

    def _brace_word(self, *, quoted: bool) -> Word:
        segments: list[Segment] = []
        depth = 0
        while self.at < len(self.text):
            char = self.peek()
            if char == "}" and depth == 0:
                self.at += 1
                return tuple(segments)
            if char in "{}":
                depth += 1 if char == "{" else -1
                segments.append(Text(char))
                self.at += 1
            elif quoted and char == "'":
                segments.append(Text("'", quoted=True))
                self.at += 1
            else:
                self._segment(segments, "{}'" if quoted else "{}")
        raise Unreadable("${ is never closed")
