"""``manage.py`` with another clock: ``python -m tests.live.later 2026-12-24T18:00:00+00:00 cleanup``."""

from __future__ import annotations

import os
import sys
from datetime import datetime
from unittest.mock import patch

import django
from django.core.management import call_command


def main() -> None:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "agentroom.settings")
    django.setup()
    now = datetime.fromisoformat(sys.argv[1])
    with patch("django.utils.timezone.now", lambda: now):
        call_command(*sys.argv[2:])


if __name__ == "__main__":
    main()
