"""Queues of attained service: when jobs are demoted and promoted, and how long they may starve."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from every_second import Trial, count_of, run_every_second
from example_count import examples
from motet.domain.arrays import Ints
from motet.domain.cluster import ClusterSpec
from motet.domain.decision import Decision
from motet.domain.snapshot import Snapshot
from motet.domain.units import SECOND_US
from motet.placement.planners import CountPlanner
from motet.policies.tiresias import TiresiasGittins, TiresiasLas
from motet.sim.replay.outcome import Outcome
from motet.sim.replay.simulation import Simulation
from motet.sim.speeds.speed_model import SameEverywhere
from motet.sim.workload.workload import Workload

Rows = list[tuple[int, int, int]]
"""Submission, duration and GPUs of each job; times in the unit of `replay`."""

GPUS = 6
LONG_AND_SHORT = [(0, 5_000, 1), (0, 400, 1)]


def replay(
    rows: Rows, policy: Any, gpus: int = GPUS, unit_us: int = SECOND_US, cost_us: int = 0
) -> Outcome:
    workload = Workload.of(
        [str(number) for number in range(len(rows))],
        [row[0] * unit_us for row in rows],
        [row[1] * unit_us for row in rows],
        [row[2] for row in rows],
    )
    cluster = ClusterSpec.uniform(1, gpus)
    return Simulation(workload, cluster, policy, CountPlanner(), SameEverywhere(cost_us)).run()


def found(outcome: Outcome) -> list[tuple[float, float, int, int]]:
    """Start and end in seconds, preemptions, promotions of each job."""
    names = ("start_us", "end_us", "preemptions", "promotions")
    start, end, preemptions, promotions = (outcome.columns[name].tolist() for name in names)
    starts = [time_us / SECOND_US for time_us in start]
    ends = [time_us / SECOND_US for time_us in end]
    return list(zip(starts, ends, preemptions, promotions, strict=True))


def expected(trials: list[Trial]) -> list[tuple[float, float, int, int]]:
    return [
        (each.start, each.end, count_of(each, "preempted"), count_of(each, "promoted"))
        for each in trials
    ]


limit_lists = (
    st.lists(st.integers(1, 120), max_size=3, unique=True, min_size=1).map(sorted).map(tuple)
)


@settings(max_examples=examples(400))
@given(
    rows=st.lists(
        st.tuples(st.integers(0, 60), st.integers(1, 60), st.integers(1, GPUS)),
        min_size=1,
        max_size=20,
    ).map(sorted),
    limits=limit_lists,
    knob=st.sampled_from([0.1, 0.5, 1.0, 2.5, 3.0, 8.0, 1e300, float("inf")]),
)
def test_every_job_moves_when_a_decision_at_every_second_moves_it(
    rows: Rows, limits: tuple[int, ...], knob: float
) -> None:
    outcome = replay(rows, TiresiasLas(thresholds=limits, promote_knob=knob))
    assert found(outcome) == expected(run_every_second(rows, GPUS, limits, knob))


@pytest.mark.parametrize(("knob", "first_promotion"), [(3.0, 400), (8.0, 900)])
def test_a_promotion_needs_no_other_event(knob: float, first_promotion: int) -> None:
    """Until the short job is promoted nothing else occurs: it has run 100 s and waited 100 s, when
    the long one takes the only GPU at 200 s.
    """
    trials = run_every_second(LONG_AND_SHORT, 1, (100,), knob)
    assert trials[1].history[:3] == ["demoted 200", "preempted 200", f"promoted {first_promotion}"]
    outcome = replay(LONG_AND_SHORT, TiresiasLas((100.0,), promote_knob=knob), gpus=1)
    assert found(outcome) == expected(trials)


def test_another_knob_gives_the_jobs_other_ends() -> None:
    ends = [
        tuple(
            replay(LONG_AND_SHORT, TiresiasLas((100.0,), knob), gpus=1).columns["end_us"].tolist()
        )
        for knob in (3.0, 8.0, float("inf"))
    ]
    assert len(set(ends)) == 3


@dataclass(frozen=True)
class Watched(TiresiasLas):
    """Measures how long jobs below the first queue wait after their promotion is due.

    `overdue_us`: at every decision, for every such job that waits. `on_loss_us`: by job, how long
    it was overdue when it last lost its GPUs; it can be since the wait in the first queue counts.
    """

    overdue_us: list[int] = field(default_factory=list)
    on_loss_us: dict[int, int] = field(default_factory=dict)

    def decide(self, snapshot: Snapshot) -> Decision:
        jobs, memory = snapshot.jobs, snapshot.memory
        overdue_us = self._overdue_us(snapshot, memory)
        for row in np.flatnonzero((memory["level"] > 0) & (jobs.held_gpus == 0)).tolist():
            self.overdue_us.append(overdue_us[row] - self.on_loss_us[int(jobs.number[row])])
        decision = super().decide(snapshot)
        after_us = self._overdue_us(snapshot, memory | decision.memory)
        for row in np.flatnonzero((jobs.held_gpus > 0) & (decision.gpus == 0)).tolist():
            self.on_loss_us[int(jobs.number[row])] = max(after_us[row], 0)
        return decision

    def _overdue_us(self, snapshot: Snapshot, memory: Mapping[str, Ints]) -> list[int]:
        ran_us = (snapshot.jobs.executed_us - memory["executed_before_us"]).tolist()
        waited_us = (snapshot.jobs.waiting_us - memory["waited_us"]).tolist()
        knob = Fraction(str(self.promote_knob))
        return [int(waited - knob * ran) for ran, waited in zip(ran_us, waited_us, strict=True)]


@settings(max_examples=examples(100))
@given(
    rows=st.lists(
        st.tuples(st.integers(0, 60_000), st.integers(1, 60_000), st.integers(1, GPUS)),
        min_size=2,
        max_size=10,
    ).map(sorted),
    limits=limit_lists,
    knob=st.sampled_from([0.3, 1.0, 3.0]),
    cost_us=st.sampled_from([0, 700_000]),
)
def test_no_job_starves_below_the_first_queue(
    rows: Rows, limits: tuple[int, ...], knob: float, cost_us: int
) -> None:
    """It returns to the first queue at most `clock_s` after its wait is `knob` times its running
    time, or after it lost its GPUs with such a wait behind it.
    """
    policy = Watched(thresholds=limits, promote_knob=knob)
    replay([*rows, (60_000, 200_000, GPUS)], policy, unit_us=1_000, cost_us=cost_us)
    assert max(policy.overdue_us, default=0) <= SECOND_US


@given(knob=st.sampled_from([1.0, 3.0]), quantum_s=st.sampled_from([5.0, 60.0]))
def test_promotions_wait_for_the_quantum(knob: float, quantum_s: float) -> None:
    policy = Watched(thresholds=(100.0,), promote_knob=knob, quantum_s=quantum_s)
    outcome = replay(LONG_AND_SHORT, policy, gpus=1)
    assert outcome.columns["promotions"].sum() > 0
    assert max(policy.overdue_us) <= quantum_s * SECOND_US


class AtEveryQuantum(TiresiasLas):
    """Decides at every multiple of its quantum."""

    @property
    def _is_fixed_between_moves(self) -> bool:
        return False


@settings(max_examples=examples(60))
@given(
    rows=st.lists(
        st.tuples(st.integers(0, 60_000), st.integers(1, 60_000), st.integers(1, GPUS)),
        min_size=2,
        max_size=10,
    ).map(sorted),
    limits=limit_lists,
    knob=st.sampled_from([float("inf"), 0.3, 3.0]),
    within=st.sampled_from(["running_first", "first_start", "job_id"]),
    quantum_s=st.sampled_from([0.3, 1.0, 2.5]),
    cost_us=st.sampled_from([0, 700_000]),
)
def test_quanta_in_which_no_queue_changes_need_no_decision(
    rows: Rows, limits: tuple[int, ...], knob: float, within: Any, quantum_s: float, cost_us: int
) -> None:
    given = {"thresholds": limits, "promote_knob": knob, "quantum_s": quantum_s}
    fewer, every = (
        replay(rows, kind(within_queue=within, **given), unit_us=1_000, cost_us=cost_us)
        for kind in (TiresiasLas, AtEveryQuantum)
    )
    assert found(fewer) == found(every)
    assert fewer.decision_count <= every.decision_count


def test_a_job_that_waits_under_a_long_one_is_decided_about_once_per_queue() -> None:
    rows = [(0, 10_000, GPUS), (0, 10_000, GPUS)]
    outcome = replay(rows, TiresiasLas(thresholds=(3_000.0,), quantum_s=1.0))
    assert outcome.decision_count < 20


@pytest.mark.parametrize(
    ("within", "resumed_s"),
    [("running_first", [None, 13.0]), ("first_start", [13.0, None]), ("job_id", [13.0, None])],
)
def test_the_jobs_of_a_queue_resume_as_they_entered_it_or_first_started(
    within: Any, resumed_s: list[float | None]
) -> None:
    """Job 0 starts first, job 1 enters the second queue first; both lose their GPUs at 10 s, and at
    13 s only two are free."""
    rows = [(0, 20, 1), (1, 20, 2), (10, 3, 3), (11, 9, 1)]
    outcome = replay(rows, TiresiasLas((10.0,), within_queue=within), gpus=3)
    ends = [end for _, end, _, _ in found(outcome)]
    left = [20 - 10, 20 - 9]
    for job, start_s in enumerate(resumed_s):
        assert (ends[job] == left[job] + 13.0) is (start_s is not None)


def test_the_gittins_policy_promotes_alike() -> None:
    policy = TiresiasGittins((100.0,), promote_knob=3.0, history=(400.0, 5_000.0))
    outcome = replay(LONG_AND_SHORT, policy, gpus=1)
    assert found(outcome) == expected(run_every_second(LONG_AND_SHORT, 1, (100,), 3.0))
