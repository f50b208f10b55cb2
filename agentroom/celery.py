"""Celery, for a server that is scaled out (REDIS_URL): it works off the same schedule as the pump's thread.

Only Celery's own worker and beat import this; the web process and the pump know nothing of it.
"""

from __future__ import annotations

import os

import django
from celery import Celery

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "agentroom.settings")
django.setup()

from agentroom.schedule import JOBS  # noqa: E402 - its rules import models, which want Django set up

app = Celery("agentroom")
app.config_from_object("django.conf:settings", namespace="CELERY")
for job in JOBS:
    app.task(name=job.name)(job.work)
app.conf.beat_schedule = {
    # A beat that no worker took in time is left out: the next one does the same work.
    job.name: {"task": job.name, "schedule": job.every, "options": {"expires": job.every}}
    for job in JOBS
}
