"""Background work on who may come in. It may run twice at once."""

from __future__ import annotations

from rooms import membership


def forget() -> None:
    """Tokens, consents and programs that can't be used any more go."""
    membership.forget()
