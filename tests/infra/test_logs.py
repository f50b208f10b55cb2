"""What is written into the log, as the console's own handler writes it."""

from __future__ import annotations

import logging
from collections.abc import Iterator

import pytest
from django.core.cache import cache
from django.test import Client
from pytest_django.fixtures import Settings

from agentroom.logs import Formatter
from rooms import membership, tokens
from tests.approvals.kitchen import Kitchen, make_kitchen


@pytest.fixture
def kitchen(db: None) -> Iterator[Kitchen]:
    cache.clear()
    yield make_kitchen()
    cache.clear()


def console() -> logging.Handler:
    [found] = [handler for handler in logging.getLogger().handlers if type(handler) is logging.StreamHandler]
    return found


def written(caplog: pytest.LogCaptureFixture) -> str:
    lines = "\n".join(console().format(record) for record in caplog.records)
    caplog.clear()
    return lines


def test_no_link_that_was_refused_is_in_the_log(
    kitchen: Kitchen, settings: Settings, caplog: pytest.LogCaptureFixture
) -> None:
    _, token = membership.invite(kitchen.alice, kitchen.room.pk, role="member", days=7, max_uses=1)
    assert Client().post(f"/join/{token}/", {"handle": "bob", "password": "short"}).status_code == 422
    lines = written(caplog)
    assert "django.request: Unprocessable" in lines
    assert "/join/ari_…/" in lines
    assert token not in lines
    assert Client(enforce_csrf_checks=True).post(f"/join/{token}/", {"handle": "erin"}).status_code == 403
    lines = written(caplog)
    assert "/join/ari_…/" in lines
    assert token not in lines
    settings.ACCOUNT_RATE_LIMITS = {"join": "0/m/ip", "link": "0/m/ip"}
    assert Client().post(f"/join/{token}/", {"handle": "erin"}).status_code == 429
    link = membership.sign_in_link(kitchen.bob)
    assert Client().post(f"/first/{link}/").status_code in (404, 429)
    assert Client().post(f"/in/{link}/").status_code in (404, 429)
    lines = written(caplog)
    assert lines.count("ars_…") == 2
    assert token not in lines
    assert link not in lines


def test_a_traceback_quotes_no_token(caplog: pytest.LogCaptureFixture) -> None:
    token = tokens.new(tokens.CONNECTION)
    try:
        raise ValueError(f"no such thing: %2F{token}")
    except ValueError:
        logging.getLogger("anything").exception("It broke at %s", [token])
    lines = written(caplog)
    assert "ValueError: no such thing: %2Farc_…" in lines
    assert "It broke at ['arc_…']" in lines
    assert token not in lines


def test_what_only_looks_a_little_like_one_is_written_as_it_is(caplog: pytest.LogCaptureFixture) -> None:
    logging.getLogger("anything").warning("arm_ and ari_short and /account/password/reset/key/set-password/")
    assert "arm_ and ari_short and /account/password/reset/key/set-password/" in written(caplog)


def test_a_link_that_sets_a_new_password_is_not_written_either(caplog: pytest.LogCaptureFixture) -> None:
    logging.getLogger("django.request").warning("/account/password/reset/key/1-d0v2kx-%s/ x", "a" * 32)
    assert "/account/password/reset/key/1-…/ x" in written(caplog)


@pytest.mark.parametrize(
    "name",
    ["django.request", "django.security.csrf", "django.server", "uvicorn.error", "daphne.server", "mcp", "asyncio"],
)
def test_every_logger_writes_through_it(name: str) -> None:
    at: logging.Logger | None = logging.getLogger(name)
    handlers: list[logging.Handler] = []
    while at is not None:
        handlers += at.handlers
        at = at.parent if at.propagate else None
    to_streams = [handler for handler in handlers if type(handler) is logging.StreamHandler]
    assert to_streams == [console()]
    assert isinstance(console().formatter, Formatter)


def test_celery_leaves_the_log_to_it() -> None:
    from agentroom.celery import app

    assert app.conf.worker_hijack_root_logger is False
