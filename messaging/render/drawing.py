"""How a piece of a page is drawn, and what of an open page it changes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from django.http import HttpRequest
from django.template.loader import get_template
from django.utils.safestring import SafeString

from messaging.render.card import Card
from messaging.render.hidden import reveal


@dataclass(frozen=True)
class Part:
    """A change of the page: ``html`` takes the place of the element with its id, or comes last in ``target``."""

    target: str
    id: str
    mode: Literal["append", "replace"]
    html: str
    seq: int = 0


def draw(template: str, request: HttpRequest | None = None, /, **context: Any) -> SafeString:
    """Without a request it is the same for everybody; a form needs one."""
    return SafeString(get_template(template).render(context, request).strip())


def title(text: str) -> SafeString:
    """A step's title: what stands in backquotes is code, and every character can be seen."""
    pieces = text.split("`")
    if len(pieces) % 2 == 0:
        return reveal(text)
    return SafeString(
        "".join(f"<code>{reveal(piece)}</code>" if at % 2 else reveal(piece) for at, piece in enumerate(pieces))
    )


def replaced(card: Card, name: str, html: str) -> Part:
    return Part(f"t{card.turn}", f"t{card.turn}-{name}", "replace", html, card.seq)
