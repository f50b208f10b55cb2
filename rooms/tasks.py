"""Background work on who may come in. It may run twice at once."""

from __future__ import annotations

from approvals import control
from rooms import membership, pruning


def forget() -> None:
    """Tokens, consents and programs that can't be used any more go, and what a deleted account still holds."""
    membership.forget()
    control.sweep()
    pruning.forget_pictures()
