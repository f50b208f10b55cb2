"""The decorator that every rule wears: one transaction, and on SQLite one writer at a time in this process."""

from __future__ import annotations

import functools
import logging
import threading
from collections.abc import Callable
from contextlib import nullcontext
from typing import ParamSpec, TypeVar

from django.db import OperationalError, connection, transaction

P = ParamSpec("P")
R = TypeVar("R")

TRIES = 3
DEADLOCK = "40P01"
"""PostgreSQL's code for a transaction that it ended, because two waited for each other."""

logger = logging.getLogger(__name__)
# SQLite's busy handler is unfair: with eight writers a wait can take seconds. A lock of our own is fair.
_writer = threading.RLock()


def rule(function: Callable[P, R]) -> Callable[P, R]:
    """Run ``function`` in a transaction. Inside another rule it joins that rule's transaction.

    Where the database ended the whole transaction by a deadlock, it is tried again: so until it commits, a rule does
    nothing outside the database that may not be done twice, and changes nothing that it was given.
    """

    @functools.wraps(function)
    def wrapped(*args: P.args, **kwargs: P.kwargs) -> R:
        again = 0 if connection.in_atomic_block else TRIES - 1
        while True:
            try:
                with _writer if connection.vendor == "sqlite" else nullcontext(), transaction.atomic():
                    return function(*args, **kwargs)
            except OperationalError as error:
                if not again or getattr(error.__cause__, "sqlstate", None) != DEADLOCK:
                    raise
                again -= 1
                logger.warning("%s met a deadlock; it is tried again.", function.__qualname__)

    return wrapped
