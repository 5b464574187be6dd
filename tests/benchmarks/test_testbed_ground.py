"""The ground of a schedule tells which jobs have ended, whatever moves they made."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import pytest

from motet.estimate.colocation.group_time import SubtaskTimes
from motet.runtime.core.reporting.reports import TrainResult
from support import testbed_ground
from support.schedule_choices import ProfiledJob
from support.testbed_ground import TestbedGround as Ground
from support.testbed_jobs import EpochLog, JobKind, RunningJob


class Training:
    """Stands for a `Job`: it ends, or stops, when that is said."""

    def __init__(self) -> None:
        self.may_return, self.is_whole = threading.Event(), True
        self.may_fit = threading.Event()
        self.may_fit.set()

    def suspend(self) -> None:
        """Stop now."""
        self.is_whole = False
        self.may_return.set()


class Trainings:
    """All that a ground has begun, in their order."""

    def __init__(self) -> None:
        self.begun: list[Training] = []

    def begin(
        self, *_: object, ended: Callable[[], None], kept: testbed_ground.KeptState, **__: object
    ) -> RunningJob:
        """See `testbed_jobs.begin`."""
        training = Training()

        def run() -> None:
            assert training.may_return.wait(30.0)
            running.is_trained = training.is_whole
            running.ended_s = running.begun_s + 1.0
            ended()
            assert training.may_fit.wait(30.0)
            if training.is_whole:
                running.result = cast(TrainResult, object())

        kind = JobKind("job", "", lambda rows: cast(Any, None), 1)
        job = cast(Any, training)
        running = RunningJob(kind, job, kept.observer, threading.Thread(target=run))
        self.begun.append(training)
        running.thread.start()
        return running


@pytest.fixture
def trainings(monkeypatch: pytest.MonkeyPatch) -> Trainings:
    found = Trainings()
    monkeypatch.setattr(testbed_ground, "begin", found.begin)
    return found


def ground(folder: Path, jobs: int) -> Ground:
    kinds = [JobKind(f"job {row}", "", lambda rows: cast(Any, None), 1) for row in range(jobs)]
    profiled = [ProfiledJob(kind.name, SubtaskTimes(1.0, 1.0), 1) for kind in kinds]
    return Ground(cast(Any, None), kinds, profiled, folder, interleaves=True, spill="")


def test_a_job_that_moved_hides_no_end_of_another_one(trainings: Trainings, tmp_path: Path) -> None:
    """The end of its first stay is not waited for as that of the second one."""
    of_two = ground(tmp_path, 2)
    of_two.start(0, (0,))
    of_two.start(1, (1,))
    assert of_two.pause([0]) == []
    of_two.start(0, (2,))
    _, second, moved = trainings.begun
    second.may_return.set()
    assert of_two.next_ends() == [1]
    moved.may_return.set()
    assert of_two.next_ends() == [0]


def test_hosts_are_free_before_the_fitted_model_is_made(
    trainings: Trainings, tmp_path: Path
) -> None:
    one = ground(tmp_path, 1)
    one.start(0, (0,))
    (training,) = trainings.begun
    training.may_fit.clear()
    training.may_return.set()
    assert one.next_ends() == [0]
    assert one._runs[0][0].result is None
    training.may_fit.set()
    one.finish()
    assert one._runs[0][0].result is not None


def test_a_job_that_has_ended_is_not_paused(trainings: Trainings, tmp_path: Path) -> None:
    one = ground(tmp_path, 1)
    one.start(0, (0,))
    (training,) = trainings.begun
    training.may_return.set()
    training.suspend = lambda: None  # type: ignore[method-assign]
    assert one.pause([0]) == [0]
    assert one.stopped_s() == 0.0


def test_a_start_is_from_its_beginning_to_the_data(trainings: Trainings, tmp_path: Path) -> None:
    one = ground(tmp_path, 1)
    one.start(0, (0,))
    (training,) = trainings.begun
    assert isinstance(one._kept[0].observer, EpochLog)
    assert one.start_ups_s() == []
    one._kept[0].observer.started(1, 1)
    (start_s,) = one.start_ups_s()
    assert start_s > 0.0
    training.may_return.set()
    assert one.next_ends() == [0]
