"""Markdown from people and agents, as HTML that can do no harm."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping, Sequence
from typing import Any

import nh3
from django.utils.html import escape, format_html
from django.utils.safestring import SafeString
from markdown_it import MarkdownIt
from markdown_it.renderer import RendererHTML
from markdown_it.rules_core import StateCore
from markdown_it.token import Token
from markdown_it.utils import EnvType, OptionsDict

from messaging.render.hidden import code_of, mark

MOST = 40_000
"""Characters that are rendered; what comes after is read as plain text, on a page of its own."""

TAGS = {
    "a", "blockquote", "br", "code", "del", "em", "h4", "h5", "h6", "hr", "li", "mark", "ol", "p", "pre", "s", "span",
    "strong", "table", "tbody", "td", "th", "thead", "tr", "ul",
}  # fmt: skip
ATTRIBUTES = {"a": {"href", "title", "class"}, "span": {"class", "data-handle"}, "mark": {"class"}, "ol": {"start"}}
MENTION = re.compile(r"(?<![\w@./-])@([a-z0-9][a-z0-9_-]{0,31})(?![\w@])", re.IGNORECASE)


def mark_mentions(state: StateCore) -> None:
    """Turn ``@handle`` into a mention where the message addressed that member, and nowhere else."""
    mentions: Mapping[str, bool] = state.env.get("mentions") or {}
    if not mentions:
        return
    for block in state.tokens:
        if block.type != "inline" or not block.children:
            continue
        children: list[Token] = []
        in_link = 0
        for token in block.children:
            in_link += {"link_open": 1, "link_close": -1}.get(token.type, 0)
            children += [token] if token.type != "text" or in_link else split_mentions(token, mentions)
        block.children = children


def split_mentions(token: Token, mentions: Mapping[str, bool]) -> list[Token]:
    pieces: list[Token] = []
    at = 0
    for match in MENTION.finditer(token.content):
        handle = match.group(1).lower()
        if handle not in mentions:
            continue
        pieces.append(Token("text", "", 0, content=token.content[at : match.start()]))
        pieces.append(Token("mention", "", 0, content=match.group(0), meta={"handle": handle}))
        at = match.end()
    pieces.append(Token("text", "", 0, content=token.content[at:]))
    return pieces


def render_mention(
    renderer: RendererHTML, tokens: Sequence[Token], index: int, options: OptionsDict, env: EnvType
) -> str:
    token = tokens[index]
    return format_html('<span class="mention" data-handle="{}">{}</span>', token.meta["handle"], token.content)


def render_heading(
    renderer: RendererHTML, tokens: Sequence[Token], index: int, options: OptionsDict, env: EnvType
) -> str:
    """The page has its own first three levels."""
    token = tokens[index]
    level = min(int(token.tag[1:]) + 3, 6)
    return f"<h{level}>" if token.nesting == 1 else f"</h{level}>\n"


ACTS = {"Cc", "Cf", "Co", "Zl", "Zp"}
HARMLESS = frozenset("\t\n\u00ad\u200c\u200d")
"""Of those, what prose needs: line breaks, soft hyphens, and what joins the letters of scripts and emoji."""


def is_odd(character: str) -> bool:
    """Whether it acts without being seen: escape sequences, what turns the direction of text, what has no width."""
    return character not in HARMLESS and unicodedata.category(character) in ACTS


def render_all(renderer: RendererHTML, tokens: Sequence[Token], index: int, options: OptionsDict, env: EnvType) -> str:
    """Text in which everything that acts can be seen, as ``U+202E``."""
    token = tokens[index]
    words = "".join(mark(code_of(letter)) if is_odd(letter) else escape(letter) for letter in token.content)
    if token.type == "code_inline":
        return f"<code>{words}</code>"
    return words if token.type == "text" else f"<pre><code>{words}</code></pre>\n"


def parser(*, breaks: bool, shows_hidden: bool = False) -> MarkdownIt:
    made = MarkdownIt("commonmark", {"html": False, "linkify": False, "breaks": breaks})
    made.enable(["table", "strikethrough"]).disable("image")
    made.core.ruler.push("mentions", mark_mentions)
    made.add_render_rule("mention", render_mention)
    for kind in ("text", "code_inline", "code_block", "fence") if shows_hidden else ():
        made.add_render_rule(kind, render_all)
    made.add_render_rule("heading_open", render_heading)
    made.add_render_rule("heading_close", render_heading)
    return made


AS_TYPED = parser(breaks=True)
AS_WRITTEN = parser(breaks=False)
AS_TYPED_AND_SHOWN = parser(breaks=True, shows_hidden=True)


def mentions(data: Mapping[str, Any]) -> dict[str, bool]:
    """Whom a message's data says that it addressed, and whether they are agents."""
    return {str(one["handle"]).lower(): bool(one.get("agent")) for one in data.get("mentions") or ()}


def markdown(
    text: str, *, mentions: Mapping[str, bool] | None = None, breaks: bool = False, shows_hidden: bool = False
) -> SafeString:
    """``mentions`` maps the handles that the message addressed to whether they are agents.

    ``breaks`` keeps each line break, as in what people type; ``shows_hidden`` does, and shows what acts unseen.
    """
    env: dict[str, Any] = {"mentions": mentions or {}}
    made = AS_TYPED_AND_SHOWN if shows_hidden else AS_TYPED if breaks else AS_WRITTEN
    html = made.render(text[:MOST], env)
    return SafeString(
        nh3.clean(
            html,
            tags=TAGS,
            attributes=ATTRIBUTES,
            url_schemes={"http", "https", "mailto"},
            link_rel="noopener noreferrer nofollow",
        )
    )
