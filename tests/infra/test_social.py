"""Signing in with a provider, by configuration alone: tried in a process of its own, since settings are read once."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
LOOK = """
import django; django.setup()
from django.core.management import call_command
call_command("migrate", verbosity=0)
from django.test import Client
from rooms import membership
door = Client(headers={"host": "127.0.0.1"})
page = door.get("/account/login/").content.decode()
away = door.get("/account/github/login/")
alice = Client(headers={"host": "127.0.0.1"})
alice.force_login(membership.make_person("alice"), "django.contrib.auth.backends.ModelBackend")
own = alice.get("/account/3rdparty/").content.decode()
where, _, query = away["Location"].partition("?")
print("GitHub" in page, away.status_code, where, "client_id=ours" in query, "GitHub" in own)
"""


def run(data: Path, code: str, **variables: str) -> subprocess.CompletedProcess[str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("DATABASE", "REDIS"))}
    environment = {**kept, "AGENTROOM_DATA": str(data), "DJANGO_SETTINGS_MODULE": "agentroom.settings", **variables}
    return subprocess.run(
        [sys.executable, "-c", code],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )


def test_a_provider_that_is_named_is_offered_and_leads_there(tmp_path: Path) -> None:
    done = run(tmp_path, LOOK, SOCIAL_PROVIDERS="github", GITHUB_CLIENT_ID="ours", GITHUB_CLIENT_SECRET="known")
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == ["True", "302", "https://github.com/login/oauth/authorize", "True", "True"]


def test_a_provider_without_its_secret_stops_the_start_in_words(tmp_path: Path) -> None:
    done = run(tmp_path, "import django; django.setup()", SOCIAL_PROVIDERS="github", GITHUB_CLIENT_ID="ours")
    assert done.returncode != 0
    assert "GITHUB_CLIENT_SECRET" in done.stderr


def test_nobody_is_offered_a_provider_by_default(tmp_path: Path) -> None:
    code = LOOK.split("away =")[0] + "print('Sign in with' in page)"
    assert run(tmp_path, code).stdout.strip() == "False"
