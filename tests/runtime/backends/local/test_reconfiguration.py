"""Reconfigurations of executors in processes of their own, some of them killed on the way."""

from __future__ import annotations

import contextlib
import random
import threading

import numpy as np
import psutil
import pytest

from executor_processes import await_ends_of_executors, executor_processes
from local_toy import trained_locally
from motet.domain.reconfiguration import Add, Delete, Plan, Switch
from motet.runtime.backends.local.cluster import LocalCluster
from motet.runtime.controller.job import Job
from motet.runtime.controller.reconfiguration.plan_queue import Reconfiguration, TimedPlan
from motet.runtime.core.options import TrainOptions
from motet.runtime.core.reporting.observers import TrainObserver
from motet.runtime.core.reporting.reports import EpochReport, Recovery, TrainResult
from motet.runtime.elastic.even_plans import plan_for_executors
from motet.runtime.elastic.layout import JobLayout
from random_plans import RandomPlans
from toy_app import ToyRegression
from unhurried import UntilPlansAreDone

pytestmark = pytest.mark.cluster
MACHINES = 4
PATIENCE_S = 0.1
"""Epochs are over in milliseconds; a plan that needs more than one of them gets that time."""


class Census(UntilPlansAreDone):
    """How many executors run at the end of each epoch."""

    def __init__(self, plans: int) -> None:
        super().__init__(plans)
        self.counts: list[int] = []

    def epoch_done(self, report: EpochReport) -> None:
        self.counts.append(len(executor_processes()))
        super().epoch_done(report)


def job(
    cluster: LocalCluster,
    observer: TrainObserver,
    *timetable: TimedPlan,
    epochs: int,
    batch_size: int,
) -> Job:
    app = ToyRegression(batch_size=batch_size)
    options = TrainOptions(
        machines=MACHINES,
        workers=1,
        servers=1,
        epochs=epochs,
        checkpoint_every=5,
        max_recoveries=20,
    )
    return Job(app, app.prepare(None, seed=1), options, cluster, observer, timetable)


def assert_right(result: TrainResult, expected: ToyRegression, epochs: int) -> None:
    np.testing.assert_allclose(result.app.coef_, expected.coef_, rtol=1e-10, atol=1e-13)
    assert result.app.visits_.tolist() == [float(epochs)] * 203


@pytest.mark.soak
def test_executors_come_and_go_while_the_job_trains(local_cluster: LocalCluster) -> None:
    grow = Plan.of([Add(1, "worker"), Add(2, "server"), Switch(3, "worker")])
    timetable = [
        TimedPlan(lambda layout: grow, at_epoch=1),
        TimedPlan(lambda layout: plan_for_executors(layout, (1, 2), (3,)), at_epoch=1),
        TimedPlan(lambda layout: Plan.of([Delete(1)]), at_epoch=1),
    ]
    expected = trained_locally(epochs=60, batch_size=20)
    await_ends_of_executors()  # those of the test before
    census = Census(len(timetable))
    result = job(local_cluster, census, *timetable, epochs=60, batch_size=20).run()
    assert not result.recoveries
    assert [report.error for report in result.reconfigurations] == ["", "", ""]
    assert_right(result, expected, 60)
    assert max(census.counts) == 4
    assert census.counts[-1] == 2


class Chaos(TrainObserver):
    """Random plans without end, and now and then the end of an executor that may be in one."""

    def __init__(self, seed: int, kills: int) -> None:
        self._random = random.Random(seed)
        self._plans = RandomPlans(seed, MACHINES)
        self._kills_left = kills
        self._asked: Reconfiguration | None = None
        self.recoveries: list[Recovery] = []
        self.job: Job | None = None

    def epoch_done(self, report: EpochReport) -> None:
        assert self.job is not None
        if report.epoch_index % 3 == 0:
            self._asked = self.job.reconfigure(self._plan)
        elif self._asked is not None:
            self._asked.wait(PATIENCE_S)

    def recovering(self, recovery: Recovery) -> None:
        self.recoveries.append(recovery)
        self._kills_left -= 1

    def _plan(self, layout: JobLayout) -> Plan:
        """Asked for when operations are about to begin: kill in their midst."""
        if self._kills_left > 0 and self._random.random() < 0.4:
            delay_s = self._random.uniform(0, 0.03)
            threading.Timer(delay_s, self._kill).start()
        return self._plans(layout)

    def _kill(self) -> None:
        with contextlib.suppress(IndexError, psutil.NoSuchProcess):
            self._random.choice(executor_processes()).kill()


@pytest.mark.soak
def test_kills_during_reconfigurations_do_not_change_the_model(local_cluster: LocalCluster) -> None:
    expected = trained_locally(epochs=30, batch_size=5)
    recoveries = 0
    for seed in range(20):
        chaos = Chaos(seed, kills=2)
        disturbed = job(local_cluster, chaos, epochs=30, batch_size=5)
        chaos.job = disturbed
        result = disturbed.run()
        assert_right(result, expected, 30)
        recoveries += len(result.recoveries)
        if recoveries:  # A kill may hit an executor that was leaving anyhow.
            break
    assert recoveries


@pytest.mark.soak
@pytest.mark.timeout(900)
def test_many_kills_during_many_reconfigurations_do_not_change_the_model(
    local_cluster: LocalCluster,
) -> None:
    expected = trained_locally(epochs=60, batch_size=5)
    for seed in range(100, 112):
        chaos = Chaos(seed, kills=4)
        disturbed = job(local_cluster, chaos, epochs=60, batch_size=5)
        chaos.job = disturbed
        assert_right(disturbed.run(), expected, 60)
