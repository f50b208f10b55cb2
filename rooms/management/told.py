"""What the commands have in common: words for people or JSON, and refusals that say what to do."""

from __future__ import annotations

import argparse
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError
from django.urls import reverse

from rooms.errors import NotFound, RuleError
from rooms.models import User

SERVED_AT = "served-at"
"""The file of the data folder in which ``serve`` notes its own PUBLIC_URL."""


class Told(BaseCommand):
    """A command with ``--json``, whose errors are sentences and end with 1."""

    requires_system_checks: list[str] = []

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("--json", action="store_true", dest="as_json", help="Print one JSON object.")

    def tell(self, facts: dict[str, str | int], words: str, *, as_json: bool) -> None:
        self.stdout.write(json.dumps(facts) if as_json else words)


@contextmanager
def refusals() -> Iterator[None]:
    """A rule's refusal becomes the command's error."""
    try:
        yield
    except RuleError as error:
        raise CommandError(error.detail or "There is no such thing.") from None


def person_called(handle: str) -> User:
    try:
        return User.objects.get(username=handle.lower().removeprefix("@"))
    except User.DoesNotExist:
        raise NotFound(f"Nobody here is called {handle}. Make them: ./manage.py person {handle}") from None


def address(name: str, *args: str | int) -> str:
    """The full URL of a page, as people reach the server that runs on this data."""
    return public_url() + reverse(name, args=args)


def public_url() -> str:
    """What PUBLIC_URL says; without it, where the server said that it is: a script need not know its port."""
    kept: Path = settings.DATA / SERVED_AT
    if not os.environ.get("PUBLIC_URL") and kept.exists():
        return kept.read_text(encoding="utf-8").strip()
    return str(settings.PUBLIC_URL)
