"""No job is preempted unless another one gets GPUs at that moment: any policy, limits and drains.

A job that loses its slots with a machine or is suspended is not preempted: the decision log has
other entries for these. Left out are a limit of a queue that is lowered, and GPUs that a queue does
not lend when it leaves a job with which it shared them (`gandiva` with packing).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import suppress
from typing import Any, TypeAlias

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from example_count import examples
from motet.domain.actions import Action, Migrate, Preempt
from motet.domain.cluster import ClusterSpec
from motet.domain.events import (
    Delayed,
    Drained,
    Event,
    Finished,
    MachineCame,
    MachineLeft,
    RemainingMeasured,
    Resized,
    Resumed,
    Started,
    Stopped,
    Submitted,
    Suspended,
    Tick,
)
from motet.domain.log_entry import LogEntry
from motet.domain.queues.queue_limits import QueueLimits, Queues
from motet.domain.units import FULL_SPEED, NEVER_US, SECOND_US
from motet.engine.actions.preemption_limits import PreemptionLimits
from motet.engine.journal.decision_log import DecisionLog
from motet.engine.measurements.late_fitters import late_fitted_measurements
from motet.engine.policy_loading.catalogue import built_in_policies, find_policy, make_policy
from motet.engine.state.cluster_state import ClusterState
from motet.engine.step import Engine
from motet.placement.planners import CountPlanner
from motet.sim.replay.simulation import Simulation
from motet.sim.speeds.speed_model import SameEverywhere
from motet.sim.workload.interventions import Interventions
from motet.sim.workload.workload import Workload
from soak_cases import others_in_soak

SIZES = [3, 2, 2]
GPUS = sum(SIZES)
NAMES = ("a", "b", "c")
SETTINGS: dict[str, dict[str, str]] = {
    **{name: {} for name in built_in_policies()},
    "tiresias-las": {"thresholds": "4,12", "promote_knob": "2"},
    "tiresias-las in quanta": {"thresholds": "", "quantum_s": "3"},
    "gandiva": {"packing": "false", "quantum_s": "4"},
    "optimus": {"interval_s": "3", "rescale_s": "0"},
    "slaq": {"epoch_s": "3"},
    "themis": {"lease_s": "5"},
}
Rows: TypeAlias = Sequence[tuple[int, int, int, int, int]]

rows_of_jobs = st.lists(
    st.tuples(
        st.integers(0, 25),
        st.integers(1, 30),
        st.integers(1, 6),
        st.integers(0, 2),
        st.integers(0, 3),
    ),
    min_size=1,
    max_size=14,
).map(sorted)
"""Submission, seconds of training, GPUs, queue, and the least workers of an elastic job."""
limits_of_a_queue = st.builds(
    lambda guarantee, borrow, lend: QueueLimits(
        guarantee, borrow, None if lend is None else min(lend, guarantee)
    ),
    st.integers(0, 4),
    st.none() | st.integers(0, 4),
    st.none() | st.integers(0, 4),
)
limits_of_queues = st.just([QueueLimits()] * 3) | st.lists(
    limits_of_a_queue, min_size=3, max_size=3
).filter(lambda limits: sum(each.guarantee for each in limits) <= GPUS)
protections = st.just(PreemptionLimits()) | st.builds(
    lambda least_s, spacing_s: PreemptionLimits(least_s * SECOND_US, spacing_s * SECOND_US),
    st.integers(0, 6),
    st.integers(0, 12),
)
machine_events = st.lists(
    st.tuples(
        st.integers(0, 45), st.sampled_from([Drained, MachineCame, MachineLeft]), st.integers(0, 2)
    ),
    max_size=5,
)


def preempted_for_nobody(entries: Iterable[LogEntry]) -> list[LogEntry]:
    return [each for each in entries if each.event == "preempt" and not each.others.total]


class TimeIsUp(Exception):
    """Ends a simulation in which a job can never run, under a policy that decides periodically."""


class LogOfTwoMinutes(DecisionLog):
    def received(self, now_us: int, events: Sequence[Event]) -> None:
        """See Journal."""
        if now_us > 120 * SECOND_US:
            raise TimeIsUp
        super().received(now_us, events)


class DrivenCluster:
    """An engine whose actions are executed at once. Jobs train on the GPUs that they hold."""

    def __init__(
        self, policy: str, limits: Sequence[QueueLimits], protection: PreemptionLimits
    ) -> None:
        chosen = make_policy(*find_policy(policy.split()[0]), SETTINGS[policy])
        self.state = ClusterState(
            ClusterSpec.of(SIZES), dict(chosen.memory_columns), {}, Queues(NAMES, tuple(limits))
        )
        self.log = DecisionLog()
        self.engine = Engine(
            chosen,
            CountPlanner(),
            self.state,
            self.log,
            measurements=late_fitted_measurements(),
            limits=protection,
        )

    def step(self, now_us: int, events: Sequence[Event]) -> None:
        jobs = self.state.jobs
        passed_us = np.where(jobs.held_gpus > 0, now_us - self.state.now_us, 0)
        left_us = np.maximum(jobs.remaining_us - passed_us, SECOND_US)
        actions = self.engine.step(
            now_us, [RemainingMeasured(jobs.number.copy(), left_us.tolist()), *events]
        )
        while actions:
            actions = self.engine.step(now_us, [done(each, now_us) for each in actions])


def done(action: Action, now_us: int) -> Event:
    if isinstance(action, Preempt):
        return Stopped(action.job)
    kind = Resized if isinstance(action, Migrate) else Started
    return kind(action.job, now_us, FULL_SPEED, FULL_SPEED)


def submitted(number: int, row: tuple[int, int, int, int, int]) -> Submitted:
    submit_s, length_s, gpus, queue, least = row
    columns = {
        "gpus": gpus,
        "queue": queue,
        "submit_us": submit_s * SECOND_US,
        "model": -1,
        "remaining_us": length_s * SECOND_US,
    }
    if least:
        columns |= {"workers": gpus, "min_workers": min(least, gpus), "max_workers": gpus}
    return Submitted(number, columns)


def drawn_events(cluster: DrivenCluster, now_us: int, data: st.DataObject) -> list[Event]:
    """What users and processes do: a running job ends, or is suspended, or fails."""
    jobs, suspended = cluster.state.jobs, sorted(cluster.state.suspended)
    running = jobs.number[jobs.held_gpus > 0].tolist()
    kind = data.draw(st.integers(0, 7))
    if kind == 0 and suspended:
        return [Resumed(data.draw(st.sampled_from(suspended)))]
    if kind > 3 or not running:
        return []
    job = data.draw(st.sampled_from(running))
    if kind == 1:
        return [Suspended(job)]
    if kind == 2:
        return [Delayed(job, now_us + 5 * SECOND_US), Stopped(job)]
    return [Finished(job)]


@pytest.mark.parametrize(
    "policy", others_in_soak(SETTINGS, {"gandiva", "harmony", "themis", "tiresias-las"})
)
@settings(max_examples=examples(100))
@given(
    rows=rows_of_jobs,
    limits=limits_of_queues,
    protection=protections,
    machines=machine_events,
    data=st.data(),
)
def test_the_gpus_of_a_preempted_job_go_to_another_one(
    policy: str,
    rows: Rows,
    limits: list[QueueLimits],
    protection: PreemptionLimits,
    machines: Any,
    data: st.DataObject,
) -> None:
    cluster = DrivenCluster(policy, limits, protection)
    for now_s in range(40):
        now_us = now_s * SECOND_US
        events: list[Event] = [Tick()] if cluster.engine.recheck_at_us <= now_us else []
        events += drawn_events(cluster, now_us, data)
        events += [kind(machine) for at_s, kind, machine in machines if at_s == now_s]
        events += [submitted(number, row) for number, row in enumerate(rows) if row[0] == now_s]
        if events:
            cluster.step(now_us, events)
            assert preempted_for_nobody(cluster.log) == []


@pytest.mark.parametrize(
    "policy", others_in_soak(SETTINGS, ["fair", "gandiva", "themis", "tiresias-las", "yarn-cs"])
)
@settings(max_examples=examples(40))
@given(
    rows=rows_of_jobs,
    limits=limits_of_queues,
    protection=protections,
    machines=machine_events,
    suspended_s=st.lists(st.none() | st.integers(0, 30), min_size=14, max_size=14),
)
def test_in_the_simulator_the_gpus_of_a_preempted_job_go_to_another_one(
    policy: str,
    rows: Rows,
    limits: list[QueueLimits],
    protection: PreemptionLimits,
    machines: Any,
    suspended_s: list[int | None],
) -> None:
    submit_us = [row[0] * SECOND_US for row in rows]
    numbers, never = range(len(rows)), [NEVER_US] * len(rows)
    suspend_us = [
        NEVER_US if at_s is None else at_us + at_s * SECOND_US
        for at_us, at_s in zip(submit_us, suspended_s, strict=False)
    ]
    resume_us = [min(at_us + 9 * SECOND_US, NEVER_US) for at_us in suspend_us]
    workload = Workload.of(
        [str(number) for number in numbers],
        submit_us,
        [row[1] * SECOND_US for row in rows],
        [row[2] for row in rows],
        queues=[NAMES[row[3]] for row in rows],
        interventions=Interventions.of(never, suspend_us, resume_us),
    )
    chosen = make_policy(*find_policy(policy.split()[0]), SETTINGS[policy])
    log = LogOfTwoMinutes()
    timeline = [
        (max(at_s * SECOND_US, submit_us[0]), kind(machine))
        for at_s, kind, machine in sorted(machines, key=lambda each: each[0])
    ]
    simulation = Simulation(
        workload,
        ClusterSpec.of(SIZES),
        chosen,
        CountPlanner(),
        SameEverywhere(),
        journal=log,
        queues=Queues.with_limits(workload.queue_names, dict(zip(NAMES, limits, strict=True))),
        measurements=late_fitted_measurements(),
        timeline=timeline,
        limits=protection,
    )
    with suppress(TimeIsUp):
        simulation.run()
    assert preempted_for_nobody(log) == []


def test_a_job_that_was_protected_keeps_gpus_until_the_queue_needs_them_that_keeps_them() -> None:
    """While it is protected, another queue reclaims its guarantee, and the GPUs that queue b does
    not lend are fewer than its guarantee. When it no longer is, no job would get its GPUs."""
    limits = [QueueLimits(2, None, 2), QueueLimits(3, 2, 0), QueueLimits(2, None, 2)]
    cluster = DrivenCluster("fifo", limits, PreemptionLimits(6 * SECOND_US))
    cluster.step(0, [submitted(0, (0, 60, 4, 2, 0))])
    cluster.step(3 * SECOND_US, [submitted(1, (3, 60, 1, 0, 0))])
    cluster.step(7 * SECOND_US, [Tick()])
    assert {*cluster.state.placements} == {0, 1}
    cluster.step(9 * SECOND_US, [submitted(2, (9, 60, 3, 1, 0))])
    assert {*cluster.state.placements} == {1, 2}
    assert preempted_for_nobody(cluster.log) == []
