from __future__ import annotations

import pytest

from messaging.render.terminal import tail, terminal


def test_colours_become_classes() -> None:
    assert terminal("\x1b[31;1mE\x1b[0m ok") == '<span class="t-red t-bold">E</span> ok'
    assert terminal("\x1b[38;5;200mx\x1b[38;2;1;2;3my\x1b[31mz") == 'xy<span class="t-red">z</span>'


@pytest.mark.parametrize(
    "sequence",
    [
        "\x1b[2J",
        "\x1b[10;10H",
        "\x1b]0;a title\x07",
        "\x1b]8;;http://example.com\x1b\\",
        "\x1b]52;c;c2VjcmV0\x07",
        "\x1b[?1049h",
        "\x1bP+q544e\x1b\\",
        "\x1bc",
        "\x9b2J",
        "\x1b(0",
    ],
)
def test_what_would_move_or_tell_a_terminal_is_gone(sequence: str) -> None:
    assert terminal(f"before{sequence}after") == "beforeafter"


def test_an_unfinished_sequence_swallows_nothing_behind_its_line() -> None:
    html = terminal("before\x1b]0;never ends\nafter\nmore")

    assert html.endswith("\nafter\nmore")
    assert "never ends" in html


def test_a_lone_carriage_return_overwrites_nothing() -> None:
    assert terminal("rm -rf ~\rls\r\nend") == "rm -rf ~\nls\nend"


def test_concealed_text_is_seen() -> None:
    assert "secret" in terminal("\x1b[8msecret\x1b[0m")
    assert terminal("\x1b[30;40mx\x1b[0m") == '<span class="t-black">x</span>'


def test_markup_in_output_is_text() -> None:
    assert terminal("<script>\x1b[1m<b>\x1b[0m") == '&lt;script&gt;<span class="t-bold">&lt;b&gt;</span>'


def test_direction_marks_in_output_stand_as_their_number() -> None:
    assert '<mark class="hidden-char">U+202E</mark>' in terminal("a\u202eb")


def test_only_the_end_of_a_long_output_is_shown() -> None:
    end, cut = tail("x" * 5_000_000)
    assert (len(end), cut) == (6_000, True)
    assert tail("one\ntwo\n") == ("one\ntwo", False)
    assert tail("\n".join(str(n) for n in range(1000)))[0].splitlines() == [str(n) for n in range(960, 1000)]


def test_a_long_line_of_escapes_is_read_in_linear_time() -> None:
    assert terminal("\x1b]" * 50_000 + "end").endswith("end")
    assert terminal("\x1b[" + "1;" * 100_000 + "mend").endswith("end")
