"""Jobs that share machines and take turns advance by eq. 4.1; others compete."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crowding_policy import Crowding
from elastic_workloads import Row, elastic_workload
from example_count import examples
from motet.domain.cluster import ClusterSpec
from motet.domain.decision import Decision
from motet.domain.snapshot import Snapshot
from motet.domain.units import SECOND_US
from motet.engine.measurements.job_measurements import Measurements
from motet.estimate.colocation.group_time import SubtaskTimes, group_iteration_s
from motet.estimate.speed_function import SpeedMode
from motet.placement.planners import ConsolidatingPlanner
from motet.sim.replay.outcome import Outcome
from motet.sim.replay.simulation import Simulation
from motet.sim.speeds.speed_model import SameEverywhere

MACHINES = 2
TIMES = st.tuples(st.integers(1, 8), st.integers(0, 8))
"""COMP and COMM of a step in seconds, on one machine."""


class Interleaving(Crowding):
    interleaves_subtasks = True


def job(comp_s: float, comm_s: float, steps: int, mode: SpeedMode = SpeedMode.SYNC) -> Row:
    """A worker and a server per machine."""
    speed = (comp_s, 0.0, comm_s, 0.0, 0.0, 1.0)
    return Row(0, steps, MACHINES, MACHINES, MACHINES, MACHINES, mode=int(mode), speed=speed)


def outcome_of(rows: list[Row], policy: Crowding) -> Outcome:
    """All jobs of a group on all machines, from 0 s on."""
    return Simulation(
        elastic_workload(rows),
        ClusterSpec.uniform(MACHINES, 1),
        policy,
        ConsolidatingPlanner(),
        SameEverywhere(),
    ).run()


def ends_s(rows: list[Row], policy: Crowding) -> list[float]:
    ends: list[float] = (outcome_of(rows, policy).columns["end_us"] / SECOND_US).tolist()
    return ends


def test_jobs_that_complement_each_other_run_as_fast_as_alone_or_nearly() -> None:
    """On 2 machines 3 + 1 and 1 + 3 seconds: a step of both every 4 s."""
    rows = [job(6.0, 1.0, 10), job(2.0, 3.0, 10)]
    assert ends_s(rows, Interleaving()) == pytest.approx([40, 40])
    assert ends_s(rows, Crowding()) == pytest.approx([80, 80])


def test_a_job_is_faster_after_the_other_one_has_ended() -> None:
    rows = [job(6.0, 1.0, 10), job(6.0, 1.0, 20)]
    # 10 steps of both in 6 s each, then 10 of the second one in 4 s.
    assert ends_s(rows, Interleaving()) == pytest.approx([60, 100])


def test_jobs_without_known_parts_compete() -> None:
    rows = [job(6.0, 1.0, 10), job(2.0, 3.0, 10, SpeedMode.ASYNC)]
    assert ends_s(rows, Interleaving()) == ends_s(rows, Crowding())


@settings(max_examples=examples(40))
@given(st.lists(TIMES, min_size=1, max_size=5))
def test_every_job_makes_a_step_per_group_iteration(times: list[tuple[int, int]]) -> None:
    rows = [job(MACHINES * comp_s, comm_s, 10) for comp_s, comm_s in times]
    group_s = group_iteration_s([SubtaskTimes(*each) for each in times])
    assert ends_s(rows, Interleaving(most=5)) == pytest.approx([10 * group_s] * len(rows))


def test_a_policy_gets_the_parts_of_a_step_once_a_job_has_made_one() -> None:
    seen: list[tuple[float, list[float], list[float]]] = []

    class Looking(Interleaving):
        wants_estimates = True

        def decide(self, snapshot: Snapshot) -> Decision:
            subtasks = snapshot.wanted_estimates.subtasks
            if subtasks is not None and len(snapshot.jobs) == 2:
                at = np.argsort(snapshot.jobs.number)
                columns = (subtasks.divided_s[at].tolist(), subtasks.comm_s[at].tolist())
                seen.append((snapshot.now_us / SECOND_US, *columns))
            return super().decide(snapshot)

    Simulation(
        elastic_workload([job(6.0, 1.0, 10), job(2.0, 3.0, 10)]),
        ClusterSpec.uniform(MACHINES, 1),
        Looking(),
        ConsolidatingPlanner(),
        SameEverywhere(),
        measurements=Measurements(),
    ).run()
    times_s, divided_s, comm_s = zip(*seen, strict=True)
    assert min(times_s) == 5  # The first decision after a step of 4 s.
    assert all(each == pytest.approx([6, 2]) for each in divided_s)
    assert all(each == pytest.approx([1, 3]) for each in comm_s)
