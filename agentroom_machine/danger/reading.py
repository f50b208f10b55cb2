"""What reading a command, a file tool or a tool of an MCP server has found."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

type Kind = Literal["push", "delete", "spend", "credentials", "unreadable"]


@dataclass(frozen=True)
class Finding:
    """One reason to pause; a confinable one is none while the work can reach neither the network nor secrets."""

    kind: Kind
    why: str
    part: str = ""
    confinable: bool = False


@dataclass(frozen=True)
class Reading:
    """The verdict: kind is None when it may run unasked, and why says so in either case."""

    kind: Kind | None
    why: str
    part: str = ""
    findings: tuple[Finding, ...] = ()

    @property
    def pauses(self) -> bool:
        return self.kind is not None


def verdict(findings: list[Finding], *, confined: bool) -> Reading:
    """A named kind before what is unreadable, and the first of each."""
    all_of_them = tuple(dict.fromkeys(findings))
    pausing = [finding for finding in all_of_them if not (finding.confinable and confined)]
    for finding in sorted(pausing, key=lambda finding: finding.kind == "unreadable"):
        return Reading(finding.kind, finding.why, finding.part, all_of_them)
    for finding in all_of_them:
        return Reading(None, f"{finding.why}; it may run because it is confined", finding.part, all_of_them)
    return Reading(None, "nothing in it pushes, deletes, spends or handles credentials")
