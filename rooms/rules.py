"""The decorator that every rule wears: one transaction, and on SQLite one writer at a time in this process."""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable
from typing import ParamSpec, TypeVar

from django.db import connection, transaction

P = ParamSpec("P")
R = TypeVar("R")

# SQLite's busy handler is unfair: with eight writers a wait can take seconds. A lock of our own is fair.
_writer = threading.RLock()


def rule(function: Callable[P, R]) -> Callable[P, R]:
    """Run ``function`` in a transaction. Inside another rule it joins that rule's transaction."""

    @functools.wraps(function)
    def wrapped(*args: P.args, **kwargs: P.kwargs) -> R:
        if connection.vendor == "sqlite":
            with _writer, transaction.atomic():
                return function(*args, **kwargs)
        with transaction.atomic():
            return function(*args, **kwargs)

    return wrapped
