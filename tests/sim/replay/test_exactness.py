"""Every job starts, ends and is preempted when the reference says."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from example_count import examples
from integer_seconds import simulate
from motet.domain.cluster import ClusterSpec
from motet.domain.units import SECOND_US
from motet.placement.planners import CountPlanner
from motet.policies import fifo, shortest, tiresias
from motet.sim.replay.outcome import Outcome
from motet.sim.replay.simulation import Simulation
from motet.sim.speeds.speed_model import SameEverywhere
from motet.sim.workload.workload import Workload

Rows = list[tuple[int, int, int]]
GPUS = 6
POLICIES = fifo.POLICIES | shortest.POLICIES


def replay(rows: Rows, policy: Any, gpus: int = GPUS) -> Outcome:
    workload = Workload.of(
        [str(number) for number in range(len(rows))],
        [row[0] * SECOND_US for row in rows],
        [row[1] * SECOND_US for row in rows],
        [row[2] for row in rows],
    )
    cluster = ClusterSpec.uniform(1, gpus)
    return Simulation(workload, cluster, policy, CountPlanner(), SameEverywhere()).run()


def story(outcome: Outcome) -> list[tuple[int, int, int, int]]:
    names = ("start_us", "end_us", "preemptions", "promotions")
    start, end, preemptions, promotions = (outcome.columns[name].tolist() for name in names)
    starts = [time_us / SECOND_US for time_us in start]
    ends = [time_us / SECOND_US for time_us in end]
    return list(zip(starts, ends, preemptions, promotions, strict=True))


def expected(rows: Rows, policy: str, **options: Any) -> list[tuple[int, int, int, int]]:
    jobs = simulate(rows, GPUS, policy, **options)
    return [(job.start, job.end, job.preemptions, job.promotions) for job in jobs]


workloads = st.lists(
    st.tuples(st.integers(0, 40), st.integers(1, 30), st.integers(1, GPUS)), min_size=1, max_size=25
).map(sorted)


@pytest.mark.parametrize("name", ["fifo", "best-effort", "srtf", "srsf"])
@given(rows=workloads)
def test_a_policy_without_queues_matches_the_reference(name: str, rows: Rows) -> None:
    assert story(replay(rows, POLICIES[name]())) == expected(rows, name)


@settings(max_examples=examples(300))
@given(
    rows=workloads,
    limits=st.lists(st.integers(1, 120), max_size=3, unique=True, min_size=1)
    .map(sorted)
    .map(tuple),
    knob=st.sampled_from([math.inf, 0.5, 1.0, 3.0]),
)
def test_attained_service_in_queues_matches_the_reference(
    rows: Rows, limits: tuple[int, ...], knob: float
) -> None:
    policy = tiresias.TiresiasLas(thresholds=limits, promote_knob=knob)
    assert story(replay(rows, policy)) == expected(rows, "las", limits=limits, knob=knob)


@pytest.mark.parametrize(
    ("policy", "ends_s"),
    [
        (shortest.ShortestRemainingService(), (2, 10, 16)),
        (tiresias.TiresiasLas((), within_queue="job_id", quantum_s=1), (5, 14, 16)),
        (tiresias.TiresiasLas((), quantum_s=1), (6, 14, 16)),
        (tiresias.TiresiasGittins((), quantum_s=1, history=(4, 8, 12)), (2, 10, 16)),
        (tiresias.TiresiasGittins((4,), history=(4, 8, 12)), (2, 12, 16)),
    ],
    ids=["srsf", "las", "las, running first", "gittins", "discretised gittins"],
)
def test_the_worked_example_of_the_paper(policy: Any, ends_s: tuple[int, ...]) -> None:
    outcome = replay([(0, 2, 2), (0, 8, 1), (0, 6, 2)], policy, gpus=2)
    np.testing.assert_array_equal(outcome.columns["end_us"], np.array(ends_s) * SECOND_US)
