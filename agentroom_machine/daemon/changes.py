"""Which files a turn changed, by path and by lines added and taken away."""

from __future__ import annotations

import difflib
from collections.abc import Callable
from pathlib import Path
from typing import Literal

from agentroom_machine import wire
from agentroom_machine.daemon.redact import Redactor
from agentroom_machine.daemon.showing import line_counts
from agentroom_machine.daemon.within import inside, secret

OUTSIDE = "outside the working directory"


class Changes:
    """Says each changed file with its counts since the turn began; says it again only when they differ."""

    def __init__(
        self, *, emit: Callable[[wire.Fact], None], redact: Redactor, workdir: Path, share_diffs: bool = False
    ) -> None:
        self._emit, self._redact, self._workdir, self._share = emit, redact, workdir, share_diffs
        self._said: dict[str, wire.FileChangeFact] = {}

    def edited(self, path: str, old: str, new: str) -> None:
        """An edit that the runtime reports: one of possibly several to that file."""
        place = inside(path, self._workdir)
        plus, minus = line_counts(old, new)
        name = OUTSIDE if place is None else self._redact(str(place))
        before = self._said.get(name)
        change: Literal["created", "changed"] = "created" if not old else "changed"
        if before:
            plus, minus = plus + before.plus, minus + before.minus
            change = "created" if before.change == "created" else "changed"
        self._say(name, change, plus, minus, self._diff(place, old, new))

    def total(
        self, place: Path, change: Literal["created", "changed", "deleted"], old: str | None, new: str | None
    ) -> None:
        """What a file's change came to in the whole turn; None for what is no text."""
        plus, minus = line_counts(old or "", new or "") if old is not None and new is not None else (0, 0)
        self._say(self._redact(str(place)), change, plus, minus, self._diff(place, old or "", new or ""))

    def removed(self, paths: list[str]) -> None:
        """What is gone and was not said yet, such as files that git ignores; a folder ends with a slash."""
        said = [name for name, one in self._said.items() if one.change == "deleted"]
        for path in paths:
            if not any(name == path or (path.endswith("/") and name.startswith(path)) for name in said):
                self._say(path, "deleted", 0, 0, "")

    def _diff(self, place: Path | None, old: str, new: str) -> str:
        if not self._share or place is None or secret(place):
            return ""
        lines = difflib.unified_diff(
            old.splitlines(keepends=True), new.splitlines(keepends=True), f"a/{place}", f"b/{place}"
        )
        diff = self._redact("".join(lines))
        return diff if len(diff) <= wire.MAX_TEXT else diff[: wire.MAX_TEXT - 30] + "\n[cut: the diff is longer]\n"

    def _say(
        self, path: str, change: Literal["created", "changed", "deleted"], plus: int, minus: int, diff: str
    ) -> None:
        fact = wire.FileChangeFact(path=path[-2000:], change=change, plus=plus, minus=minus, diff=diff)
        said = self._said.get(path)
        self._said[path] = fact
        same = said and (said.change, said.plus, said.minus) == (fact.change, fact.plus, fact.minus)
        if not same or (diff and said and diff != said.diff):
            self._emit(fact)
