#!/usr/bin/env python3
"""Django's command line for Agentroom."""

import os
import sys
from pathlib import Path

ENVIRONMENT = Path(__file__).resolve().parent / ".venv"


def main() -> None:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "agentroom.settings")
    try:
        from django.core.management import execute_from_command_line
    except ImportError:
        into_the_environment()
        raise
    execute_from_command_line(sys.argv)


def into_the_environment() -> None:
    """Called as ./manage.py by a Python that knows nothing of the project's packages: the one that does takes over."""
    python = ENVIRONMENT / "bin" / "python"
    if Path(sys.prefix).resolve() == ENVIRONMENT:
        return
    if not python.exists():
        raise SystemExit("The environment is not made yet. Make it by starting once: bin/up")
    os.execv(python, [str(python), *sys.argv])  # noqa: S606 - our own, by its full path


if __name__ == "__main__":
    main()
