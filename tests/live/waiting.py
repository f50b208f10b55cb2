"""Waiting for a condition, with a deadline."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")


def until(
    look: Callable[[], T | None], *, seconds: float = 20, what: str | Callable[[], str] = "what was waited for"
) -> T:
    """The first true thing that ``look`` returns; AssertionError names ``what`` when time is up."""
    deadline = time.monotonic() + seconds
    while True:
        if found := look():
            return found
        if time.monotonic() > deadline:
            raise AssertionError(f"Within {seconds:g} s there was no sign of {what() if callable(what) else what}.")
        time.sleep(0.05)
