"""Elastic jobs train exactly as fast as their speed functions say, whatever happens to them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from elastic_workloads import LINEAR, Row, elastic_workload, linear
from motet.domain.cluster import ClusterSpec
from motet.domain.decision import Decision, Reasons
from motet.domain.policy import Policy
from motet.domain.snapshot import Placement, Snapshot
from motet.domain.units import NEVER_US, SECOND_US
from motet.domain.wait import Wait
from motet.engine.policy_loading.faults import BrokenPolicy
from motet.estimate.exchange import Gang
from motet.placement.planners import ConsolidatingPlanner
from motet.sim.replay.outcome import Outcome
from motet.sim.replay.simulation import Simulation
from motet.sim.speeds.speed_model import SameEverywhere, Slowdown
from motet.sim.workload.workload import Workload


@dataclass(frozen=True)
class Scripted(Policy):
    """`plan`: from which second on the only job has how many workers and servers (0: none)."""

    plan: Mapping[int, tuple[int, int]]
    server_gpus: int = 0

    def decide(self, snapshot: Snapshot) -> Decision:
        now_us, size = snapshot.now_us, len(snapshot.jobs)
        passed = [second for second in self.plan if second * SECOND_US <= now_us]
        coming = [second * SECOND_US for second in self.plan if second * SECOND_US > now_us]
        workers, servers = (np.full(size, n) for n in self.plan[max(passed)])
        gpus = workers + servers * self.server_gpus
        reasons = Reasons(np.where(gpus > 0, 0, int(Wait.ORDER)), gpus, np.arange(size))
        return Decision(
            gpus, reasons, workers=workers, servers=servers, recheck_at_us=min([*coming, NEVER_US])
        )


def run(workload: Workload, policy: Any, gpus: int = 16, **costs: int) -> Outcome:
    speeds = SameEverywhere(**costs)
    cluster = ClusterSpec.uniform(2, gpus // 2)
    return Simulation(workload, cluster, policy, ConsolidatingPlanner(), speeds).run()


def steps_of(outcome: Outcome) -> list[tuple[int, int, float, float]]:
    trained = outcome.trained
    columns = (trained.start_us, trained.end_us, trained.first_step, trained.last_step)
    return list(zip(*(column.tolist() for column in columns), strict=True))


speeds = st.tuples(*[st.floats(1e-6, 100.0)] * 5, st.integers(1, 512))
roles = st.tuples(st.integers(1, 8), st.integers(1, 4))


@given(steps=st.integers(1, 10**6), mode=st.sampled_from([1, 2]), speed=speeds, now=roles)
def test_with_one_allocation_a_job_ends_after_steps_over_speed(
    steps: int, mode: int, speed: tuple[float, ...], now: tuple[int, int]
) -> None:
    workload = elastic_workload([Row(0, steps, 3, 8, 2, 4, 1, mode, speed)])
    assert workload.work is not None
    true = Fraction(float(workload.work.speeds.steps_per_s(*now)[0]))
    outcome = run(workload, Scripted({0: now}, 1))
    exact_us = steps * SECOND_US / true
    assert outcome.columns["end_us"][0] == -(-exact_us.numerator // exact_us.denominator)
    assert steps_of(outcome) == [(0, outcome.columns["end_us"][0], 0.0, float(steps))]


@given(
    steps=st.integers(1, 10**5),
    speed=speeds,
    changes=st.dictionaries(st.integers(1, 400), st.one_of(st.just((0, 0)), roles), max_size=12),
    cost_us=st.integers(0, 5 * SECOND_US),
)
def test_no_work_is_lost_or_made_by_any_sequence_of_rescales(
    steps: int, speed: tuple[float, ...], changes: dict[int, tuple[int, int]], cost_us: int
) -> None:
    plan = {0: (1, 1), **changes, 401: (8, 4)}
    workload = elastic_workload([Row(0, steps, 3, 8, 2, 4, 1, 2, speed)])
    outcome = run(workload, Scripted(plan, 1), cost_us=cost_us)
    assert workload.work is not None
    trained, done = outcome.trained, 0.0
    for index, (start_us, end_us, first, last) in enumerate(steps_of(outcome)):
        now = trained.workers[index], trained.servers[index]
        true = float(workload.work.speeds.steps_per_s(*now)[0])
        assert first == pytest.approx(done, rel=1e-12, abs=1e-9)
        is_last = index == len(trained) - 1
        slack = true / SECOND_US if is_last else 0.0
        assert last - first == pytest.approx(
            true * (end_us - start_us) / SECOND_US, rel=1e-9, abs=1e-9 + slack
        )
        done = last
    assert done == steps
    trained_us = int((trained.end_us - trained.start_us).sum())
    columns = outcome.columns
    assert trained_us + columns["overhead_us"][0] == columns["executed_us"][0]


def test_an_allocation_that_changes_costs_a_rescale_and_a_pause_a_resumption() -> None:
    plan = {0: (2, 0), 10: (4, 0), 20: (0, 0), 25: (4, 0)}
    outcome = run(
        elastic_workload([linear(0, 100, 4)]), Scripted(plan), cost_us=SECOND_US, rescaling_us=3
    )
    second = SECOND_US
    assert steps_of(outcome) == [
        (0, 10 * second, 0.0, 20.0),
        (10 * second + 3, 20 * second, 20.0, 60 - 12 / second),
        (26 * second, 36 * second + 3, 60 - 12 / second, 100.0),
    ]
    counts = [int(outcome.columns[name][0]) for name in ("rescales", "migrations", "preemptions")]
    assert counts == [1, 0, 1]
    assert outcome.columns["overhead_us"][0] == second + 3


@dataclass(frozen=True)
class TwiceAsFar(SameEverywhere):
    """Two machines are so far apart that communicating takes twice as long."""

    def slowdown(self, model: int, placement: Placement, gang: Gang) -> Slowdown:
        return Slowdown(communicating=float(len(placement.machines)))


def test_being_spread_makes_communication_longer_and_not_computing() -> None:
    row = Row(0, 10, 4, 4, mode=2, speed=(4.0, 1.0, 0.0, 0.25, 0.0, 1.0))
    for gpus, seconds in ((8, 10 * (1 + 1 + 1)), (4, 10 * (1 + 1 + 2))):
        cluster = ClusterSpec.uniform(2, gpus // 2)
        policy = Scripted({0: (4, 0)})
        simulation = Simulation(
            elastic_workload([row]), cluster, policy, ConsolidatingPlanner(), TwiceAsFar()
        )
        end_us = simulation.run().columns["end_us"][0]
        assert end_us == pytest.approx(seconds * SECOND_US, abs=1)


def test_a_server_takes_the_place_of_a_worker() -> None:
    plan = {0: (3, 1), 10: (2, 2)}
    outcome = run(elastic_workload([Row(0, 50, 3, 3, 1, 2, 1)]), Scripted(plan, 1))
    assert outcome.trained.workers.tolist() == [3, 2]
    assert outcome.trained.servers.tolist() == [1, 2]
    assert outcome.columns["end_us"][0] == 20 * SECOND_US


@pytest.mark.parametrize(
    ("now", "said"),
    [
        ((9, 1), "9 workers and 1 servers on 10 GPUs; it takes 1 to 8 workers of 1 and 1 to 4"),
        ((3, 5), "3 workers and 5 servers on 8 GPUs"),
        ((0, 2), "0 workers and 2 servers on 2 GPUs"),
    ],
)
def test_more_or_less_than_a_job_can_use_is_refused(now: tuple[int, int], said: str) -> None:
    workload = elastic_workload([Row(0, 50, 3, 8, 2, 4, 1)])
    with pytest.raises(BrokenPolicy, match=said):
        run(workload, Scripted({0: now}, 1))


@dataclass(frozen=True)
class OnlyGpus(Policy):
    """Says nothing of workers and servers."""

    gpus: int

    def decide(self, snapshot: Snapshot) -> Decision:
        size = len(snapshot.jobs)
        gpus, zeros = np.full(size, self.gpus), np.zeros(size, dtype=np.int64)
        return Decision(gpus, Reasons(zeros, zeros, np.arange(size)))


def test_a_policy_may_say_only_how_many_gpus() -> None:
    outcome = run(elastic_workload([Row(0, 50, 3, 8, 2, 4, 1)]), OnlyGpus(7))
    assert (outcome.trained.workers[0], outcome.trained.servers[0]) == (5, 2)


def test_a_rigid_job_beside_an_elastic_one_runs_as_without() -> None:
    rows = [linear(0, 100, 4), Row(0, 0, 2, 2, duration_s=7)]
    outcome = run(elastic_workload(rows), _Everything())
    assert outcome.columns["end_us"].tolist() == [25 * SECOND_US, 7 * SECOND_US]
    assert set(outcome.trained.job.tolist()) == {0}


@dataclass(frozen=True)
class _Everything(Policy):
    """Gives every job its full request."""

    seen: list[Snapshot] = field(default_factory=list)

    def decide(self, snapshot: Snapshot) -> Decision:
        size = len(snapshot.jobs)
        zeros = np.zeros(size, dtype=np.int64)
        return Decision(snapshot.jobs.gpus.copy(), Reasons(zeros, zeros, np.arange(size)))


def test_the_duration_of_an_elastic_job_is_that_on_its_full_request() -> None:
    workload = elastic_workload([Row(0, 50, 4, 8, speed=LINEAR)])
    assert workload.duration_us.tolist() == [12_500_000]
    assert workload.gpus.tolist() == [4]
