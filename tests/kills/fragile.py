"""The daemon, patched from outside so that it kills itself at one instant: ``python -m tests.kills.fragile up``.

FRAGILE_AT names the instant and how often it passes before ("report-answered:2"), or nothing. FRAGILE_LOG gets a line
before each fact goes to the journal, without a number, and one after it, with the number: a kill from outside may fall
between the two, and ``accounts.journaled`` tells then whether the journal has the fact.
"""

from __future__ import annotations

import functools
import json
import os
import signal
from collections import Counter
from collections.abc import Callable
from typing import Any

from agentroom_machine import wire
from agentroom_machine.cli import main
from agentroom_machine.client import Client
from agentroom_machine.daemon.journal import Journal
from agentroom_machine.daemon.owner import Owner

AT, _, TIMES = os.environ.get("FRAGILE_AT", "").partition(":")
_passed: Counter[str] = Counter()


def pass_by(instant: str) -> None:
    """Die here, if it is this instant's turn."""
    _passed[instant] += 1
    if AT and instant == AT and _passed[instant] == int(TIMES or 1):
        os.kill(os.getpid(), signal.SIGKILL)


def note(n: int | None, turn_id: int, fact: wire.Fact) -> None:
    line = json.dumps({"n": n, "turn": turn_id, "fact": fact.model_dump(mode="json")}) + "\n"
    descriptor = os.open(os.environ["FRAGILE_LOG"], os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    try:
        os.write(descriptor, line.encode())
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def around(owner: type, name: str, *, before: str = "", after: str = "") -> None:
    """Pass by an instant before and after each call of a method."""
    original: Callable[..., Any] = getattr(owner, name)

    @functools.wraps(original)
    def plain(self: object, *args: Any, **kwargs: Any) -> Any:
        pass_by(before)
        result = original(self, *args, **kwargs)
        pass_by(after)
        return result

    @functools.wraps(original)
    async def waiting(self: object, *args: Any, **kwargs: Any) -> Any:
        pass_by(before)
        result = await original(self, *args, **kwargs)
        pass_by(after)
        return result

    setattr(owner, name, waiting if name in {"start", "has_file"} else plain)


def patch() -> None:
    add = Journal.add

    def journaled(self: Journal, turn_id: int, fact: wire.Fact, **more: Any) -> int:
        note(None, turn_id, fact)
        n = add(self, turn_id, fact, **more)
        note(n, turn_id, fact)
        pass_by(f"{fact.kind}-journaled")
        return n

    report = Client.report

    async def reported(client: Client, told: wire.Report) -> wire.Receipt:
        ends = any(isinstance(item.fact, wire.EndFact) for item in told.facts)
        pass_by("report-asked")
        receipt = await report(client, told)
        # The server has it, and the journal doesn't know yet.
        pass_by("report-answered")
        pass_by("end-answered" if ends else "")
        return receipt

    Journal.add = journaled  # type: ignore[method-assign]
    Client.report = reported  # type: ignore[method-assign,assignment]
    around(Journal, "add_offer", after="offer-journaled")
    around(Journal, "mark_running", before="start-known", after="running-journaled")
    around(Journal, "ack", after="acked")
    around(Journal, "begin_outside", after="push-journaled")
    around(Journal, "end_outside", before="push-known")
    around(Client, "start", before="start-asked", after="start-answered")
    around(Client, "has_file", before="file-asked")
    around(Owner, "answer", before="verdict-heard", after="verdict-given")


if __name__ == "__main__":
    patch()
    main()
