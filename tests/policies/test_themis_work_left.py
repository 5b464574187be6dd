"""What Themis believes that jobs still need is what they do need, whatever happens to them."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import ClassVar

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from elastic_workloads import Row, elastic_workload, linear
from example_count import examples
from motet.allocation.auction.standings import Standings
from motet.domain.cluster import ClusterSpec
from motet.domain.decision import Decision
from motet.domain.policy import Policy
from motet.domain.snapshot import Snapshot
from motet.domain.units import SECOND_US
from motet.engine.measurements.fitters import fitted_measurements
from motet.placement.planners import ConsolidatingPlanner
from motet.policies.themis import Themis
from motet.sim.replay.machine_speeds import MachinePaces
from motet.sim.replay.simulation import Simulation
from motet.sim.replay.slow_machines import PaceChange
from motet.sim.speeds.speed_model import SameEverywhere

MACHINES = 2


class Clockwork:
    """The truth, from what was held from decision to decision: twice the GPUs, twice as fast, and
    as slow as the slowest machine."""

    def __init__(self, rows: list[Row], cost_s: int, changes: list[PaceChange]) -> None:
        order = sorted(range(len(rows)), key=lambda row: rows[row].submit_s)
        self.left_s = {
            number: rows[row].steps / rows[row].workers if rows[row].steps else rows[row].duration_s
            for number, row in enumerate(order)
        }
        self._cost_us = cost_s * SECOND_US
        self._changes = changes
        self._before_us = 0

    def advance(self, snapshot: Snapshot) -> None:
        jobs = snapshot.jobs
        for row in np.flatnonzero(jobs.held_gpus > 0).tolist():
            number, start_us = int(jobs.number[row]), int(jobs.last_start_us[row])
            if start_us > jobs.first_start_us[row]:
                start_us += self._cost_us
            begun_us = max(start_us, self._before_us)
            parts = int(jobs.held_gpus[row]) / int(jobs.gpus[row])
            machines = snapshot.placements[number].machines
            self.left_s[number] -= parts * self._trained_s(begun_us, snapshot.now_us, machines)
        self._before_us = snapshot.now_us

    def _trained_s(self, begun_us: int, now_us: int, machines: tuple[int, ...]) -> float:
        times = [begun_us, *(each.time_us for each in self._changes), now_us]
        times = sorted(time_us for time_us in times if begun_us <= time_us <= now_us)
        return sum(
            (end_us - start_us) / SECOND_US / max(self._pace(start_us, each) for each in machines)
            for start_us, end_us in pairwise(times)
        )

    def _pace(self, now_us: int, machine: int) -> float:
        past = [each for each in self._changes if each.time_us <= now_us]
        return ([1.0] + [each.times_as_long for each in past if each.machine == machine])[-1]


class Watched(Policy):
    """Compares at every decision what it is to believe with the truth."""

    knows_durations: ClassVar[bool] = True
    wants_estimates: ClassVar[bool] = True
    memory_columns: ClassVar[dict[str, int]] = Themis.memory_columns

    def __init__(self, truth: Clockwork) -> None:
        self._policy, self._truth = Themis(lease_s=60.0, fairness=0.0), truth

    def decide(self, snapshot: Snapshot) -> Decision:
        self._truth.advance(snapshot)
        left_s = [self._truth.left_s[number] for number in snapshot.jobs.number.tolist()]
        believed_s = Standings.of_snapshot(snapshot).left_us / SECOND_US
        # Rates of elastic jobs are told in ten-thousandths.
        np.testing.assert_allclose(believed_s, left_s, rtol=0.002, atol=0.002)
        return self._policy.decide(snapshot)


def check(
    rows: list[Row], cost_s: int = 0, gigabytes: int = 0, changes: list[PaceChange] | None = None
) -> None:
    """`gigabytes`: that each GPU takes, of 10 beside each machine's two of four GPUs."""
    jobs = elastic_workload(rows)
    memory = [5, 10] if gigabytes else 0
    jobs = replace(jobs, memory_bytes=gigabytes * jobs.gpus)
    known = changes or []
    simulation = Simulation(
        jobs,
        ClusterSpec.of([4] * MACHINES, memory_bytes=memory),
        Watched(Clockwork(rows, cost_s, known)),
        ConsolidatingPlanner(),
        SameEverywhere(cost_s * SECOND_US),
        measurements=fitted_measurements(),
        paces=MachinePaces(iter(known)),
    )
    assert simulation.run().is_finished.all()


def rigid(submit_s: int, duration_s: int, gpus: int) -> Row:
    return Row(submit_s, 0, gpus, gpus, duration_s=duration_s)


MANY = [rigid(20 * each, 150 + 60 * each, 1 + each % 3) for each in range(12)]


def test_where_memory_counts_no_time_is_taken_off_twice() -> None:
    check(MANY, gigabytes=1)


def test_a_machine_that_is_slow_for_a_while_costs_no_more_than_that_while() -> None:
    changes = [PaceChange(100 * SECOND_US, 0, 4.0), PaceChange(190 * SECOND_US, 0, 1.0)]
    check(MANY, cost_s=2, changes=changes)


rows_of_jobs = st.lists(
    st.one_of(
        st.builds(rigid, st.integers(0, 300), st.integers(10, 400), st.integers(1, 4)),
        st.builds(
            lambda submit_s, seconds, workers: linear(
                submit_s, seconds * workers, workers, 2 * workers
            ),
            st.integers(0, 300),
            st.integers(10, 400),
            st.integers(1, 3),
        ),
    ),
    min_size=1,
    max_size=10,
)
paces = st.lists(
    st.builds(
        PaceChange,
        st.integers(0, 900 * SECOND_US),
        st.integers(0, MACHINES - 1),
        st.sampled_from([1.0, 2.0, 4.0]),
    ),
    max_size=6,
    unique_by=lambda change: change.time_us,
)


@settings(max_examples=examples(60))
@given(
    rows=rows_of_jobs,
    cost_s=st.sampled_from([0, 2]),
    gigabytes=st.sampled_from([0, 1]),
    changes=paces,
)
def test_what_is_left_is_known_at_every_decision(
    rows: list[Row], cost_s: int, gigabytes: int, changes: list[PaceChange]
) -> None:
    check(rows, cost_s, gigabytes, sorted(changes))
