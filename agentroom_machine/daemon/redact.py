"""Takes secrets out of every string before it leaves the machine."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from urllib.parse import quote, urlsplit

HOLD = 8192
"""Characters that a stream keeps back at most while it can't see where a secret would end."""
_LONGEST_START = 512
"""No shape needs more characters than this to be recognised from its beginning."""

_KEYWORD = (
    r"(?:[A-Za-z0-9_.\-]{0,60}(?:password|passwd|passphrase|secret|api[_\-]?key|access[_\-]?key|private[_\-]?key"
    r"|auth[_\-]?token|access[_\-]?token|private[_\-]?token))"
)
_KEYWORDS = _KEYWORD + r"[\"']?[ \t]*[:=][ \t]*[\"']?"
_AUTHORIZATION = r"authorization[\"']?[ \t]*[:=][ \t]*[\"']?(?:(?:bearer|basic|token|digest)[ \t]+)?"
_SHAPES: tuple[tuple[str, str], ...] = (
    ("a private key", r"-----BEGIN [A-Z0-9 ]*PRIVATE KEY[A-Z ]*-----[\s\S]*?(?:-----END [A-Z0-9 ]*-----|\Z)"),
    ("an Agentroom token", r"\bar[mcatk]_[A-Za-z0-9_\-]{20,}"),
    ("an AWS key", r"\b(?:AKIA|ASIA|AROA|AIDA)[A-Z0-9]{16}\b"),
    ("a GitHub token", r"\bgh[pousr]_[A-Za-z0-9]{20,}|\bgithub_pat_[A-Za-z0-9_]{20,}"),
    ("a GitLab token", r"\bgl(?:pat|ptt|dt|rt|cbt|soat)-[A-Za-z0-9_\-.]{16,}"),
    ("a Slack token", r"\bxox[abeoprs]-[A-Za-z0-9\-]{10,}|https://hooks\.slack\.com/[A-Za-z0-9/_\-]{10,}"),
    ("an Anthropic key", r"\bsk-ant-[A-Za-z0-9_\-]{6,}"),
    ("a Stripe key", r"\b(?:sk|rk|pk)_(?:live|test)_[A-Za-z0-9]{10,}|\bwhsec_[A-Za-z0-9+/=]{16,}"),
    ("an OpenAI key", r"\bsk-[A-Za-z0-9_\-]{20,}"),
    ("a Google key", r"\bAIza[A-Za-z0-9_\-]{30,}|\bya29\.[A-Za-z0-9_\-.]{20,}"),
    ("a package token", r"\bpypi-[A-Za-z0-9_\-]{20,}|\bnpm_[A-Za-z0-9]{30,}|\bhf_[A-Za-z0-9]{30,}"),
    ("a signed token", r"\beyJ[A-Za-z0-9_\-]{8,}\.[A-Za-z0-9_\-]{8,}(?:\.[A-Za-z0-9_\-]*)?"),
)
_NAMED = re.compile(
    rf"(?i)(?P<name>\b{_AUTHORIZATION}|(?<![A-Za-z0-9]){_KEYWORDS}|\b[a-z][a-z0-9+.\-]{{1,20}}://[^\s:/@\"']{{0,100}}:"
    r"(?=[^\s@/\"']+@))(?P<value>[^\s\"',;&<>@]{3,})"
)
_SHAPE = re.compile("|".join(f"(?P<s{n}>{pattern})" for n, (_, pattern) in enumerate(_SHAPES)))
_OPEN = re.compile(rf"(?i)(?:{_AUTHORIZATION}|{_KEYWORDS}|authorization[\"']?[ \t]*|{_KEYWORD}[\"']?[ \t]*)\Z")
_OPEN_KEY = re.compile(r"-----BEGIN[A-Z0-9 ]*-{0,4}\Z|-----BEGIN [A-Z0-9 ]*PRIVATE KEY[A-Z ]*-{0,4}\Z")
_RUN = re.compile(r"[A-Za-z0-9_\-.=+/~%]*")
_KEY_END = re.compile(r"-----END [A-Z0-9 ]*-----")
_SECRET_NAME = re.compile(r"(?i)(?:key|token|secret|passw|passphrase|credential|auth|pwd)")
_NOT_SECRET_NAME = re.compile(
    r"(?i)(?:_TYPE|_METHOD|_FILE|_PATH|_DIR|_SOCK|_HOME|_HOST|_ID)$|^(?:KEYBOARD|XAUTHORITY|(?:OLD)?PWD$)"
)
_URL_NAME = re.compile(r"(?i)(?:_URL|_URI|_DSN)$")
_BROKEN = re.compile("[\x00\ud800-\udfff]")


def clean(text: str) -> str:
    """The text without NUL and lone surrogates, which databases and strict JSON readers refuse."""
    return _BROKEN.sub("\ufffd", text)


def secret_values(environ: Mapping[str, str]) -> Iterator[str]:
    """The values of the variables whose names say that they are secret, passwords inside URLs among them."""
    for name, value in environ.items():
        if len(value) >= 8 and _SECRET_NAME.search(name) and not _NOT_SECRET_NAME.search(name):
            yield value
        elif _URL_NAME.search(name):
            try:
                password = urlsplit(value).password
            except ValueError:
                continue
            if password and len(password) >= 4:
                yield password


class Redactor:
    """Knows this machine's own secrets by value, and everybody's by shape."""

    def __init__(self, secrets: Iterable[str] = ()) -> None:
        values = {value for value in secrets if value.strip()}
        values |= {quote(value, safe="") for value in values} | {json.dumps(value)[1:-1] for value in values}
        self._values = sorted(values, key=len, reverse=True)
        self._value = re.compile("|".join(re.escape(value) for value in self._values)) if self._values else None
        self._spaced = [value for value in self._values if re.search(r"\s", value)]

    def __call__(self, text: str) -> str:
        out, at = [], 0
        for start, end, mark in self.spans(text := clean(text)):
            out += [text[at:start], mark]
            at = end
        return "".join([*out, text[at:]])

    def finds(self, text: str) -> bool:
        return bool(self.spans(clean(text)))

    def spans(self, text: str) -> list[tuple[int, int, str]]:
        """Where secrets stand: (start, end, what to write instead), in order, none overlapping."""
        found: list[tuple[int, int, str]] = []
        if self._value:
            found += [(*match.span(), "[redacted: a secret of this machine]") for match in self._value.finditer(text)]
        for match in _SHAPE.finditer(text):
            what = _SHAPES[int((match.lastgroup or "s0")[1:])][0]
            found.append((*match.span(), f"[redacted: {what}]"))
        for match in _NAMED.finditer(text):
            found.append((*match.span("value"), "[redacted]"))
        found.sort(key=lambda span: (span[0], -span[1]))
        merged: list[tuple[int, int, str]] = []
        for start, end, mark in found:
            if merged and start < merged[-1][1]:
                merged[-1] = (merged[-1][0], max(end, merged[-1][1]), merged[-1][2])
            else:
                merged.append((start, end, mark))
        return merged

    def settled(self, text: str) -> int:
        """How much of the text can be redacted now, whatever comes after it."""
        spans = self.spans(text)
        for i in range(len(text), 0, -1):
            if not text[i - 1].isspace():
                continue
            inside = next(
                (span for span in spans if span[0] < i < span[1] or (span[0] < i == span[1] == len(text))), None
            )
            if inside is None and not self._open(text[max(0, i - 400) : i]):
                return i
        return 0

    def _open(self, end: str) -> bool:
        """Whether a secret may have begun in these last characters and go on behind them."""
        if _OPEN.search(end) or _OPEN_KEY.search(end):
            return True
        return any(end.endswith(value[:n]) for value in self._spaced for n in range(1, len(value)))


class Stream:
    """Redacts text that arrives in pieces: what comes out is what the whole would give, piece by piece."""

    def __init__(self, redact: Redactor) -> None:
        self._redact = redact
        self._held = ""
        self._swallow: re.Pattern[str] | None = None

    def __bool__(self) -> bool:
        return bool(self._held)

    def feed(self, text: str) -> None:
        self._held += clean(text)
        if self._swallow is _KEY_END:
            if match := _KEY_END.search(self._held):
                self._held, self._swallow = self._held[match.end() :], None
            else:
                self._held = self._held[-64:]
        elif self._swallow is _RUN:
            rest = self._held[self._end_of_run() :]
            self._held, self._swallow = rest, None if rest else _RUN

    def take(self, *, final: bool = False) -> str:
        """What can be said now; with ``final`` everything."""
        if self._swallow is _KEY_END:
            return ""
        cut = len(self._held) if final else self._redact.settled(self._held)
        if not cut and len(self._held) > HOLD:
            return self._force()
        out, self._held = self._redact(self._held[:cut]), self._held[cut:]
        return out

    def _force(self) -> str:
        spans = self._redact.spans(self._held)
        if spans and spans[-1][1] == len(self._held):
            start, _, mark = spans[-1]
            out = self._redact(self._held[:start]) + mark
            self._swallow = _KEY_END if self._held.startswith("-----BEGIN", start) else _RUN
            self._held = ""
            return out
        cut = len(self._held) - _LONGEST_START
        cut = next((end for start, end, _ in spans if start < cut < end), cut)
        out, self._held = self._redact(self._held[:cut]), self._held[cut:]
        return out

    def _end_of_run(self) -> int:
        match = _RUN.match(self._held)
        return match.end() if match else 0
