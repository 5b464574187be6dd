"""What Themis thinks that ended jobs left behind is what they held, also where memory is short."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from example_count import examples
from motet.allocation.auction.legacy import legacies
from motet.allocation.auction.standings import Standings
from motet.domain.cluster import ClusterSpec
from motet.domain.decision import Decision
from motet.domain.policy import Policy
from motet.domain.snapshot import UNKNOWN, Snapshot
from motet.domain.units import SECOND_US
from motet.placement.planners import ConsolidatingPlanner
from motet.policies.themis import Themis
from motet.sim.replay.simulation import Simulation
from motet.sim.speeds.speed_model import SameEverywhere
from motet.sim.workload.workload import Workload

Rows = list[tuple[int, int, int, int, int]]
"""(submit_s, duration_s, GPUs, memory of each, experiment)"""


class Watched(Policy):
    """Counts the GPUs of ended jobs, by experiment."""

    knows_durations: ClassVar[bool] = True
    memory_columns: ClassVar[dict[str, int]] = Themis.memory_columns

    def __init__(self) -> None:
        self._policy = Themis(fairness=0.0, lease_s=20.0)
        self._known: dict[int, tuple[int, int]] = {}
        self.refused = 0

    def decide(self, snapshot: Snapshot) -> Decision:
        jobs, memory = snapshot.jobs, snapshot.memory
        self.refused += int(((memory["granted_gpus"] > 0) & (jobs.held_gpus == 0)).sum())
        due_us = int(memory["next_auction_us"].max(initial=0))
        of = Standings.of_snapshot(snapshot).of
        gpus, _ = legacies(of, memory["lease_us"], memory, due_us)
        for row in np.flatnonzero(jobs.experiment != UNKNOWN).tolist():
            assert gpus[of[row]] == self._left_to(int(jobs.experiment[row]), snapshot)
        decision = self._policy.decide(snapshot)
        self._known = self._standing(snapshot, decision)
        return decision

    def _left_to(self, experiment: int, snapshot: Snapshot) -> int:
        present = set(snapshot.jobs.number.tolist())
        is_left = experiment in {of for number, (of, _) in self._known.items() if number in present}
        gone = [
            gpus
            for number, (of, gpus) in self._known.items()
            if of == experiment and number not in present
        ]
        return sum(gone) if is_left else 0

    def _standing(self, snapshot: Snapshot, decision: Decision) -> dict[int, tuple[int, int]]:
        """Jobs that end later held their grants: a refused job does not end."""
        jobs = snapshot.jobs
        columns = (jobs.number, jobs.experiment, decision.gpus)
        return {
            number: (experiment, gpus)
            for number, experiment, gpus in zip(*(c.tolist() for c in columns), strict=True)
        }


def run(rows: Rows) -> Watched:
    jobs = Workload.of(
        [f"job-{number}" for number in range(len(rows))],
        [row[0] * SECOND_US for row in rows],
        [row[1] * SECOND_US for row in rows],
        [row[2] for row in rows],
        memory_bytes=[row[3] * row[2] for row in rows],
        experiments=[f"search-{row[4]}" if row[4] else "" for row in rows],
    )
    watched, cluster = Watched(), ClusterSpec.of([4, 4], memory_bytes=[70, 30])
    simulation = Simulation(jobs, cluster, watched, ConsolidatingPlanner(), SameEverywhere())
    assert simulation.run().is_finished.all()
    return watched


def test_memory_that_refuses_a_grant_makes_no_legacy() -> None:
    """Two GPUs with 30 each fit once on the machine of 70; a further winner is refused."""
    assert run([(0, 300, 2, 30, 1), (0, 300, 2, 30, 1), (10, 300, 1, 10, 1)]).refused


@settings(max_examples=examples(60))
@given(
    st.lists(
        st.tuples(
            st.integers(0, 40),
            st.integers(1, 60),
            st.integers(1, 2),
            st.sampled_from([0, 5, 20, 30]),
            st.integers(0, 2),
        ),
        min_size=1,
        max_size=10,
    )
)
def test_only_ended_jobs_leave_gpus_to_their_experiment(rows: Rows) -> None:
    run(rows)
