"""The background work: what is done again and again, by the pump's thread or by Celery, and how often.

The truth is in tables. A missed beat costs time and nothing else, and two at once do no harm.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import approvals.tasks
import messaging.tasks
import rooms.tasks


@dataclass(frozen=True)
class Job:
    name: str
    every: float
    """Seconds."""
    work: Callable[[], None]
    long: bool = False
    """It may take minutes: the others don't wait for it."""


JOBS = (
    Job("approvals.lapse", 5, approvals.tasks.lapse),
    Job("approvals.expire", 10, approvals.tasks.expire),
    Job("approvals.nudge_machines", 30, approvals.tasks.nudge_machines),
    Job("approvals.clean_up", 3600, approvals.tasks.clean_up, long=True),
    Job("messaging.prune", 3600, messaging.tasks.prune),
    Job("rooms.forget", 3600, rooms.tasks.forget),
)
