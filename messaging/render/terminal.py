"""Output of programs: its colours kept, everything else that a terminal would obey made inert."""

from __future__ import annotations

import re

from django.utils.html import escape
from django.utils.safestring import SafeString

from messaging.render.hidden import code_of, mark

COLOURS = ("black", "red", "green", "yellow", "blue", "magenta", "cyan", "white")
# A string sequence (OSC, DCS, SOS, PM, APC) that doesn't end on its line is not one: it may not swallow the log.
SEQUENCE = re.compile(
    r"(?:\x1b\[|\x9b)(?P<params>[0-?]*)[ -/]*(?P<final>[@-~])"
    r"|(?:\x1b[\]PX^_]|[\x9d\x90\x98\x9e\x9f])[^\x07\x1b\x9c\n\r]{0,4096}(?:\x07|\x1b\\|\x9c)"
    r"|\x1b[ -/]+[0-~]"
    r"|\x1b[0-Z\\^_`a-~]"
    r"|\x1b\[[0-?]*[ -/]*|\x1b"
)
BIDI = re.compile("[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")
CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]")


class Style:
    """What the select-graphic-rendition sequences so far ask for; never a colour that hides the text."""

    def __init__(self) -> None:
        self.colour = ""
        self.marks: set[str] = set()

    def obey(self, params: str) -> None:
        codes = [int(code) if code.isdigit() else 0 for code in params.split(";")] if len(params) < 200 else [0]
        at = 0
        while at < len(codes):
            code = codes[at]
            if code == 0:
                self.colour = ""
                self.marks.clear()
            elif code in {1, 2, 3, 4}:
                self.marks.add({1: "t-bold", 2: "t-dim", 3: "t-italic", 4: "t-underline"}[code])
            elif code == 22:
                self.marks -= {"t-bold", "t-dim"}
            elif code in {23, 24}:
                self.marks.discard({23: "t-italic", 24: "t-underline"}[code])
            elif 30 <= code <= 37 or 90 <= code <= 97:
                self.colour = f"t-{COLOURS[code % 10]}"
            elif code == 39:
                self.colour = ""
            elif code in {38, 48, 58}:
                at += {5: 2, 2: 4}.get(codes[at + 1] if at + 1 < len(codes) else 0, 0)
            at += 1

    @property
    def classes(self) -> str:
        return " ".join(filter(None, [self.colour, *sorted(self.marks)]))


def visible(text: str) -> str:
    """Plain text as HTML: controls as their pictures, direction marks as their numbers."""
    text = CONTROL.sub(lambda match: picture(match.group()), text)
    parts = BIDI.split(text)
    marks = BIDI.findall(text)
    out: list[str] = [escape(parts[0])]
    for character, part in zip(marks, parts[1:], strict=True):
        out += [mark(code_of(character)), escape(part)]
    return "".join(out)


def picture(character: str) -> str:
    if character == "\x07":
        return ""
    return chr(0x2400 + ord(character)) if ord(character) < 0x20 else "\u2421" if character == "\x7f" else "\ufffd"


def terminal(text: str) -> SafeString:
    """``text`` as HTML. A lone carriage return is a line break: nothing that was written can be overwritten."""
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    style = Style()
    out: list[str] = []
    at = 0

    def put(piece: str) -> None:
        if piece:
            html = visible(piece)
            out.append(f'<span class="{style.classes}">{html}</span>' if style.classes else html)

    for match in SEQUENCE.finditer(text):
        put(text[at : match.start()])
        at = match.end()
        if match.group("final") == "m" and not match.group("params").startswith((">", "?", "<", "=")):
            style.obey(match.group("params"))
    put(text[at:])
    return SafeString("".join(out))


def tail(text: str, *, lines: int = 40, characters: int = 6_000) -> tuple[str, bool]:
    """The end of ``text``, and whether something came before it."""
    end = text[-characters:]
    kept = end.splitlines()[-lines:]
    shown = "\n".join(kept)
    return shown, len(shown) < len(text.rstrip("\n"))
