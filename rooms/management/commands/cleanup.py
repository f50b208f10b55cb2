from __future__ import annotations

import argparse
import json
from typing import Any

from django.core.management.base import CommandError
from django.template.defaultfilters import filesizeformat
from django.utils import timezone

from approvals import control
from rooms.management.told import Told


class Command(Told):
    help = "Removes what is older than its room keeps, as the server does every hour. --dry-run says what would go."

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("--dry-run", action="store_true", help="Say what would go, and change nothing.")

    def handle(self, *args: Any, dry_run: bool, as_json: bool, **options: Any) -> None:
        now = timezone.now()
        found = control.preview(now)
        cleaned = None if dry_run else control.clean(now)
        if as_json:
            told = control.told(found) | {"dry_run": dry_run}
            if cleaned is not None:
                told["removed"] = cleaned.entries
            self.stdout.write(json.dumps(told))
        else:
            for due in found.rooms:
                self.stdout.write(in_words(due))
            files = f"{found.files} file{'' if found.files == 1 else 's'} ({filesizeformat(found.bytes)})"
            if cleaned is None:
                self.stdout.write(f"{found.entries} entries and {files} would go. Nothing was changed.")
            else:
                self.stdout.write(f"{cleaned.entries} entries of {cleaned.rooms} rooms went, and {files}.")
        if cleaned is not None and cleaned.failed:
            numbers = ", ".join(map(str, cleaned.failed))
            raise CommandError(f"Not cleaned up: room {numbers}. The log says why; the next clean-up tries again.")


def in_words(due: control.Due) -> str:
    held = f"; {due.held}" if due.held else ""
    return (
        f"Room {due.room} ({due.name}) keeps {due.days} days: {due.entries} entries, up to {due.through}, "
        f"from {due.oldest:%Y-%m-%d %H:%M} to {due.newest:%Y-%m-%d %H:%M} UTC{held}."
    )
