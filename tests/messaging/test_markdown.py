from __future__ import annotations

from html.parser import HTMLParser

import pytest

from messaging.render.markdown import MOST, markdown


class Elements(HTMLParser):
    """What a browser would make of it."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str]]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, {name: value or "" for name, value in attrs}))


def test_markdown_becomes_html() -> None:
    html = markdown("**Two** queries, `SeatList`\n\n- one\n- two")

    assert "<strong>Two</strong>" in html
    assert "<code>SeatList</code>" in html
    assert html.count("<li>") == 2


@pytest.mark.parametrize(
    "attack",
    [
        "<script>alert(1)</script>",
        '<img src=x onerror="alert(1)">',
        "[x](javascript:alert(1))",
        "[x](data:text/html,<script>alert(1)</script>)",
        "![x](https://example.com/pixel.png)",
        "<style>body{display:none}</style>",
        '<a href="https://example.com" onclick="alert(1)">x</a>',
        '<https://example.com/"onmouseover=alert(1)>',
    ],
)
def test_nothing_in_a_text_can_run_or_fetch(attack: str) -> None:
    seen = Elements()
    seen.feed(markdown(attack))

    assert {tag for tag, _ in seen.found} <= {"p", "a"}
    for _, attributes in seen.found:
        assert set(attributes) <= {"href", "rel"}
        assert attributes.get("href", "https://").startswith("https://")


def test_a_link_leads_out_without_telling_from_where() -> None:
    assert 'rel="noopener noreferrer nofollow"' in markdown("[docs](https://example.com)")


def test_only_who_was_addressed_is_a_mention() -> None:
    html = markdown("@claude and @nobody, not `@claude`, not a@claude.example", mentions={"claude": True})

    assert html.count('class="mention"') == 1
    assert '<span class="mention" data-handle="claude">@claude</span>' in html


def test_headings_stay_below_the_pages_own() -> None:
    html = markdown("# One\n\n### Three")

    assert "<h4>One</h4>" in html
    assert "<h6>Three</h6>" in html


def test_what_people_type_keeps_its_line_breaks() -> None:
    assert "<br" in markdown("one\ntwo", breaks=True)
    assert "<br" not in markdown("one\ntwo")


def test_a_huge_text_is_cut() -> None:
    assert len(markdown("a" * (MOST * 3))) < MOST + 100
