from __future__ import annotations

import pytest
from django.test import Client

from agentroom import health


@pytest.fixture(autouse=True)
def forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(health, "_migrated", False)


def test_the_process_is_alive_without_a_database(client: Client) -> None:
    answer = client.get("/healthz")
    assert (answer.status_code, answer.json()) == (200, {"alive": True})


@pytest.mark.django_db
def test_it_is_ready_when_the_database_is_migrated(client: Client) -> None:
    answer = client.get("/readyz")
    assert answer.status_code == 200
    assert answer.json()["database"] == "ok"


@pytest.mark.django_db
def test_it_is_not_ready_while_migrations_are_missing(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("agentroom.health.MigrationExecutor.migration_plan", lambda *_: ["one"])
    answer = client.get("/readyz")
    assert answer.status_code == 503
    assert "migrate" in answer.json()["database"]


@pytest.mark.django_db
def test_a_database_that_does_not_answer_is_not_ready_and_tells_no_secrets(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse() -> str:
        raise ConnectionError("postgresql://agentroom:hunter2@db/agentroom")

    monkeypatch.setattr(health, "database_ready", refuse)
    answer = client.get("/readyz")
    assert answer.status_code == 503
    assert "hunter2" not in answer.content.decode()
