"""Tests on several workers: who runs alone, what stays together, and that a skip is still no success."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.workers import APART, IN_PARTS, LONG, rank, unit

ROOT = Path(__file__).parent.parent
MARKERS = "[pytest]\nmarkers =\n  browser\n  real_agents\n  postgres\n  alone\n  bench\n"
CROWD = """
    import json, pathlib, time
    import pytest

    def runs(name):
        with open(pathlib.Path(__file__).with_suffix(".jsonl"), "a") as log:
            began = time.monotonic()
            time.sleep(0.2)
            log.write(json.dumps([name, began, time.monotonic()]) + "\\n")

    @pytest.mark.parametrize("number", range(4))
    def test_one_of_many(number):
        runs("")

    @pytest.mark.{marker}
    def test_that_measures():
        runs("measures")
"""


@pytest.fixture
def crowd(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> pytest.Pytester:
    pytester.makeini(MARKERS)
    monkeypatch.delenv("CI", raising=False)
    for name in ("PYTEST_XDIST_WORKER", "PYTEST_XDIST_WORKER_COUNT", "PYTEST_XDIST_TESTRUNUID"):
        monkeypatch.delenv(name, raising=False)
    return pytester


def run(crowd: pytest.Pytester) -> pytest.RunResult:
    plugins = ("-p", "no:django", "-p", "no:cacheprovider", "-p", "tests.no_skips", "-p", "tests.workers")
    return crowd.runpytest_subprocess(*plugins, "-n", "2")


def test_what_measures_has_the_machine_to_itself(crowd: pytest.Pytester) -> None:
    crowd.makepyfile(test_one=CROWD.format(marker="alone"), test_other=CROWD.format(marker="bench"))
    done = run(crowd)
    assert done.parseoutcomes() == {"passed": 10}
    lines = [line for name in ("one", "other") for line in (crowd.path / f"test_{name}.jsonl").read_text().splitlines()]
    spans: list[tuple[str, float, float]] = [tuple(json.loads(line)) for line in lines]

    def meet(one: tuple[str, float, float], other: tuple[str, float, float]) -> bool:
        return one is not other and one[1] < other[2] and other[1] < one[2]

    alone = [span for span in spans if span[0]]
    assert len(alone) == 2
    assert not [(one, other) for one in alone for other in spans if meet(one, other)]
    assert [(one, other) for one in spans for other in spans if meet(one, other)], "the others ran at the same time"


def test_a_skip_on_a_worker_fails_in_ci(crowd: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    skipped = "import pytest\n\n@pytest.mark.{0}\ndef test_{0}():\n    pytest.skip('it is not here')\n"
    crowd.makepyfile(test_some="".join(map(skipped.format, ("browser", "real_agents", "postgres"))))
    crowd.makepyfile(test_other="def test_it():\n    pass\n")
    monkeypatch.setenv("DATABASE_URL", "postgres://somewhere")
    assert run(crowd).parseoutcomes() == {"passed": 1, "skipped": 3}
    monkeypatch.setenv("CI", "true")
    done = run(crowd)
    assert done.parseoutcomes() == {"passed": 1, "failed": 3}
    assert done.ret == pytest.ExitCode.TESTS_FAILED


def test_a_module_skipped_whole_on_a_worker_fails_in_ci(
    crowd: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    crowd.makepyfile(test_some="import pytest\npytest.importorskip('nowhere_at_all')")
    monkeypatch.setenv("CI", "true")
    done = run(crowd)
    assert done.parseoutcomes()["errors"] >= 1
    assert done.ret != pytest.ExitCode.OK


def test_the_tests_of_a_file_stay_together_unless_it_is_named() -> None:
    assert unit("tests/kills/test_a.py::test_b[1]") == unit("tests/kills/test_a.py::test_c") == "tests/kills/test_a.py"
    for path in IN_PARTS:
        assert unit(f"{path}::test_b[codex]") == unit(f"{path}::test_c[codex]") != unit(f"{path}::test_b[claude]")
    for path in APART:
        assert unit(f"{path}::test_b") != unit(f"{path}::test_c")
    assert rank("tests/kills/test_a.py::test_b") < rank("tests/rooms/test_a.py::test_b")


@pytest.mark.parametrize("path", sorted({*LONG, *APART, *IN_PARTS}))
def test_what_is_named_is_there(path: str) -> None:
    assert (ROOT / path).exists()
