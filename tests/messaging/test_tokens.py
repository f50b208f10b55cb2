"""Every colour that carries words or marks a control stands out from what it stands on, in light and in dark."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

TOKENS = (Path(__file__).parents[2] / "static/css/tokens.css").read_text(encoding="utf-8")
GROUNDS = ("paper", "surface", "sunken")
STATES = ("now", "wait", "done", "danger")
TEXT = [
    *((ink, ground) for ink in ("ink", "soft", *STATES) for ground in GROUNDS),
    *((ink, "hover") for ink in ("ink", "soft")),
    *((ink, f"{state}-tint") for state in STATES for ink in ("ink", "soft", state)),
    *(("paper", state) for state in ("now", "wait")),
    ("paper", "ink"),
]
CONTROLS = [("edge", ground) for ground in GROUNDS] + [("now", ground) for ground in GROUNDS]


def colours() -> dict[str, tuple[str, str]]:
    """Each token's colour in light and in dark, as written."""
    found = re.findall(r"--([a-z-]+): light-dark\((#[0-9a-f]{6}), (#[0-9a-f]{6})\)", TOKENS)
    return {name: (light, dark) for name, light, dark in found}


def luminance(colour: str) -> float:
    """Relative luminance as WCAG 2 defines it, 0 to 1."""
    channels = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: str, other: str) -> float:
    high, low = sorted((luminance(one), luminance(other)), reverse=True)
    return (high + 0.05) / (low + 0.05)


def test_contrast_is_counted_as_the_guidelines_do() -> None:
    assert contrast("#000000", "#ffffff") == pytest.approx(21)
    assert contrast("#777777", "#ffffff") == pytest.approx(4.478, abs=0.001)


@pytest.mark.parametrize("scheme", [0, 1], ids=["light", "dark"])
def test_text_stands_out_from_what_it_stands_on(scheme: int) -> None:
    of = colours()
    weak = {(ink, ground): round(contrast(of[ink][scheme], of[ground][scheme]), 2) for ink, ground in TEXT}
    assert {pair: ratio for pair, ratio in weak.items() if ratio < 4.5} == {}
    assert contrast("#ffffff", of["danger-fill"][scheme]) >= 4.5


@pytest.mark.parametrize("scheme", [0, 1], ids=["light", "dark"])
def test_edges_of_controls_and_the_focus_stand_out(scheme: int) -> None:
    of = colours()
    weak = {(edge, ground): round(contrast(of[edge][scheme], of[ground][scheme]), 2) for edge, ground in CONTROLS}
    assert {pair: ratio for pair, ratio in weak.items() if ratio < 3} == {}
