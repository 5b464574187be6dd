"""Groups of any size on the same GPUs: simulator, slow processes, captures, logs."""

from __future__ import annotations

from collections import Counter
from functools import partial
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from crowding_policy import Crowding
from example_count import examples
from fake_driver import drive
from motet.domain.cluster import ClusterSpec
from motet.domain.events import Failed, Stopped
from motet.domain.log_entry import OtherJobs
from motet.domain.units import FULL_SPEED, SECOND_US
from motet.engine.journal.decision_log import DecisionLog
from motet.placement.planners import ConsolidatingPlanner
from motet.sim.replay.outcome import Outcome
from motet.sim.replay.simulation import Simulation
from motet.sim.speeds.speed_model import SameEverywhere
from small_traces import Rows, workload_of

CLUSTER = ClusterSpec.of([4, 2])
POLICIES = {
    "placed by the planner": Crowding,
    "on named machines": partial(Crowding, names_places=True),
    "of five jobs": partial(Crowding, most=5),
    "of one job": partial(Crowding, most=1),
}
every_policy = pytest.mark.parametrize("policy", POLICIES.values(), ids=POLICIES)
workloads = st.lists(
    st.tuples(st.integers(0, 20), st.integers(1, 30), st.sampled_from([1, 2, 2, 4])),
    min_size=1,
    max_size=12,
)


def simulation_of(rows: Rows, policy: Any, log: DecisionLog | None = None) -> Simulation:
    return Simulation(
        workload_of(rows),
        CLUSTER,
        policy(),
        ConsolidatingPlanner(),
        SameEverywhere(2 * SECOND_US),
        journal=log,
    )


def outcome_of(rows: Rows, policy: Any, log: DecisionLog | None = None) -> Outcome:
    return simulation_of(rows, policy, log).run()


@every_policy
@settings(max_examples=examples(40))
@given(rows=workloads)
def test_gpus_are_given_out_once_and_shared_evenly(policy: Any, rows: Rows) -> None:
    outcome = outcome_of(rows, policy)
    holds = outcome.holds
    assert outcome.is_finished.all()
    for now_us in np.unique(holds.start_us).tolist():
        now = (holds.start_us <= now_us) & (now_us < holds.end_us)
        used = np.bincount(holds.machine[now], (holds.gpus / holds.sharers)[now], CLUSTER.size)
        assert (used <= CLUSTER.gpus + 1e-9).all()
    held_us = (holds.end_us - holds.start_us) / holds.sharers * holds.gpus
    held = np.bincount(holds.job, held_us, len(rows))
    off = np.abs(held - outcome.columns["attained_gpu_us"])
    assert off.max() <= 8 * (len(holds) + len(np.unique(holds.start_us)))


@every_policy
@settings(max_examples=examples(40))
@given(rows=workloads)
def test_jobs_of_a_group_are_on_the_same_machines_at_the_same_time(policy: Any, rows: Rows) -> None:
    holds = outcome_of(rows, policy).holds
    company = holds.shared_with()
    assert [1 + len(others) for others in company] == holds.sharers.tolist()
    columns = (holds.job, holds.machine, holds.gpus, holds.start_us, holds.end_us)
    there = list(zip(*(column.tolist() for column in columns), strict=True))
    for (_, *rest), others in zip(there, company, strict=True):
        assert {(other, *rest) for other in others} <= set(there)


@every_policy
@settings(max_examples=examples(40))
@given(rows=workloads, grace_s=st.integers(0, 5), crashes=st.lists(st.integers(0, 60), max_size=4))
@example(
    rows=[(0, 1, 1), (0, 12, 2), (0, 15, 2), (0, 14, 2), (0, 15, 2), (13, 4, 1)],
    grace_s=1,
    crashes=[],
)
def test_all_jobs_end_although_stops_take_time_and_some_crash(
    policy: Any, rows: Rows, grace_s: int, crashes: list[int]
) -> None:
    log = DecisionLog()
    times = [(submit * SECOND_US, duration * SECOND_US, gpus) for submit, duration, gpus in rows]
    ends = [
        (second * SECOND_US, Failed(second % 12, "error") if second % 2 else Stopped(second % 12))
        for second in crashes
    ]
    drive(
        times,
        CLUSTER,
        policy(),
        ConsolidatingPlanner(),
        log,
        grace_s * SECOND_US,
        lambda _: None,
        ends,
        trains_in_grace=False,
    )
    ended = [entry.job for entry in log if entry.event in ("finish", "fail")]
    assert sorted(ended) == list(range(len(rows)))


@every_policy
@settings(max_examples=examples(25))
@given(rows=workloads, at_s=st.integers(1, 40))
def test_a_captured_simulation_continues_as_if_it_had_not_been_captured(
    policy: Any, rows: Rows, at_s: int
) -> None:
    whole, first, second = (simulation_of(rows, policy) for _ in range(3))
    first.run(until_us=at_s * SECOND_US)
    second.restore(first.capture())
    expected, found = whole.run(), second.run()
    for name, column in expected.columns.items():
        np.testing.assert_array_equal(found.columns[name], column, err_msg=name)


def test_jobs_on_the_same_gpus_run_at_equal_parts_of_the_speed() -> None:
    """Four jobs of 10 s on the same GPUs take 40 s; the longest one gains when the others end."""
    outcome = Simulation(
        workload_of([(0, 10, 4), (0, 10, 4), (0, 10, 4), (0, 20, 4)]),
        ClusterSpec.of([4]),
        Crowding(most=4),
        ConsolidatingPlanner(),
        SameEverywhere(),
    ).run()
    ends_s = outcome.columns["end_us"] / SECOND_US
    attained_gpu_s = outcome.columns["attained_gpu_us"] / SECOND_US
    assert ends_s.tolist() == [40, 40, 40, 50]
    assert attained_gpu_s.tolist() == [40, 40, 40, 80]


def test_the_log_names_all_jobs_on_the_same_gpus() -> None:
    log = DecisionLog()
    outcome_of([(0, 10, 4), (0, 10, 4), (0, 10, 4)], Crowding, log)
    starts = [entry for entry in log if entry.event == "start"]
    assert [entry.others for entry in starts] == [
        OtherJobs(((1, 4), (2, 4)), 2),
        OtherJobs(((0, 4), (2, 4)), 2),
        OtherJobs(((0, 4), (1, 4)), 2),
    ]


def test_a_policy_sees_how_many_jobs_share_and_at_what_speed_each_runs() -> None:
    seen = Counter[tuple[int, int]]()

    class Looking(Crowding):
        def decide(self, snapshot: Any) -> Any:
            jobs = snapshot.jobs
            runs = jobs.held_gpus > 0
            seen.update(zip(jobs.sharers[runs].tolist(), jobs.rate[runs].tolist(), strict=True))
            return super().decide(snapshot)

    outcome_of([(0, 30, 4)] * 3, Looking)
    assert set(seen) <= {(3, FULL_SPEED // 3), (2, FULL_SPEED // 2), (1, FULL_SPEED)}
    assert (3, FULL_SPEED // 3) in seen
