from __future__ import annotations

import logging
import threading

import pytest

from agentroom.pump import Pump
from agentroom.schedule import JOBS, Job


def test_a_job_that_fails_does_not_end_the_others(caplog: pytest.LogCaptureFixture) -> None:
    done = threading.Event()

    def fail() -> None:
        raise RuntimeError("the database is away")

    pump = Pump((Job("fails", 60, fail), Job("works", 60, done.set)))
    with caplog.at_level(logging.ERROR):
        pump.start()
        assert done.wait(10)
        pump.stop()
    assert "fails" in caplog.text


def test_a_job_is_done_again_and_again() -> None:
    rounds = 0
    third = threading.Event()

    def work() -> None:
        nonlocal rounds
        rounds += 1
        if rounds == 3:
            third.set()

    pump = Pump((Job("often", 0.01, work),))
    pump.start()
    assert third.wait(10)
    pump.stop()
    ended_with = rounds
    assert not any(thread.name == "pump" for thread in threading.enumerate())
    assert rounds == ended_with


def test_the_end_does_not_wait_for_the_next_job() -> None:
    done = threading.Event()
    pump = Pump((Job("rare", 3600, done.set),))
    pump.start()
    assert done.wait(10)
    pump.stop(timeout=2)
    assert not any(thread.name == "pump" for thread in threading.enumerate())


def test_long_work_holds_up_no_other() -> None:
    begun, end, done = threading.Event(), threading.Event(), threading.Event()

    def clean() -> None:
        begun.set()
        end.wait(30)

    def quick() -> None:
        if begun.is_set():
            done.set()

    pump = Pump((Job("long", 3600, clean, long=True), Job("quick", 0.01, quick)))
    pump.start()
    assert done.wait(10)
    end.set()
    pump.stop()


def test_questions_lapse_every_five_seconds_and_guests_leave_every_ten() -> None:
    often = {job.name: job.every for job in JOBS}
    assert often == {
        "approvals.lapse": 5,
        "approvals.expire": 10,
        "approvals.nudge_machines": 30,
        "approvals.clean_up": 3600,
        "messaging.prune": 3600,
        "rooms.forget": 3600,
    }


def test_celery_works_off_the_same_schedule() -> None:
    from agentroom.celery import app

    beat = {entry["task"]: entry["schedule"] for entry in app.conf.beat_schedule.values()}
    assert beat == {job.name: job.every for job in JOBS}
    assert {job.name for job in JOBS} <= set(app.tasks)
