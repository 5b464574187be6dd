"""Optimus: workers and servers go where they save most time."""

from __future__ import annotations

import numpy as np
import pytest

from motet.domain.cluster import ClusterSpec
from motet.domain.errors import BadInput
from motet.domain.snapshot import Placement, Snapshot
from motet.domain.wait import Wait
from motet.policies.optimus import Optimus
from motet.sim.experiment import Experiment
from motet.sim.generate.arrivals import Poisson
from motet.sim.generate.elastic import ElasticRecipe, OptimusJobs, generate_elastic
from policy_snapshots import snapshot
from soak_cases import others_in_soak

EIGHT = ClusterSpec.of([8])


def test_jobs_with_more_remaining_work_get_more_gpus() -> None:
    seen = snapshot(EIGHT, 2, max_workers=8, known={"steps_left": [900, 100]})
    assert Optimus().decide(seen).gpus.tolist() == [6, 2]


@pytest.mark.parametrize("unknown", [float("nan"), float("inf")])
def test_an_unpredicted_end_counts_as_the_median(unknown: float) -> None:
    left = [100.0, unknown, 100.0]
    seen = snapshot(ClusterSpec.of([9]), 3, max_workers=9, known={"steps_left": left})
    assert Optimus().decide(seen).gpus.tolist() == [3, 3, 3]


@pytest.mark.parametrize(("trust", "first"), [(1.0, 0), (0.5, 0), (0.0, 1)])
def test_an_uncertain_end_counts_as_nearer_to_the_median_the_less_certain_it_is(
    trust: float, first: int
) -> None:
    """5, 17 (the geometric mean) or 60 steps, beside a certain job of 20."""
    known = {"steps_left": [5, 20, 100, 200], "end_confidence": [trust, 1, 1, 1]}
    seen = snapshot(ClusterSpec.of([1]), 4, known=known)
    reasons = Optimus(predictions="weighed").decide(seen).reasons
    assert reasons.measure is not None
    assert reasons.measure[0] == pytest.approx(5**trust * 60 ** (1 - trust))
    assert reasons.measure[1:].tolist() == [20, 100, 200]
    assert reasons.code.tolist().index(0) == first
    assert Optimus().decide(seen).gpus.tolist() == [1, 0, 0, 0]


@pytest.mark.parametrize("unknown", [float("nan"), float("inf")])
def test_weighing_changes_nothing_where_no_end_is_predicted_or_all_are_certain(
    unknown: float,
) -> None:
    for known in (
        {"steps_left": [10, 20, 30, unknown], "end_confidence": [1, 1, 1, 0]},
        {"steps_left": [10, 20, 30, unknown]},
    ):
        seen = snapshot(ClusterSpec.of([2]), 4, known=known)
        measures = [
            Optimus(predictions=each).decide(seen).reasons.measure for each in ("paper", "weighed")
        ]
        np.testing.assert_allclose(*measures)


def test_with_too_few_gpus_the_jobs_with_least_remaining_work_run() -> None:
    seen = snapshot(ClusterSpec.of([2]), 3, known={"steps_left": [30, 10, 20]})
    decision = Optimus().decide(seen)
    assert decision.gpus.tolist() == [0, 1, 1]
    assert decision.reasons.code[0] == Wait.MORE_LEFT
    assert decision.reasons.measure is not None
    assert (decision.reasons.measure[0], decision.reasons.bar) == (30.0, 20.0)


@pytest.mark.parametrize("unknown", [float("nan"), float("inf")])
def test_the_log_states_the_assumed_median_of_a_job_without_a_predicted_end(unknown: float) -> None:
    seen = snapshot(ClusterSpec.of([2]), 4, known={"steps_left": [10, 20, 30, unknown]})
    reasons = Optimus().decide(seen).reasons
    assert reasons.code.tolist() == [0, 0, Wait.MORE_LEFT, Wait.LEFT_UNKNOWN]
    assert reasons.measure is not None
    assert (reasons.measure[3], reasons.bar) == (20.0, 20.0)


def test_where_no_end_is_known_nothing_is_compared() -> None:
    seen = snapshot(ClusterSpec.of([1]), 2, known={"steps_left": [float("nan")] * 2})
    reasons = Optimus().decide(seen).reasons
    assert reasons.code.tolist() == [0, Wait.LEFT_UNKNOWN]
    assert np.isnan(reasons.measure).all()


def running(workers: list[int], left: list[float]) -> Snapshot:
    """Side by side on one machine of eight."""
    return snapshot(
        EIGHT,
        len(workers),
        max_workers=8,
        known={"steps_left": left},
        held_gpus=workers,
        held_workers=workers,
        places={job: Placement((0,), (held,)) for job, held in enumerate(workers)},
    )


def test_a_job_is_not_resized_for_less_than_that_costs() -> None:
    """With 5 and 3 instead of 4 each they would end at 20 and 33 s, not at 25 and 25."""
    seen = running([5, 3], [100.0, 100.0])
    assert Optimus(rescale_s=0).decide(seen).gpus.tolist() == [4, 4]
    kept = Optimus(rescale_s=9).decide(seen)
    assert kept.gpus.tolist() == [5, 3]
    assert not kept.places
    assert Optimus(rescale_s=4).decide(seen).gpus.tolist() == [4, 4]


def test_a_job_shrinks_if_another_job_would_wait() -> None:
    seen = snapshot(
        ClusterSpec.of([2]),
        2,
        max_workers=2,
        known={"steps_left": [10, 10]},
        held_gpus=[2, 0],
        held_workers=[2, 0],
        places={0: Placement((0,), (2,))},
    )
    assert Optimus(rescale_s=1000).decide(seen).gpus.tolist() == [1, 1]


def test_workers_and_servers_are_spread_evenly_over_the_fewest_machines() -> None:
    seen = snapshot(
        ClusterSpec.of([3, 3, 3]),
        1,
        min_workers=2,
        max_workers=2,
        min_servers=4,
        max_servers=4,
        server_gpus=1,
        known={"steps_left": 10},
    )
    assert Optimus().decide(seen).places == {0: Placement((0, 1), (3, 3))}
    assert not Optimus(spread_evenly=False).decide(seen).places


@pytest.mark.parametrize(
    ("name", "value"), [("interval_s", 0.0), ("rescale_s", -1.0), ("rescale_s", float("inf"))]
)
def test_impossible_times_are_refused(name: str, value: float) -> None:
    with pytest.raises(BadInput, match=name):
        Optimus(**{name: value})


@pytest.mark.parametrize("seed", others_in_soak(range(3), [0]))
def test_jobs_are_done_sooner_than_with_fair_shares(seed: int) -> None:
    recipe = ElasticRecipe(20, Poisson(240.0), OptimusJobs())
    workload = generate_elastic(recipe, np.random.default_rng(seed))
    fair, optimus = (
        (
            Experiment(name).run(workload, ClusterSpec.uniform(5, 8)).columns["end_us"]
            - workload.submit_us
        ).mean()
        for name in ("fair", "optimus")
    )
    assert optimus < 0.9 * fair
