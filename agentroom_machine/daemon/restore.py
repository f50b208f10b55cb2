"""The snapshots of turns: taken before, settled after, put back on their owner's word."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import threading
import time
from pathlib import Path

from agentroom_machine.daemon.differing import Changed, changes, read, write
from agentroom_machine.daemon.shelf import Shelf, load, save
from agentroom_machine.daemon.undo import Outcome, Undo
from agentroom_machine.profile import write_private

KEEP_TURNS = 50
KEEP_DAYS = 14


class NoSnapshot(Exception):
    """It was removed meanwhile, or never made."""


class Snapshots:
    """The snapshots of this machine's turns. Blocks: call it in a thread; calls wait for each other."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._busy = threading.Lock()

    def take(self, turn_id: int, workdir: Path) -> bool:
        """Remembers how everything is; whether all of it could be kept."""
        with self._busy:
            shelf = self._shelf(workdir)
            before = shelf.look(copy=True)
            save(self._before(shelf, turn_id), before)
            write_private(self._place(turn_id), str(workdir))
        return all(kept.whole for kept in before.values())

    def settle(self, turn_id: int) -> list[Changed]:
        """What the turn changed; from now on it can be undone. Again the same for a turn that is settled."""
        with self._busy:
            shelf = self._find(turn_id)
            place = shelf.turns / f"{turn_id}.json"
            if place.exists():
                return read(place)
            before = load(self._before(shelf, turn_id))
            changed = list(changes(shelf, before, shelf.look(copy=False)))
            write(place, changed)
            self._before(shelf, turn_id).unlink(missing_ok=True)
            self._prune(shelf)
        return changed

    def undo(self, turn_id: int) -> Outcome:
        """Puts back what the turn changed and nobody changed since; raises NoSnapshot."""
        with self._busy:
            shelf = self._find(turn_id)
            place = shelf.turns / f"{turn_id}.json"
            if not place.exists():
                raise NoSnapshot
            undo = Undo(shelf)
            outcome = undo.run(read(place))
            # What it took away is kept as long as the turn's snapshot, in case somebody misses it.
            write_private(shelf.turns / f"{turn_id}.undone", json.dumps(undo.kept))
            return outcome

    def forget(self, turn_id: int) -> None:
        with self._busy, contextlib.suppress(NoSnapshot):
            shelf = self._find(turn_id)
            self._drop(shelf, turn_id)

    # --- places

    def _shelf(self, workdir: Path) -> Shelf:
        name = hashlib.sha256(os.fsencode(workdir)).hexdigest()[:20]
        return Shelf(self._folder / name, workdir)

    def _place(self, turn_id: int) -> Path:
        return self._folder / f"{turn_id}.turn"

    @staticmethod
    def _before(shelf: Shelf, turn_id: int) -> Path:
        return shelf.turns / f"{turn_id}.before"

    def _find(self, turn_id: int) -> Shelf:
        try:
            return self._shelf(Path(self._place(turn_id).read_text(encoding="utf-8")))
        except OSError:
            raise NoSnapshot from None

    def _drop(self, shelf: Shelf, turn_id: int) -> None:
        self._place(turn_id).unlink(missing_ok=True)
        for path in shelf.turns.glob(f"{turn_id}.*"):
            path.unlink(missing_ok=True)

    def _prune(self, shelf: Shelf) -> None:
        settled = sorted(shelf.turns.glob("*.json"), key=lambda path: path.stat().st_mtime, reverse=True)
        oldest = time.time() - KEEP_DAYS * 86400
        stale = [path for path in shelf.turns.iterdir() if path.stat().st_mtime < oldest]
        for place in [*settled[KEEP_TURNS:], *stale]:
            self._drop(shelf, int(place.stem))
        used = {one.before.copy for place in shelf.turns.glob("*.json") for one in read(place) if one.before}
        used |= {kept.copy for place in shelf.turns.glob("*.before") for kept in load(place).values()}
        used |= {copy for place in shelf.turns.glob("*.undone") for copy in json.loads(place.read_bytes()).values()}
        shelf.drop_unused(used)
