"""Machines are lost, announce that they will be taken away, and appear while a job trains."""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable, Sequence

import numpy as np
import pytest

from in_process_cluster import InProcessCluster
from motet.domain.errors import JobFailed
from motet.runtime.controller.job import Job
from motet.runtime.core.machine import Machine
from motet.runtime.core.options import TrainOptions
from motet.runtime.core.reporting.observers import TrainObserver
from motet.runtime.core.reporting.reports import (
    EpochReport,
    ReconfigurationReport,
    Recovery,
    TrainResult,
)
from soak_cases import others_in_soak
from toy_app import ToyRegression

EPOCHS = 40
OPTIONS = TrainOptions(machines=4, workers=3, servers=1, epochs=EPOCHS, checkpoint_every=10)


class Script(TrainObserver):
    """Acts at the third epoch; epochs are slow from then on until `seen` is set."""

    def __init__(self, action: Callable[[], None]) -> None:
        self._action = action
        self.seen = threading.Event()
        self.machines: list[Machine] = []
        self.layouts: list[list[int]] = []

    def epoch_done(self, report: EpochReport) -> None:
        if report.epoch_index == 2:
            self._action()
            self._action = lambda: None
        elif report.epoch_index > 2:
            self.seen.wait(0.2)

    def machine_changed(self, machine: Machine) -> None:
        self.machines.append(machine)

    def recovering(self, recovery: Recovery) -> None:
        self.seen.set()

    def reconfigured(self, report: ReconfigurationReport) -> None:
        self.seen.set()


def train(
    cluster: InProcessCluster,
    observer: TrainObserver | None = None,
    on_machines: Callable[[Sequence[Machine]], None] | None = None,
    options: TrainOptions = OPTIONS,
) -> tuple[TrainResult, Job]:
    app = ToyRegression(batch_size=70)
    rows = app.prepare(None, seed=1)
    job = Job(app, rows, options, cluster, observer)
    if on_machines is not None:
        job.leave_machines_to(on_machines)
    return job.run(), job


@functools.cache
def undisturbed() -> TrainResult:
    return train(InProcessCluster(4))[0]


def assert_right(result: TrainResult) -> None:
    expected = undisturbed().app.coef_
    np.testing.assert_allclose(result.app.coef_, expected, rtol=1e-10, atol=1e-13)
    assert result.app.visits_.tolist() == [float(EPOCHS)] * 203


@pytest.mark.soak
@pytest.mark.parametrize("victim", others_in_soak([0, 1, 3], [0]))
def test_a_job_goes_on_with_fewer_machines_when_one_is_lost(victim: int) -> None:
    cluster = InProcessCluster(4)
    result, job = train(cluster, Script(lambda: cluster.lose(victim)))
    assert_right(result)
    assert len(result.recoveries) == 1
    assert victim not in job.layout.executors
    assert len(job.layout.executors) == 3


def test_a_spare_machine_takes_the_place_of_a_lost_one() -> None:
    cluster = InProcessCluster(4)
    options = TrainOptions(machines=3, workers=2, servers=1, epochs=EPOCHS, checkpoint_every=10)
    result, job = train(cluster, Script(lambda: cluster.lose(1)), options=options)
    assert_right(result)
    assert (job.layout.workers, job.layout.servers) == ((0, 3), (2,))
    assert cluster.launches == [[0, 1, 2], [3]]


def test_machines_are_lost_until_one_is_left_and_then_none() -> None:
    cluster = InProcessCluster(4)

    class Losses(TrainObserver):
        def epoch_done(self, report: EpochReport) -> None:
            up = [it.number for it in cluster.machines() if it.condition == "up"]
            if report.epoch_index == 4 * (5 - len(up)):
                cluster.lose(up[0])

    with pytest.raises(JobFailed, match="no machine is left"):
        train(cluster, Losses(), options=OPTIONS)
    assert cluster.launches == [[0, 1, 2, 3]]


@pytest.mark.parametrize("leaver", others_in_soak([0, 3], [3]))
def test_a_job_moves_away_from_a_machine_that_will_be_taken_away(leaver: int) -> None:
    cluster = InProcessCluster(4)
    script = Script(lambda: cluster.give_notice(leaver, 30.0))
    result, job = train(cluster, script)
    assert_right(result)
    assert result.recoveries == ()
    assert [report.error for report in result.reconfigurations] == [""]
    assert leaver not in job.layout.executors
    assert [(it.number, it.condition, it.notice_s) for it in script.machines] == [
        (leaver, "leaving", 30.0)
    ]


def test_a_job_moves_to_a_machine_that_appeared_when_another_one_is_taken_away() -> None:
    cluster = InProcessCluster(4)

    def change() -> None:
        cluster.gain()
        cluster.give_notice(1)

    result, job = train(cluster, Script(change))
    assert_right(result)
    assert result.recoveries == ()
    assert (job.layout.workers, job.layout.servers) == ((0, 2, 4), (3,))


def test_a_job_stays_on_its_last_machine_until_that_is_gone() -> None:
    cluster = InProcessCluster(1)
    options = TrainOptions(machines=1, workers=1, servers=1, epochs=10)
    result, job = train(cluster, Script(lambda: cluster.give_notice(0)), options=options)
    assert result.reconfigurations == ()
    assert job.layout.executors == [0]


def test_who_listens_for_machines_decides_alone_what_to_do() -> None:
    cluster = InProcessCluster(4)
    heard: list[list[str]] = []
    script = Script(lambda: cluster.exchange(1, "fast"))

    def listen(machines: Sequence[Machine]) -> None:
        heard.append([it.condition for it in machines])
        assert machines[4].kind == "fast"
        script.seen.set()

    result, job = train(cluster, script, listen)
    assert heard == [["up", "leaving", "up", "up", "up"]]
    assert result.reconfigurations == ()
    assert 1 in job.layout.executors


class Failing(Script):
    def machine_changed(self, machine: Machine) -> None:
        raise ValueError(f"the observer has no room for {machine.name}")


def test_what_an_observer_of_machines_raises_ends_the_job() -> None:
    cluster = InProcessCluster(4)
    with pytest.raises(ValueError, match="no room for m4"):
        train(cluster, Failing(lambda: cluster.gain()))


def test_a_machine_that_is_lost_while_the_job_moves_away_is_recovered_from() -> None:
    cluster = InProcessCluster(4)

    class Impatient(Script):
        def machine_changed(self, machine: Machine) -> None:
            if machine.condition == "leaving":
                threading.Thread(target=cluster.lose, args=(machine.number,)).start()

    result, job = train(cluster, Impatient(lambda: cluster.give_notice(3)))
    assert_right(result)
    assert 3 not in job.layout.executors
