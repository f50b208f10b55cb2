"""What the room hears of a turn's snapshot: what it would put back, and what it did."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from agentroom_machine import wire
from agentroom_machine.daemon.differing import Change, Changed, repository_of
from agentroom_machine.daemon.undo import Outcome


def undoable(changed: list[Changed], redact: Callable[[str], str]) -> wire.UndoableFact | None:
    """The fact about a turn's changes; None when there are none."""
    if not changed:
        return None
    lists: dict[Change, list[str]] = {"created": [], "changed": [], "deleted": []}
    whole: dict[Change, str] = {}
    for one in sorted(changed, key=lambda one: one.path):
        if repository := repository_of(one.path):
            if repository not in lists["changed"]:
                lists["changed"].append(repository)
        elif not ((above := whole.get(one.change)) and one.path.startswith(above)):
            kept = one.before or one.after
            folder = kept is not None and kept.kind == "folder" and one.change != "changed"
            if folder:
                whole[one.change] = f"{one.path}/"
            lists[one.change].append(f"{one.path}/" if folder else one.path)
    created, more = _listed(lists["created"], redact)
    altered, more_altered = _listed(lists["changed"], redact)
    deleted, more_deleted = _listed(lists["deleted"], redact)
    return wire.UndoableFact(
        created=created,
        changed=altered,
        deleted=deleted,
        more=more + more_altered + more_deleted,
        lost=sum(not one.restorable for one in changed),
    )


def undone(outcome: Outcome, redact: Callable[[str], str]) -> wire.UndoneFact:
    lists = [_listed(paths, redact) for paths in (outcome.restored, outcome.removed, outcome.conflicts, outcome.lost)]
    (restored, _), (removed, _), (conflicts, _), (lost, _) = lists
    more = sum(over for _, over in lists)
    return wire.UndoneFact(restored=restored, removed=removed, conflicts=conflicts, lost=lost, more=more)


def _listed(paths: Iterable[str], redact: Callable[[str], str]) -> tuple[list[str], int]:
    every = [redact(path)[-2000:] for path in paths]
    return every[: wire.UNDO_PATHS], max(0, len(every) - wire.UNDO_PATHS)
