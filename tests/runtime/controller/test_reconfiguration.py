"""Jobs that are reconfigured while they train, on executors that are threads here."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pytest

from in_process_cluster import InProcessCluster, InProcessExecutor
from motet.domain.errors import Interrupted, JobFailed, Unreachable
from motet.domain.reconfiguration import Add, Delete, Move, Operation, Plan, RoleCounts, Switch
from motet.runtime.controller.job import Job
from motet.runtime.controller.ports import ExecutorHandle, LaunchGivenUp, LaunchRequest
from motet.runtime.controller.reconfiguration.plan_queue import Reconfiguration, TimedPlan
from motet.runtime.core.consistency import Async, Consistency, Ssp
from motet.runtime.core.options import TrainOptions
from motet.runtime.core.reporting.observers import TrainObserver
from motet.runtime.core.reporting.reports import (
    EpochReport,
    ReconfigurationReport,
    Recovery,
    TrainResult,
)
from motet.runtime.elastic.layout import JobLayout
from motet.runtime.wire.assignment import Assignment
from motet.runtime.worker.local_training import LocalTraining
from patient import Patient
from random_plans import RandomPlans
from restless import Restless
from slow_app import SlowRegression
from soak_cases import others_in_soak
from toy_app import CountingInstances, ToyRegression

MACHINES = 5
EPOCHS = 20
BATCH_ROWS = 70
"""Three mini-batches per epoch, for jobs of many epochs."""
ADD = Add(2, "worker")


def train(
    timetable: tuple[TimedPlan, ...] = (),
    app: ToyRegression | None = None,
    cluster: InProcessCluster | None = None,
    observer: TrainObserver | None = None,
    **changes: Any,
) -> TrainResult:
    app = app or ToyRegression()
    fields = {"machines": MACHINES, "workers": 2, "servers": 2, "epochs": EPOCHS, **changes}
    cluster = cluster or InProcessCluster(MACHINES)
    observer = observer or Patient(timetable)
    rows = app.prepare(None, seed=1)
    return Job(app, rows, TrainOptions(**fields), cluster, observer, timetable).run()


def at(epoch: int, *operations: Operation) -> TimedPlan:
    return TimedPlan(lambda layout: Plan.of(operations), at_epoch=epoch)


def locally(epochs: int, **parameters: Any) -> ToyRegression:
    app = ToyRegression(**parameters)
    training = LocalTraining(app, app.prepare(None, seed=1), seed=0)
    list(training.epochs(epochs))
    app.adopt(training.model.values, training.final_rows())
    return app


def assert_same(result: TrainResult, epochs: int = EPOCHS, **parameters: Any) -> None:
    expected = locally(epochs, **parameters)
    np.testing.assert_allclose(result.app.coef_, expected.coef_, rtol=1e-10, atol=1e-13)
    assert result.app.visits_.tolist() == [float(epochs)] * 203
    assert [report.error for report in result.reconfigurations] == [""] * len(
        result.reconfigurations
    )


def test_moving_model_blocks_changes_no_bit() -> None:
    undisturbed = train()
    result = train((at(1, Move("model", (0, 3, 7), 3, 4)), at(3, Move("model", (0, 3, 7), 4, 3))))
    assert result.model_sha256 == undisturbed.model_sha256
    assert [report.operations for report in result.reconfigurations] == [1, 1]
    assert result.reconfigurations[0].moved_bytes > 0


def test_moved_data_are_computed_once_in_every_mini_batch() -> None:
    result = train((at(1, Move("data", (0, 2, 4), 0, 1)), at(2, Move("data", (0, 2), 1, 0))))
    assert_same(result)


@pytest.mark.parametrize(
    "operation",
    others_in_soak(
        [
            Add(2, "worker"),
            Add(2, "server"),
            Add(0, "server"),
            Delete(0),
            Delete(4),
            Switch(1, "server"),
            Switch(3, "worker"),
        ],
        [Add(2, "worker"), Delete(4), Switch(1, "server")],
    ),
    ids=str,
)
def test_every_operation_leaves_the_model_as_it_is(operation: Operation) -> None:
    result = train((at(1, operation),))
    assert len(result.reconfigurations) == 1
    assert_same(result)


RESTLESS_EPOCHS = 60
SEEDS = (0, pytest.param(1, marks=pytest.mark.soak))


def train_restlessly(
    seed: int, app: ToyRegression | None = None, plans: int = 20, **changes: Any
) -> TrainResult:
    app = app or ToyRegression(batch_size=BATCH_ROWS)
    fields = {
        "machines": MACHINES,
        "workers": 2,
        "servers": 2,
        "epochs": RESTLESS_EPOCHS,
        **changes,
    }
    restless = Restless(seed, MACHINES, plans)
    rows = app.prepare(None, seed=1)
    job = Job(app, rows, TrainOptions(**fields), InProcessCluster(MACHINES), restless)
    restless.job = job
    return job.run()


@pytest.mark.soak
@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize(
    "parameters",
    [
        {},
        *(
            pytest.param(it, marks=pytest.mark.soak)
            for it in ({"sparse": True}, {"partition": "hash"})
        ),
    ],
    ids=str,
)
def test_twenty_random_reconfigurations_leave_the_model_as_it_is(
    seed: int, parameters: dict[str, Any]
) -> None:
    parameters = {"batch_size": BATCH_ROWS, **parameters}
    result = train_restlessly(seed, ToyRegression(**parameters))
    assert len(result.reconfigurations) >= 10
    assert_same(result, RESTLESS_EPOCHS, **parameters)


@pytest.mark.soak
@pytest.mark.parametrize(
    "consistency", [Ssp(2), *(pytest.param(it, marks=pytest.mark.soak) for it in (Ssp(0), Async()))]
)
@pytest.mark.parametrize("seed", SEEDS)
def test_under_looser_consistency_every_instance_is_still_computed_once(
    seed: int, consistency: Consistency
) -> None:
    result = train_restlessly(seed, consistency=consistency)
    assert result.losses[-1] < 0.1 * result.losses[0]
    assert result.app.visits_.tolist() == [float(RESTLESS_EPOCHS)] * 203
    assert [report.error for report in result.reconfigurations if report.error] == []


@pytest.mark.parametrize(
    "consistency", others_in_soak([Async(), Ssp(2)], [Async()]), ids=["async", "ssp"]
)
def test_reconfigurations_lose_and_repeat_no_update_under_looser_consistency(
    consistency: Consistency,
) -> None:
    app = CountingInstances(batch_size=BATCH_ROWS)
    result = train_restlessly(0, app, plans=6, consistency=consistency, epochs=30)
    assert len(result.reconfigurations) >= 3
    assert set(result.app.coef_) == {30 * 203.0}
    assert [report.error for report in result.reconfigurations if report.error] == []


class Canceller(TrainObserver):
    """Cancels the job, or only its reconfiguration, after a few epochs."""

    def __init__(self, what: str) -> None:
        self._what = what
        self.job: Job | None = None
        self.wanted: list[Reconfiguration] = []

    def epoch_done(self, report: EpochReport) -> None:
        assert self.job is not None
        self.wanted.append(self.job.reconfigure(RandomPlans(report.epoch_index, MACHINES, 6)))
        if report.epoch_index == 5 and self._what == "job":
            self.job.cancel()
        if report.epoch_index < 10 and self._what == "reconfigurations":
            self.wanted[-1].cancel()


def cancelling(what: str, epochs: int) -> tuple[Job, Canceller]:
    canceller = Canceller(what)
    app = ToyRegression()
    options = TrainOptions(machines=MACHINES, workers=2, servers=2, epochs=epochs)
    canceller.job = Job(
        app, app.prepare(None, seed=1), options, InProcessCluster(MACHINES), canceller
    )
    return canceller.job, canceller


def test_a_job_that_is_cancelled_while_it_is_reconfigured_ends() -> None:
    job, canceller = cancelling("job", 10_000)
    with pytest.raises(Interrupted):
        job.run()
    assert all(wanted.wait(timeout_s=0) for wanted in canceller.wanted)


def test_a_cancelled_reconfiguration_leaves_training_as_it_is() -> None:
    job, canceller = cancelling("reconfigurations", 24)
    assert_same(job.run(), 24)
    assert {wanted.state for wanted in canceller.wanted[:9]} == {"cancelled"}


def test_a_plan_that_cannot_be_done_is_reported_and_training_goes_on() -> None:
    result = train((at(1, Add(0, "worker")), at(2, Add(2, "worker"))))
    first, second = result.reconfigurations
    assert "executor 0 is a worker already" in first.error
    assert (first.operations, second.operations, second.error) == (0, 1, "")
    assert result.app.visits_.tolist() == [float(EPOCHS)] * 203


class Remembering(InProcessCluster):
    """Knows the first executor of every number."""

    def __init__(self, machine_count: int) -> None:
        super().__init__(machine_count)
        self.first: dict[int, InProcessExecutor] = {}

    def launch(self, request: LaunchRequest) -> Mapping[int, ExecutorHandle]:
        handles = super().launch(request)
        self.first = self.executors | self.first
        return handles


class After(TrainObserver):
    """Does something when so many reconfigurations are done."""

    def __init__(self, count: int, action: Callable[[], object]) -> None:
        self._left = count
        self._action = action
        self.recoveries = 0

    def reconfigured(self, report: ReconfigurationReport) -> None:
        self._left -= 1
        if not self._left:
            self._action()

    def recovering(self, recovery: Recovery) -> None:
        self.recoveries += 1


def test_a_late_word_of_a_dismissed_executors_end_is_not_about_its_successor() -> None:
    cluster = Remembering(MACHINES)
    again = at(1, Add(2, "worker")), at(2, Delete(2)), at(3, Add(2, "worker"))
    observer = After(3, lambda: cluster.first[2].end_late())
    result = train(again, cluster=cluster, observer=observer, epochs=40)
    assert len(result.reconfigurations) == 3
    assert cluster.launches[-1] == [2]
    assert cluster.first[2] is not cluster.executors[2]
    assert result.recoveries == ()
    assert_same(result, epochs=40)


@pytest.mark.parametrize("error", [ValueError, Unreachable])
def test_what_an_observer_of_reconfigurations_raises_ends_the_job(error: type[Exception]) -> None:
    def fail() -> None:
        raise error("the observer's disk is full")

    plans = at(1, Move("data", (0, 2), 0, 1)), at(2, Move("data", (0, 2), 1, 0))
    observer = After(1, fail)
    with pytest.raises(error, match="disk is full"):
        train(plans, observer=observer, epochs=40)
    assert observer.recoveries == 0


class SlowToConfigure(InProcessExecutor):
    """Has its assignment, but is not ready before another executor has ended."""

    other: InProcessExecutor

    def configure(self, assignment: Assignment) -> None:
        super().configure(assignment)
        deadline_s = time.monotonic() + 60
        while not self.other.is_dead and time.monotonic() < deadline_s:
            time.sleep(0.005)


class SlowServer(InProcessCluster):
    """Executor 2 is slow to configure: it waits for executor 0 to end."""

    def launch(self, request: LaunchRequest) -> Mapping[int, ExecutorHandle]:
        handles = dict(super().launch(request))
        for number in handles.keys() & {2}:
            slow = self.executors[number]
            slow.__class__ = SlowToConfigure
            slow.other = self.executors[0]  # type: ignore[attr-defined]
        return handles


def test_a_server_that_joins_while_a_worker_leaves_does_not_wait_for_that_worker() -> None:
    cluster = SlowServer(MACHINES)
    both = TimedPlan(lambda now: Plan((Add(2, "server"), Delete(0)), ((), ())), at_epoch=1)
    known: list[set[int]] = []
    observer = After(1, lambda: known.append(cluster.executors[2].known_workers))
    result = train((both,), SlowRegression(1e-4), cluster, observer, epochs=40)
    assert [report.error for report in result.reconfigurations] == [""]
    assert cluster.executors[0].is_dead
    assert known == [{1}]


class NoRoom(InProcessCluster):
    """A cluster on which nothing starts after the job's first executors."""

    def launch(self, request: LaunchRequest) -> Mapping[int, ExecutorHandle]:
        if self.launches:
            raise JobFailed("no machine is free")
        return super().launch(request)


class Stuck(InProcessCluster):
    """Starts no executor any more after so many launches, nor refuses to."""

    def __init__(self, machine_count: int, launches: int) -> None:
        super().__init__(machine_count)
        self._left = launches
        self.is_stuck = threading.Event()
        self.was_given_up = False

    def launch(self, request: LaunchRequest) -> Mapping[int, ExecutorHandle]:
        self._left -= 1
        if self._left >= 0:
            return super().launch(request)
        self.is_stuck.set()
        deadline_s = time.monotonic() + 60
        while not request.is_given_up():
            assert time.monotonic() < deadline_s, "nobody gives the launch up"
            time.sleep(0.005)
        self.was_given_up = True
        raise LaunchGivenUp


@pytest.mark.parametrize("launches", [0, 1])
def test_a_cancelled_job_does_not_wait_for_an_executor_that_does_not_start(launches: int) -> None:
    cluster = Stuck(MACHINES, launches)
    app = SlowRegression(1e-3)
    options = TrainOptions(machines=MACHINES, workers=2, servers=2, epochs=1000)
    job = Job(app, app.prepare(None, seed=1), options, cluster, timetable=(at(0, ADD),))
    canceller = threading.Thread(target=lambda: (cluster.is_stuck.wait(60), job.cancel()))
    canceller.start()
    with pytest.raises(Interrupted, match="cancelled"):
        job.run()
    canceller.join()
    assert cluster.was_given_up
    assert job.layout.executors == [0, 1, 3, 4]


def test_an_executor_that_does_not_start_is_reported_and_training_goes_on() -> None:
    result = train((at(1, Add(2, "worker")),), cluster=NoRoom(MACHINES))
    (report,) = result.reconfigurations
    assert report.error == "executor 2 did not start: no machine is free"
    assert (report.before, report.after) == (RoleCounts(2, 2), RoleCounts(2, 2))
    assert result.recoveries == ()


def test_a_planner_that_fails_is_reported_and_training_goes_on() -> None:
    def broken(layout: JobLayout) -> Plan:
        raise KeyError("bandwidth")

    result = train((TimedPlan(broken, at_epoch=1),))
    (report,) = result.reconfigurations
    assert report.error == "the planner failed: KeyError: 'bandwidth'"
    assert (report.operations, result.recoveries) == (0, ())
