"""Jobs that fail after some of their work: they keep it, and wait before they start again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from motet.domain.cluster import ClusterSpec
from motet.domain.units import SECOND_US
from motet.sim.experiment import Experiment
from motet.sim.replay.attempts.failures import FailurePoint
from motet.sim.replay.outcome import Outcome
from motet.sim.workload.elastic_work import ROLE_COLUMNS
from motet.sim.workload.measured_work import MeasuredJob, MeasuredWork
from motet.sim.workload.size_speeds import SizeSpeeds
from motet.sim.workload.workload import Workload

Points = Mapping[int, Sequence[tuple[float, float]]]
"""(seconds of work that are left, seconds of delay)"""


def outcome(
    rows: list[tuple[float, float, int]], points: Points, first: MeasuredJob | None = None
) -> Outcome:
    """Of (submission, duration, GPUs) on two GPUs under fifo; starts take a second. `first`: the
    work of the first job."""
    columns = np.array([(s * SECOND_US, d * SECOND_US, g) for s, d, g in rows], np.int64).T
    workload = Workload.of(tuple(map(str, range(len(rows)))), *columns)
    if first is not None:
        work = MeasuredWork.of_jobs([first, *[None] * (len(rows) - 1)])
        workload = replace(workload, work=work)
    experiment = Experiment("fifo", {"placement": "count", "preemption_cost": "0"})
    simulation = experiment.simulation(workload, ClusterSpec.of([2]), None, ())
    simulation.take_time_to_start(lambda job: SECOND_US)
    simulation.take_failures(
        {
            job: [
                FailurePoint(round(left_s * SECOND_US), round(delay_s * SECOND_US))
                for left_s, delay_s in each
            ]
            for job, each in points.items()
        }
    )
    return simulation.run()


def ends_s(found: Outcome) -> list[float]:
    return [each / SECOND_US for each in found.columns["end_us"].tolist()]


def test_a_job_that_fails_starts_again_with_the_work_that_is_left() -> None:
    assert ends_s(outcome([(0, 10, 2)], {0: [(7, 0)]})) == [12.0]


def test_every_failure_happens_once_and_in_order() -> None:
    assert ends_s(outcome([(0, 10, 2)], {0: [(7, 0), (7, 2), (1, 4)]})) == [4 + 10 + 6]


def test_a_delay_costs_no_place_in_line() -> None:
    rows = [(0.0, 10.0, 2), (1.0, 2.0, 2)]
    assert ends_s(outcome(rows, {0: [(7, 5)]})) == [17.0, 20.0]


def test_a_smaller_job_runs_beside_the_slots_that_stay_free() -> None:
    rows = [(0.0, 10.0, 1), (0.0, 2.0, 1), (1.0, 4.0, 1)]
    assert ends_s(outcome(rows, {0: [(9, 20)]})) == [32.0, 3.0, 8.0]


def test_failures_are_no_preemptions() -> None:
    found = outcome([(0, 10, 2)], {0: [(7, 2), (3, 2)]})
    assert found.columns["preemptions"].tolist() == [0]
    assert found.columns["executed_us"].tolist() == [10 * SECOND_US]


def test_a_training_fails_after_its_part_of_the_work() -> None:
    """Its 30 steps take 10 s on a worker and a server."""
    training = MeasuredJob(30, dict.fromkeys(ROLE_COLUMNS, 1), SizeSpeeds({(1, 1): 3.0}))
    found = outcome([(0, 10, 2), (1, 2, 2)], {0: [(7, 2), (4, 0)]}, training)
    assert ends_s(found) == [1 + 10 + (2 + 1) + 1, 15 + 1 + 2]
    assert found.trained.last_step.tolist() == [9.0, 18.0, 30.0]
