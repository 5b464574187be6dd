"""SLAQ: GPUs go where losses fall most, and no job waits for ever."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings

from elastic_workloads import elastic_workload, linear, rows_on
from example_count import examples
from motet.domain.arrays import Floats
from motet.domain.cluster import ClusterSpec
from motet.domain.errors import BadInput, MotetError
from motet.domain.snapshot import Placement
from motet.domain.units import SECOND_US
from motet.domain.wait import Wait
from motet.engine.journal.decision_log import DecisionLog
from motet.engine.measurements.fitters import fitted_measurements
from motet.placement.planners import ConsolidatingPlanner
from motet.policies.slaq import Slaq
from motet.sim.experiment import Experiment
from motet.sim.generate.arrivals import Poisson
from motet.sim.generate.elastic import ElasticRecipe, SlaqJobs, generate_elastic
from motet.sim.metrics.quality import QualitySummary
from motet.sim.replay.outcome import Outcome
from motet.sim.replay.simulation import Simulation
from motet.sim.speeds.speed_model import SameEverywhere
from policy_snapshots import snapshot
from soak_cases import others_in_soak

STARVE_S, EPOCH_S = 20, 2
CLUSTER = ClusterSpec.of([4, 2])
NAN = float("nan")


def run(rows: Any, policy: Slaq, journal: DecisionLog | None = None) -> Outcome:
    return Simulation(
        elastic_workload(rows),
        CLUSTER,
        policy,
        ConsolidatingPlanner(),
        SameEverywhere(),
        journal=journal,
        measurements=fitted_measurements(),
    ).run()


def test_a_new_job_gets_more_gpus_than_a_converged_one() -> None:
    seen = snapshot(ClusterSpec.of([8]), 2, max_workers=8, known={"steps_done": [0, 500]})
    assert Slaq().decide(seen).gpus.tolist() == [7, 1]


@dataclass(frozen=True)
class Slopes:
    """Losses that fall by as much with every step, with this disagreement of the curves."""

    slope: Floats
    apart: Floats

    def __len__(self) -> int:
        return len(self.slope)

    def predict(self, iterations: Any, /) -> Floats:
        return np.asarray(-self.slope[:, None] * iterations)

    def disagreement(self, iterations: Any, /) -> Floats:
        return np.broadcast_to(self.apart, np.shape(iterations))

    def iterations_to(self, losses: Any, /) -> Floats:
        raise NotImplementedError


@pytest.mark.parametrize(("apart", "weighed"), [(0.0, [1, 7]), (1e6, [7, 1])])
def test_a_young_job_with_an_uncertain_curve_counts_as_a_new_one_if_curves_are_weighed(
    apart: float, weighed: list[int]
) -> None:
    """The curve of the other job is certain, and predicted to fall ten times as fast."""
    known = {"steps_done": [0, 50], "loss": 1.0, "first_loss": 1.0, "largest_change": 1.0}
    seen = snapshot(ClusterSpec.of([8]), 2, max_workers=8, known=known)
    forecasts = Slopes(np.array([0.001, 0.01]), np.array([apart, 0.0]))
    seen = replace(seen, estimates=replace(seen.wanted_estimates, forecasts=forecasts))
    assert Slaq(epoch_s=2).decide(seen).gpus.tolist() == [1, 7]
    assert Slaq(epoch_s=2, predictions="weighed").decide(seen).gpus.tolist() == weighed


def test_with_more_jobs_than_gpus_the_largest_loss_reductions_run() -> None:
    known = {"steps_done": [300, 5, 100, 0], "loss": [0.5] * 4}
    seen = snapshot(ClusterSpec.of([2]), 4, known=known)
    decision = Slaq().decide(seen)
    assert decision.gpus.tolist() == [0, 1, 0, 1]
    code = decision.reasons.code
    assert code.tolist() == [Wait.LESS_PROGRESS, Wait.RUNS, Wait.LESS_PROGRESS, Wait.RUNS]
    measure = decision.reasons.measure
    assert measure is not None
    assert (measure[[0, 2]] < decision.reasons.bar).all()
    assert decision.reasons.bar == measure[1]


def test_of_a_job_without_a_loss_the_log_does_not_say_that_anything_is_predicted() -> None:
    known = {"steps_done": [300, 0, 100, 0], "loss": [0.5, 0.5, NAN, 0.5]}
    decision = Slaq().decide(snapshot(ClusterSpec.of([2]), 4, known=known))
    assert decision.reasons.code.tolist() == [Wait.LESS_PROGRESS, 0, Wait.FALL_UNKNOWN, 0]


def test_a_rigid_job_counts_as_new_for_ever_and_the_narrow_before_the_wide() -> None:
    """It reports no steps; elastic jobs without a loss do."""
    gpus = [2, 1, 1, 1]
    known = {"steps_done": [NAN, NAN, 0, 30], "loss": NAN}
    roles = {"workers": gpus, "min_workers": gpus, "max_workers": gpus}
    for free, runs in ((2, [0, 1, 1, 0]), (4, [2, 1, 1, 0])):
        seen = snapshot(ClusterSpec.of([free]), 4, known=known, gpus=gpus, **roles)
        assert Slaq().decide(seen).gpus.tolist() == runs


def test_starving_jobs_run_first_in_order_of_waiting_time() -> None:
    seen = snapshot(
        ClusterSpec.of([2]),
        4,
        now_s=100,
        known={"steps_done": [300, 0, 100, 0]},
        memory={
            "served_us": np.array([70, 99, 60, 95]) * SECOND_US,
            "executed_then_us": 0,
        },
    )
    decision = Slaq(starve_s=20).decide(seen)
    assert decision.gpus.tolist() == [1, 0, 1, 0]
    assert decision.reasons.position.tolist()[:3:2] == [1, 0]


def test_a_starved_job_runs_for_at_least_an_epoch() -> None:
    def runs_at(executed_s: int) -> list[int]:
        seen = snapshot(
            ClusterSpec.of([1]),
            2,
            now_s=100 + executed_s,
            known={"steps_done": [300, 0]},
            executed_us=[executed_s * SECOND_US, 0],
            submit_us=[0, 100 * SECOND_US],
            held_gpus=[1, 0],
            held_workers=[1, 0],
            places={0: Placement((0,), (1,))},
        )
        return Slaq(epoch_s=10, starve_s=20).decide(seen).gpus.tolist()

    assert runs_at(executed_s=9) == [1, 0]
    assert runs_at(executed_s=10) == [0, 1]


def test_a_snapshot_without_estimates_is_an_error_with_a_remedy() -> None:
    seen = snapshot(CLUSTER, 1)
    with pytest.raises(MotetError, match="wants_estimates"):
        Slaq().decide(replace(seen, estimates=None))


@pytest.mark.parametrize(
    ("name", "value"), [("epoch_s", 0.0), ("starve_s", 0.0), ("rescale_s", -1.0)]
)
def test_impossible_times_are_refused(name: str, value: float) -> None:
    with pytest.raises(BadInput, match=f"{name}={value}"):
        Slaq(**{name: value})


def test_a_job_that_would_have_to_be_resumed_needs_more_to_gain() -> None:
    seen = snapshot(
        ClusterSpec.of([1]),
        2,
        known={"steps_done": [10, 11]},
        held_gpus=[0, 1],
        held_workers=[0, 1],
        places={1: Placement((0,), (1,))},
    )
    assert Slaq().decide(seen).gpus.tolist() == [1, 0]
    assert Slaq(rescale_s=5).decide(seen).gpus.tolist() == [0, 1]


def test_a_job_is_not_resized_for_less_than_that_costs() -> None:
    seen = snapshot(
        ClusterSpec.of([8]),
        2,
        max_workers=8,
        known={"steps_done": [100, 100]},
        held_gpus=[5, 3],
        held_workers=[5, 3],
        places={0: Placement((0,), (5,)), 1: Placement((0,), (3,))},
    )
    assert Slaq().decide(seen).gpus.tolist() == [4, 4]
    assert Slaq(rescale_s=5).decide(seen).gpus.tolist() == [5, 3]


def longest_waits_s(outcome: Outcome, job: int) -> float:
    """The longest time without GPUs, in seconds."""
    held = outcome.holds
    starts = np.unique(held.start_us[held.job == job]).tolist()
    ends = np.unique(held.end_us[held.job == job]).tolist()
    moments = [int(outcome.workload.submit_us[job]), *starts, *ends]
    busy = list(zip(sorted(starts), sorted(ends), strict=True))
    gaps = [later[0] - one[1] for one, later in pairwise(busy)]
    return max([busy[0][0] - moments[0], *gaps]) / SECOND_US


@settings(max_examples=examples(30))
@given(rows=rows_on(CLUSTER.gpu_count))
def test_waits_are_bounded_by_starve_s_and_the_number_of_starving_jobs(rows: Any) -> None:
    """At worst all others starve longer, and each in turn takes the cluster for an epoch, which is
    noticed at the end of another one."""
    outcome = run(rows, Slaq(epoch_s=EPOCH_S, starve_s=STARVE_S))
    bound_s = STARVE_S + 2 * EPOCH_S * (len(rows) + 1)
    for job in range(len(rows)):
        assert longest_waits_s(outcome, job) <= bound_s


def test_the_log_states_the_compared_loss_reductions() -> None:
    log = DecisionLog()
    rows = [linear(0, 400, 6), linear(30, 100, 6), *[linear(31, 50, 1)] * 6]
    run(rows, Slaq(epoch_s=5), log)
    outdone = [entry for entry in log if entry.event == "less_progress"]
    assert outdone
    assert all(entry.measure <= entry.bar for entry in outdone)


@pytest.mark.parametrize("seed", others_in_soak(range(3), [0]))
def test_losses_are_lower_than_with_fair_shares(seed: int) -> None:
    recipe = ElasticRecipe(20, Poisson(15.0), SlaqJobs())
    workload = generate_elastic(recipe, np.random.default_rng(seed))
    fair, slaq = (
        QualitySummary.of(
            Experiment(name, {"preemption_cost": "0"}).run(workload, ClusterSpec.uniform(6, 32))
        )
        for name in ("fair", "slaq")
    )
    assert slaq.average_normalised_loss < 0.9 * fair.average_normalised_loss
    assert slaq.time_to_95_s < 0.9 * fair.time_to_95_s
