from __future__ import annotations

import pytest

from messaging.render.hidden import oddities, reveal


@pytest.mark.parametrize(
    ("character", "shown"),
    [
        ("\u200b", "U+200B"),
        ("\u202e", "U+202E"),
        ("\u2066", "U+2066"),
        ("\t", "U+0009"),
        ("\r", "U+000D"),
        ("\x1b", "U+001B"),
        ("\u00a0", "U+00A0"),
        ("\ufe0f", "U+FE0F"),
        ("\u3164", "U+3164"),
        ("\U000e0041", "U+E0041"),
        ("\ufeff", "U+FEFF"),
        ("\u2028", "U+2028"),
    ],
)
def test_a_hidden_character_stands_as_its_number(character: str, shown: str) -> None:
    html = reveal(f"git push origin main{character}")

    assert f'<mark class="hidden-char">{shown}</mark>' in html
    assert character not in html
    assert any(shown in sentence for sentence in oddities(f"main{character}"))


def test_a_command_behind_five_thousand_spaces_is_in_sight() -> None:
    html = reveal("ls" + " " * 5000 + "; rm -rf ~")

    assert '<mark class="hidden-char">5,000 spaces</mark>; rm -rf ~' in html
    assert len(html) < 200
    assert any("5,000 spaces" in sentence for sentence in oddities("ls" + " " * 5000 + "; rm"))


def test_a_command_behind_many_empty_lines_is_in_sight() -> None:
    assert '<mark class="hidden-char">300 line breaks</mark>' in reveal("ls" + "\n" * 300 + "rm -rf ~")


def test_a_plain_command_is_only_escaped() -> None:
    assert reveal("grep '<a>' x && ls") == "grep &#x27;&lt;a&gt;&#x27; x &amp;&amp; ls"
    assert oddities("grep '<a>' x") == []


def test_letters_of_every_script_stay_letters() -> None:
    assert reveal("echo Grüße 你好 שלום") == "echo Grüße 你好 שלום"
