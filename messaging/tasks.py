"""Background work on what was handed out for a while. It may run twice at once."""

from __future__ import annotations

from rooms import pruning


def prune() -> None:
    """Links and pairing requests that can't be used any more go."""
    pruning.prune()
