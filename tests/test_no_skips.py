"""In CI a test that is never skipped fails instead."""

from __future__ import annotations

import pytest

SKIPPED = """
    import pytest

    @pytest.mark.{marker}
    def test_that_needs_something():
        pytest.skip("it is not here")
"""


@pytest.fixture
def plain(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> pytest.Pytester:
    pytester.makeini("[pytest]\nmarkers =\n  browser\n  real_agents\n  postgres\n  kills\n")
    monkeypatch.setenv("DATABASE_URL", "postgres://somewhere")
    monkeypatch.delenv("CI", raising=False)
    return pytester


def outcome(plain: pytest.Pytester) -> dict[str, int]:
    # A process of its own: Django, once set up in this one, is not set up again.
    run = plain.runpytest_subprocess("-p", "no:django", "-p", "no:cacheprovider", "-p", "tests.no_skips")
    return run.parseoutcomes()


@pytest.mark.parametrize("marker", ["browser", "real_agents", "postgres"])
def test_a_skip_fails_in_ci(plain: pytest.Pytester, monkeypatch: pytest.MonkeyPatch, marker: str) -> None:
    plain.makepyfile(SKIPPED.format(marker=marker))
    assert outcome(plain) == {"skipped": 1}
    monkeypatch.setenv("CI", "true")
    assert outcome(plain) == {"failed": 1}


def test_a_module_that_is_skipped_whole_fails_in_ci(plain: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    plain.makepyfile("import pytest\npytest.importorskip('nowhere_at_all')")
    monkeypatch.setenv("CI", "true")
    assert outcome(plain) == {"errors": 1}


def test_other_tests_may_be_skipped_in_ci(plain: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    plain.makepyfile(SKIPPED.format(marker="kills"))
    monkeypatch.setenv("CI", "true")
    assert outcome(plain) == {"skipped": 1}


def test_postgres_is_left_out_on_another_database(plain: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    plain.makepyfile(SKIPPED.format(marker="postgres"))
    monkeypatch.setenv("CI", "true")
    monkeypatch.setenv("DATABASE_URL", "")
    assert outcome(plain) == {"deselected": 1}
