"""Characters that can't be seen, or that reorder what can, made visible in commands."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter

from django.utils.html import escape
from django.utils.safestring import SafeString

LONGEST_RUN = 16
"""Spaces in a row that still read as spaces, and line breaks are allowed a quarter of it."""
BLANK = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0") | {
    chr(c) for c in (*range(0xFE00, 0xFE10), *range(0x180B, 0x1810))
}
"""Letters and marks that draw nothing, though their category does not say so."""
RUN = re.compile(r" {17,}|\n{5,}|.", re.DOTALL)


def is_hidden(character: str) -> bool:
    if character in " \n":
        return False
    category = unicodedata.category(character)
    return category[0] == "C" or category in {"Zl", "Zp", "Zs"} or character in BLANK


def code_of(character: str) -> str:
    return f"U+{ord(character):04X}"


def name_of(character: str) -> str:
    names = {"\t": "tab", "\r": "carriage return", "\x1b": "escape", "\x00": "null", "\x08": "backspace"}
    return names.get(character) or unicodedata.name(character, "unnamed character").lower()


def mark(words: str) -> str:
    return f'<mark class="hidden-char">{escape(words)}</mark>'


def reveal(text: str) -> SafeString:
    """``text`` as HTML in which every character can be seen: what is hidden stands as ``U+200B``."""
    if text.isascii() and text.isprintable() and "   " not in text:
        return SafeString(escape(text))
    out: list[str] = []
    plain: list[str] = []

    def flush() -> None:
        out.append(escape("".join(plain)))
        plain.clear()

    for match in RUN.finditer(text):
        piece = match.group()
        if len(piece) > 1:
            flush()
            what = "spaces" if piece[0] == " " else "line breaks"
            out.append(mark(f"{len(piece):,} {what}"))
            if piece[0] == "\n":
                out.append("\n")
        elif is_hidden(piece):
            flush()
            out.append(mark(code_of(piece)))
        else:
            plain.append(piece)
    flush()
    return SafeString("".join(out))


def oddities(text: str) -> list[str]:
    """One sentence for each hidden thing in ``text``, for whoever decides about it."""
    found = Counter(character for character in text if is_hidden(character))
    sentences = [
        f"{'One hidden character' if count == 1 else f'{count:,} hidden characters'}, "
        f"{code_of(character)} ({name_of(character)})."
        for character, count in found.most_common(5)
    ]
    if len(found) > 5:
        sentences.append(f"{len(found) - 5} more kinds of hidden characters.")
    longest = max((len(run) for run in re.findall(r" {17,}", text)), default=0)
    if longest:
        sentences.append(f"{longest:,} spaces in a row; read what comes after them.")
    return sentences
