"""Finish-time fairness is an experiment's, from its first submission to its last end."""

from __future__ import annotations

import numpy as np
import pytest

from elastic_workloads import Row, elastic_workload, linear
from motet.domain.cluster import ClusterSpec
from motet.domain.units import SECOND_US
from motet.sim.experiment import Experiment
from motet.sim.metrics.finish_time import FinishTimes, experiment_names
from motet.sim.metrics.summary import Summary
from motet.sim.replay.outcome import Outcome
from motet.sim.workload.workload import Workload


def outcome_of(experiments: list[str]) -> Outcome:
    """On 2 GPUs one after the other: 0 to 100, 100 to 150, 150 to 160 s."""
    jobs = Workload.of(
        ["j0", "j1", "j2"],
        [0, 0, 10 * SECOND_US],
        [100 * SECOND_US, 50 * SECOND_US, 10 * SECOND_US],
        [2, 2, 1],
        experiments=experiments,
    )
    return Experiment("fifo", {"placement": "count"}).run(jobs, ClusterSpec.uniform(1, 2))


def test_a_search_ends_with_its_last_job() -> None:
    """On shares of their own the job alone has one GPU from 10 to 20 s. The search of 300
    GPU-seconds has the other one then, and both before and afterwards."""
    times = FinishTimes.of_outcome(outcome_of(["search", "search", ""]))
    assert times.of.tolist() == [0, 0, 1]
    assert times.ideal_us.tolist() == pytest.approx([155e6, 10e6])
    assert times.rho.tolist() == pytest.approx([150 / 155, 15.0])


def test_jobs_without_an_experiment_are_experiments_of_their_own() -> None:
    one, other = outcome_of(["", "", ""]), outcome_of(["a", "b", "c"])
    ratios = [FinishTimes.of_outcome(each).rho_of_jobs for each in (one, other)]
    np.testing.assert_array_equal(*ratios)


def test_every_job_shows_the_fairness_of_its_experiment_which_counts_once() -> None:
    outcome = outcome_of(["search", "search", ""])
    rho = FinishTimes.of_outcome(outcome).rho_of_jobs
    assert rho[0] == rho[1]
    fairness = Summary.of(outcome, FinishTimes.of_outcome(outcome)).finish_time_fairness
    assert fairness.mean == pytest.approx((rho[0] + rho[2]) / 2)
    assert (fairness.max, fairness.worst) == (rho[2], "j2")
    assert fairness.within_share == 1 / 2
    assert fairness.jain == pytest.approx((rho[0] + rho[2]) ** 2 / 2 / (rho[0] ** 2 + rho[2] ** 2))


def test_experiments_have_trace_names_and_single_jobs_their_ids() -> None:
    outcome = outcome_of(["", "search", "search"])
    names = experiment_names(outcome.workload, FinishTimes.of_outcome(outcome).of)
    assert names == ["j0", "search"]
    times = FinishTimes.of_outcome(outcome)
    assert Summary.of(outcome, times).finish_time_fairness.worst == "search"


def test_a_rho_of_one_is_within_the_share_however_it_is_rounded() -> None:
    jobs = Workload.of(["a"], [0], [7 * SECOND_US], [3])
    outcome = Experiment("fifo", {"placement": "count"}).run(jobs, ClusterSpec.uniform(1, 7))
    summary = Summary.of(outcome, FinishTimes.of_outcome(outcome))
    assert summary.finish_time_fairness.within_share == 1


def test_the_ideal_speed_of_an_elastic_job_is_that_of_its_share() -> None:
    """Steps of w workers take 1 / w + 0.1 w seconds: it is fastest with three, half as fast again
    as with its one. Two such jobs have 3 of 6 GPUs each all the time; rigid ones only theirs."""
    slower = linear(0, 110, 1, 6)._replace(speed=(1.0, 0.0, 0.0, 0.1, 0.0, 1.0))
    outcome = Experiment("fair").run(elastic_workload([slower, slower]), ClusterSpec.uniform(1, 6))
    step_s = 1 / 3 + 0.3
    assert FinishTimes.of_outcome(outcome).ideal_us.tolist() == pytest.approx(
        [110 * step_s * 1e6] * 2
    )
    rigid = slower._replace(most_workers=1)
    outcome = Experiment("fair").run(elastic_workload([rigid, rigid]), ClusterSpec.uniform(1, 6))
    assert FinishTimes.of_outcome(outcome).ideal_us.tolist() == pytest.approx([121e6] * 2)


@pytest.mark.parametrize(("machines", "shared_s"), [(1, 104.0), (2, 300.0)])
def test_the_ideal_placement_of_jobs_with_servers_is_the_fewest_machines(
    machines: int, shared_s: float
) -> None:
    """Steps of w workers and servers take 4 / w seconds computing and 4 exchanging: a hundredth of
    that within a machine, half of it on two. Where a machine holds only two of each, they are
    faster than four of each on both; `fair` gives it four."""
    row = Row(0, 100, 4, 4, 4, 4, 1, mode=2, speed=(1.0, 0.0, 4.0, 0.0, 0.0, 4.0))
    cluster = ClusterSpec.uniform(machines, 8 // machines)
    outcome = Experiment("fair").run(elastic_workload([row]), cluster)
    times = FinishTimes.of_outcome(outcome)
    ideal_s = {1: 100 * (1 + 0.04), 2: 100 * (2 + 0.04)}[machines]
    assert times.ideal_us.tolist() == pytest.approx([ideal_s * 1e6])
    assert times.rho.tolist() == pytest.approx([shared_s / ideal_s])
