"""The simulator and a driver that only has the engine's ports take the same actions."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any, TypeAlias

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from event_journal import StepRecord, replay
from example_count import examples
from fake_driver import drive
from motet.domain.cluster import ClusterSpec
from motet.domain.events import Drained, Event, MachineCame, MachineLeft
from motet.domain.snapshot import Queues
from motet.domain.units import NEVER_US, SECOND_US
from motet.engine.journal.decision_log import DecisionLog
from motet.engine.policy_loading.catalogue import built_in_policies
from motet.engine.state.cluster_state import ClusterState
from motet.engine.step import Engine
from motet.placement.planners import ConsolidatingPlanner
from motet.policies.gandiva import Gandiva
from motet.policies.tiresias import TiresiasLas
from motet.sim.replay.simulation import Simulation
from motet.sim.speeds.speed_model import SameEverywhere
from motet.sim.workload.interventions import Interventions, TimedEvent
from motet.sim.workload.workload import Workload

CLUSTER = ClusterSpec.of([4, 2])
BLIND = {
    name: policy for name, policy in built_in_policies().items() if not policy.knows_durations
} | {"gandiva": partial(Gandiva, packing=False)}  # these machines do not slow down in company
Rows: TypeAlias = list[tuple[tuple[int, int, int], tuple[int | None, int | None, int | None]]]


class RecordedSteps(DecisionLog):
    """A log of decisions, and the events of every step."""

    def __init__(self) -> None:
        super().__init__()
        self.steps: list[StepRecord] = []

    def received(self, now_us: int, events: Sequence[Event]) -> None:
        """See Journal."""
        self.steps.append((now_us, [*events]))
        super().received(now_us, events)


def sorted_by_submission(rows: Rows) -> Rows:
    return sorted(rows, key=lambda row: row[0])


POLICIES = BLIND | {
    "gandiva in short turns": partial(Gandiva, packing=False, quantum_s=4.0),
    "tiresias-las with low thresholds": partial(TiresiasLas, thresholds=(4.0, 20.0)),
}
jobs = st.tuples(st.integers(0, 20), st.integers(1, 30), st.integers(1, 6))
waits_s = st.none() | st.integers(0, 30)
requests = st.tuples(waits_s, waits_s, waits_s)
"""Of a job: until it is cancelled, until it is suspended, from then until it is resumed."""
workloads = st.lists(st.tuples(jobs, requests), min_size=1, max_size=12).map(sorted_by_submission)
machine_events = st.none() | st.tuples(
    st.integers(0, CLUSTER.size - 1),
    st.lists(st.integers(0, 40), min_size=3, max_size=3).map(sorted),
)
"""A machine, and when it drains, leaves and comes again."""


def interventions_of(rows: Rows) -> Interventions:
    cancel_us, suspend_us, resume_us = [], [], []
    for (submit_s, _, _), (cancel, suspend, resume) in rows:
        cancel_us.append(after(submit_s, cancel))
        suspend_us.append(after(submit_s, suspend))
        is_resumed = suspend is not None and resume is not None
        resume_us.append(after(submit_s + suspend + 1, resume) if is_resumed else NEVER_US)
    return Interventions.of(cancel_us, suspend_us, resume_us)


def after(base_s: int, wait_s: int | None) -> int:
    return NEVER_US if wait_s is None else (base_s + wait_s) * SECOND_US


def timeline_of(drawn: tuple[int, list[int]] | None, first_us: int) -> list[TimedEvent]:
    if drawn is None:
        return []
    machine, times_s = drawn
    kinds = (Drained, MachineLeft, MachineCame)
    return [
        (max(time_s * SECOND_US, first_us), kind(machine))
        for time_s, kind in zip(times_s, kinds, strict=True)
    ]


# Of policies that preempt, that share slots, that group and that change sizes.
OFTEN = {"gandiva in short turns", "harmony", "optimus", "slaq", "tiresias-las"}
assert POLICIES.keys() >= OFTEN


@pytest.mark.parametrize("policy", POLICIES.values(), ids=POLICIES)
@settings(max_examples=examples(40))
@given(rows=workloads, machine=machine_events)
def test_both_drivers_take_the_same_actions_for_the_same_reasons(
    policy: Any, rows: Rows, machine: Any
) -> None:
    times = [(submit * SECOND_US, length * SECOND_US, gpus) for (submit, length, gpus), _ in rows]
    interventions, machines = interventions_of(rows), timeline_of(machine, times[0][0])
    workload = Workload.of(
        [str(number) for number in range(len(rows))],
        [row[0] for row in times],
        [row[1] for row in times],
        [row[2] for row in times],
        interventions=interventions,
    )
    log, other, planner = DecisionLog(), DecisionLog(), ConsolidatingPlanner()
    speeds = SameEverywhere()
    Simulation(workload, CLUSTER, policy(), planner, speeds, journal=log, timeline=machines).run()
    outside = sorted([*interventions.timeline(), *machines], key=lambda each: each[0])
    drive(times, CLUSTER, policy(), planner, other, timeline=outside)
    assert list(log) == list(other)


@pytest.mark.parametrize(
    "policy",
    [
        pytest.param(policy, id=name, marks=() if name in OFTEN else pytest.mark.soak)
        for name, policy in POLICIES.items()
    ],
)
@settings(max_examples=examples(20))
@given(rows=workloads, machine=machine_events, grace_s=st.integers(1, 5))
def test_the_events_of_a_driver_whose_stops_take_time_give_the_same_decisions_again(
    policy: Any, rows: Rows, machine: Any, grace_s: int
) -> None:
    times = [(submit * SECOND_US, length * SECOND_US, gpus) for (submit, length, gpus), _ in rows]
    machines = timeline_of(machine, times[0][0])
    outside = sorted([*interventions_of(rows).timeline(), *machines], key=lambda each: each[0])
    log, again = RecordedSteps(), DecisionLog()
    planner = ConsolidatingPlanner()
    drive(times, CLUSTER, policy(), planner, log, grace_s * SECOND_US, timeline=outside)
    asked = policy()
    state = ClusterState(CLUSTER, asked.memory_columns, {}, Queues())
    replay(Engine(asked, planner, state, again), log.steps)
    assert list(log) == list(again)
