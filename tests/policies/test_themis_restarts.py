"""Under Themis jobs train, however short leases are beside what it costs to stop a job."""

from __future__ import annotations

from dataclasses import dataclass, field

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from example_count import examples
from motet.domain.cluster import ClusterSpec
from motet.domain.decision import Decision
from motet.domain.snapshot import Snapshot
from motet.domain.units import SECOND_US
from motet.placement.planners import ConsolidatingPlanner
from motet.policies.themis import Themis
from motet.sim.replay.outcome import Outcome
from motet.sim.replay.simulation import Simulation
from motet.sim.speeds.speed_model import SameEverywhere
from motet.sim.workload.workload import Workload
from soak_cases import others_in_soak

LEASE_S = 10.0


@dataclass(frozen=True)
class Watched(Themis):
    """Notes how long it is from an auction to the next one."""

    leases_us: set[int] = field(default_factory=set)

    def decide(self, snapshot: Snapshot) -> Decision:
        decision = super().decide(snapshot)
        due_us = decision.memory["next_auction_us"]
        if (due_us > snapshot.memory["next_auction_us"].max(initial=0)).any():
            self.leases_us.add(int(due_us[0]) - snapshot.now_us)
        return decision


def run(rows: list[tuple[int, int, int]], cost_s: int, policy: Themis) -> Outcome:
    """`rows`: (submit_s, duration_s, GPUs)."""
    jobs = Workload.of(
        [f"job-{number}" for number in range(len(rows))],
        [row[0] * SECOND_US for row in rows],
        [row[1] * SECOND_US for row in rows],
        [row[2] for row in rows],
    )
    speeds = SameEverywhere(cost_s * SECOND_US)
    return Simulation(jobs, ClusterSpec.of([2, 2]), policy, ConsolidatingPlanner(), speeds).run()


@pytest.mark.parametrize("cost_s", others_in_soak([5, 10, 30], [10]))
@pytest.mark.parametrize("fairness", [0.0, 0.8])
def test_no_more_time_is_spent_on_restoring_than_on_training(cost_s: int, fairness: float) -> None:
    outcome = run([(0, 500, 2)] * 6, cost_s, Themis(fairness=fairness, lease_s=LEASE_S))
    assert outcome.is_finished.all()
    assert outcome.columns["overhead_us"].sum() <= 6 * 500 * SECOND_US


@pytest.mark.parametrize(("cost_s", "leases_s"), [(0, {10}), (2, {10}), (5, {10, 20})])
def test_leases_grow_only_where_little_of_them_would_be_left_to_train_in(
    cost_s: int, leases_s: set[int]
) -> None:
    watched = Watched(fairness=0.0, lease_s=LEASE_S)
    run([(0, 200, 1)] * 8, cost_s, watched)
    assert watched.leases_us == {lease_s * SECOND_US for lease_s in leases_s}


@settings(max_examples=examples(60))
@given(
    rows=st.lists(
        st.tuples(st.integers(0, 200), st.integers(1, 300), st.integers(1, 4)),
        min_size=1,
        max_size=9,
    ),
    cost_s=st.sampled_from([9, 20, 60]),
    fairness=st.sampled_from([0.0, 0.8, 1.0]),
)
def test_every_job_ends_in_time_linear_in_the_work(
    rows: list[tuple[int, int, int]], cost_s: int, fairness: float
) -> None:
    outcome = run(rows, cost_s, Themis(fairness=fairness, lease_s=LEASE_S))
    assert outcome.is_finished.all()
    work_s = sum(duration_s for _, duration_s, _ in rows)
    assert outcome.columns["end_us"].max() <= (200 + 10 * (work_s + 60 * len(rows))) * SECOND_US
