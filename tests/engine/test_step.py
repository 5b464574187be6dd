"""Events in, actions out: what drivers rely on."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from example_count import examples
from fake_driver import PretendedMachines, drive
from motet.domain.actions import Preempt, Start
from motet.domain.cluster import ClusterSpec
from motet.domain.errors import BadInput
from motet.domain.events import (
    Cancelled,
    Drained,
    Event,
    Failed,
    Finished,
    MachineCame,
    MachineLeft,
    PolicyChanged,
    Resumed,
    Started,
    StartFailed,
    Stopped,
    Submitted,
    Suspended,
    Tick,
    Updated,
)
from motet.domain.snapshot import Placement, Queues
from motet.domain.units import SECOND_US
from motet.engine.catalogue import built_in_policies
from motet.engine.decision_log import DecisionLog
from motet.engine.state import ClusterState
from motet.engine.step import Engine
from motet.placement.planners import ConsolidatingPlanner
from motet.policies.fifo import Fifo
from motet.policies.gandiva import Gandiva
from motet.policies.shortest import ShortestRemainingService
from motet.policies.tiresias import TiresiasLas

CLUSTER = ClusterSpec.of([4, 4])


def engine_of(policy: Any = None, cluster: ClusterSpec = CLUSTER, journal: Any = None) -> Engine:
    policy = Fifo() if policy is None else policy
    state = ClusterState(cluster, policy.memory_columns, {}, Queues())
    return Engine(policy, ConsolidatingPlanner(), state, journal)


def submitted(job: int, gpus: int = 4, **columns: int) -> Submitted:
    return Submitted(job, {"gpus": gpus, **columns})


def started(job: int, now_us: int = 0) -> Started:
    return Started(job, now_us, 10_000, 10_000)


def start(job: int, machine: int, gpus: int = 4) -> Start:
    return Start(job, Placement((machine,), (gpus,)), gpus, 0)


def test_jobs_start_when_they_come_and_when_others_finish() -> None:
    engine = engine_of()
    assert engine.step(0, [submitted(1), submitted(2), submitted(3)]) == [start(1, 0), start(2, 1)]
    assert engine.step(0, [started(1), started(2)]) == []
    assert engine.step(5, [Finished(1)]) == [start(3, 0)]


def test_without_a_reason_the_policy_is_not_asked() -> None:
    engine = engine_of()
    engine.step(0, [submitted(1)])
    assert engine.decision is not None
    engine.step(3, [started(1)])
    assert engine.decision is None
    engine.step(4, [])
    assert engine.decision is None
    assert engine.state.jobs.executed_us.tolist() == [4]


def test_slots_stay_held_until_the_job_before_has_stopped() -> None:
    engine = engine_of(ShortestRemainingService(), ClusterSpec.of([4]))
    engine.step(0, [submitted(1, remaining_us=100)])
    engine.step(0, [started(1)])
    assert engine.step(1, [submitted(2, remaining_us=1)]) == [Preempt(1)]
    assert engine.step(2, []) == []
    assert engine.step(9, [Stopped(1)]) == [start(2, 0)]
    assert engine.decision is None


def test_a_job_that_stops_by_itself_starts_again() -> None:
    engine = engine_of()
    engine.step(0, [submitted(1)])
    engine.step(0, [started(1)])
    assert engine.step(7, [Stopped(1)]) == [start(1, 0)]


def test_a_start_that_failed_gives_its_slots_back() -> None:
    engine = engine_of(cluster=ClusterSpec.of([4]))
    engine.step(0, [submitted(1), submitted(2)])
    again = engine.step(1, [StartFailed(1, "no such image")])
    assert again == [start(1, 0)]
    assert engine.step(2, [Failed(1, "no such image")]) == [start(2, 0)]


def test_a_cancelled_job_is_stopped_and_its_slots_are_waited_for() -> None:
    engine = engine_of(cluster=ClusterSpec.of([4]))
    engine.step(0, [submitted(1), submitted(2)])
    engine.step(0, [started(1)])
    assert engine.step(5, [Cancelled(1)]) == [Preempt(1)]
    assert engine.step(6, [Stopped(1)]) == [start(2, 0)]
    assert 1 not in engine.state.table
    assert len(engine.state.history.gpus) == 0


def test_a_suspended_job_takes_no_part_and_keeps_its_past() -> None:
    engine = engine_of(cluster=ClusterSpec.of([4]))
    engine.step(0, [submitted(1), submitted(2)])
    engine.step(0, [started(1)])
    assert engine.step(5, [Suspended(1), Stopped(1)]) == [start(2, 0)]
    assert engine.state.jobs.number.tolist() == [2]
    engine.step(5, [started(2)])
    assert engine.step(8, [Resumed(1)]) == []
    row = engine.state.table.row_of(1)
    assert engine.state.jobs.executed_us[row] == 5
    assert engine.state.jobs.waiting_us[row] == 0
    assert engine.step(9, [Finished(2)]) == [start(1, 0)]


def test_a_job_that_ends_while_it_is_being_suspended_has_finished() -> None:
    engine = engine_of()
    engine.step(0, [submitted(1)])
    engine.step(0, [started(1)])
    assert engine.step(5, [Suspended(1)]) == [Preempt(1)]
    engine.step(6, [Finished(1)])
    assert len(engine.state.history.gpus) == 1
    assert not engine.state.suspended


def test_a_job_can_be_moved_to_another_queue_but_not_resized() -> None:
    engine = engine_of()
    engine.step(0, [submitted(1)])
    engine.step(1, [Updated(1, {"priority": 3})])
    assert engine.state.jobs.priority.tolist() == [3]
    with pytest.raises(BadInput, match="gpus of a job cannot change"):
        engine.step(2, [Updated(1, {"gpus": 8})])


@pytest.mark.parametrize("event", [Finished(9), Cancelled(9), Suspended(9), Resumed(9)])
def test_events_of_jobs_that_are_not_there_are_refused(event: Event) -> None:
    with pytest.raises(BadInput, match="job 9"):
        engine_of().step(0, [event])


def test_a_job_is_submitted_once() -> None:
    engine = engine_of()
    engine.step(0, [submitted(1)])
    with pytest.raises(BadInput, match="job 1 was submitted before"):
        engine.step(1, [submitted(1)])


def test_reports_of_jobs_that_have_left_are_ignored() -> None:
    engine = engine_of()
    assert engine.step(0, [Stopped(9), started(9)]) == []


# -- machines --------------------------------------------------------------------------------------


def test_a_machine_that_drains_takes_no_more_jobs() -> None:
    engine = engine_of()
    engine.step(0, [submitted(1), submitted(2)])
    engine.step(0, [started(1), started(2)])
    assert engine.step(1, [Drained(0), submitted(3)]) == []
    assert engine.state.placements.keys() == {1, 2}
    assert engine.step(2, [Finished(1)]) == []
    assert engine.step(3, [Finished(2)]) == [start(3, 1)]


def test_a_machine_that_left_takes_its_jobs_with_it_until_it_comes_again() -> None:
    engine = engine_of()
    engine.step(0, [submitted(1), submitted(2)])
    engine.step(0, [started(1), started(2)])
    assert engine.step(4, [MachineLeft(0), Stopped(1)]) == []
    assert engine.state.placements.keys() == {2}
    assert engine.step(9, [MachineCame(0)]) == [start(1, 0)]
    row = engine.state.table.row_of(1)
    assert engine.state.jobs.executed_us[row] == 4


def test_of_a_gang_on_several_machines_the_other_processes_are_stopped() -> None:
    engine = engine_of()
    engine.step(0, [submitted(1, 8)])
    engine.step(0, [started(1)])
    assert engine.step(4, [MachineLeft(0)]) == [Preempt(1)]


# -- policies --------------------------------------------------------------------------------------


def test_another_policy_goes_on_with_the_same_jobs() -> None:
    engine = engine_of(TiresiasLas(), ClusterSpec.of([4]))
    engine.step(0, [submitted(1, remaining_us=90), submitted(2, remaining_us=5)])
    engine.step(0, [started(1)])
    assert engine.step(3, [PolicyChanged("srsf")]) == [Preempt(1)]
    assert engine.step(3, [Stopped(1)]) == [start(2, 0)]
    engine.step(4, [PolicyChanged("tiresias-las", {"promote_knob": "4"})])
    assert engine.state.table.column("level").tolist() == [0, 0]


def test_an_unknown_policy_changes_nothing() -> None:
    engine = engine_of()
    engine.step(0, [submitted(1)])
    with pytest.raises(BadInput, match="fifoo"):
        engine.step(1, [PolicyChanged("fifoo")])
    engine.step(2, [Tick()])
    assert engine.decision is not None


# -- a driver whose stops take time ----------------------------------------------------------------

BLIND = {
    name: policy for name, policy in built_in_policies().items() if not policy.knows_durations
} | {"gandiva": partial(Gandiva, packing=False)}
workloads = st.lists(
    st.tuples(st.integers(0, 20), st.integers(1, 30), st.integers(1, 6)), min_size=1, max_size=10
)


@pytest.mark.parametrize("policy", BLIND.values(), ids=BLIND)
@settings(max_examples=examples(60))
@given(rows=workloads, grace_s=st.integers(0, 5))
def test_no_slot_is_ever_held_twice_and_all_jobs_finish(
    policy: Any, rows: Any, grace_s: int
) -> None:
    cluster = ClusterSpec.of([4, 2])

    def check(machines: PretendedMachines) -> None:
        held = np.zeros(cluster.size, dtype=np.int64)
        for placement in machines.held.values():
            np.add.at(held, list(placement.machines), placement.counts)
        assert (held <= cluster.gpus).all()

    log = DecisionLog()
    times = [(submit * SECOND_US, duration * SECOND_US, gpus) for submit, duration, gpus in rows]
    planner = ConsolidatingPlanner()
    drive(times, cluster, policy(), planner, log, grace_s * SECOND_US, check)
    finished = [entry.job for entry in log if entry.event == "finish"]
    assert sorted(finished) == list(range(len(rows)))
