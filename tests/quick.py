"""Spares the tests' own process what costs time and shows nothing. Processes that tests start do everything in full."""

from __future__ import annotations

from typing import Any


def pytest_configure() -> None:
    hash_quickly()
    list_static_files_once()


def hash_quickly() -> None:
    """The same hasher, that turns a thousand times instead of a million."""
    from django.contrib.auth.hashers import PBKDF2PasswordHasher

    PBKDF2PasswordHasher.iterations = 1_000


def list_static_files_once() -> None:
    """Each test client has a middleware of its own, which looks at every static file when it is made."""
    from django.conf import settings
    from servestatic.middleware import ServeStaticMiddleware

    look = ServeStaticMiddleware.add_files_from_finders
    known: dict[str, tuple[dict[str, Any], Any]] = {}

    def add_files(self: ServeStaticMiddleware) -> None:
        key = repr((self.static_prefix, settings.STATIC_ROOT, settings.STATICFILES_DIRS, settings.INSTALLED_APPS))
        if key not in known:
            look(self)
            known[key] = (dict(self.files), list(self.directories))
        files, directories = known[key]
        self.files.update(files)
        self.directories[:] = directories

    ServeStaticMiddleware.add_files_from_finders = add_files
