"""Events in, actions out: what drivers rely on."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from motet.domain.actions import Preempt, Start
from motet.domain.cluster import ClusterSpec
from motet.domain.errors import BadInput
from motet.domain.events import (
    Cancelled,
    Drained,
    Event,
    Failed,
    Finished,
    Goal,
    MachineAdded,
    MachineCame,
    MachineLeft,
    MachineMeasured,
    MachineResized,
    PolicyChanged,
    ProgressMeasured,
    Resumed,
    Started,
    StartFailed,
    Stopped,
    Submitted,
    Suspended,
    Tick,
    Updated,
)
from motet.domain.snapshot import UNKNOWN, Placement, Queues, Snapshot
from motet.engine.journal.decision_log import DecisionLog
from motet.engine.measurements.fitters import fitted_measurements
from motet.engine.state.cluster_state import ClusterState
from motet.engine.step import Engine
from motet.placement.planners import ConsolidatingPlanner
from motet.policies.fifo import Fifo
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
    assert engine.state.jobs.executed_us.tolist() == [1]
    assert engine.state.jobs.waiting_us.tolist() == [3]


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
    with pytest.raises(BadInput, match="job 1 was already submitted"):
        engine.step(1, [submitted(1)])


def test_reports_of_jobs_that_have_left_are_ignored() -> None:
    engine = engine_of()
    assert engine.step(0, [Stopped(9), started(9)]) == []


@pytest.mark.parametrize("end", [Finished(1), Failed(1, "no memory")])
def test_an_action_that_waits_for_slots_is_void_once_its_job_has_ended(end: Event) -> None:
    engine = engine_of(ShortestRemainingService(), ClusterSpec.of([4]))
    engine.step(0, [submitted(2, remaining_us=100)])
    engine.step(0, [started(2)])
    assert engine.step(1, [submitted(1, remaining_us=1)]) == [Preempt(2)]
    engine.step(2, [end])
    assert engine.step(9, [Stopped(2)]) == [start(2, 0)]


# -- machines --------------------------------------------------------------------------------------


def test_a_machine_that_drains_takes_no_more_jobs() -> None:
    engine = engine_of()
    engine.step(0, [submitted(1), submitted(2)])
    engine.step(0, [started(1), started(2)])
    assert engine.step(1, [Drained(0), submitted(3)]) == []
    assert engine.state.placements.keys() == {1, 2}
    assert engine.step(2, [Finished(1)]) == []
    assert engine.step(3, [Finished(2)]) == [start(3, 1)]


@pytest.mark.parametrize("event", [Drained(0), MachineCame(0), MachineLeft(0)], ids=str)
def test_a_change_of_the_machines_requires_a_decision(event: Event) -> None:
    engine = engine_of()
    engine.step(0, [submitted(0)])
    engine.step(1, [started(0, 1)])
    assert engine.decision is None
    engine.step(2, [event])
    assert engine.decision is not None


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


def test_a_policy_that_wants_estimates_does_not_take_over_without_measurements() -> None:
    engine = engine_of()
    engine.step(0, [submitted(1)])
    with pytest.raises(BadInput, match=r"slaq requires estimates.* create the engine with"):
        engine.step(1, [PolicyChanged("slaq")])
    assert engine.step(2, [Finished(1), submitted(2)]) == [start(2, 0)]


def engine_with_measurements() -> tuple[Engine, list[Snapshot]]:
    """And what its policy sees at every decision."""

    class SeenSnapshots(DecisionLog):
        def decided(self, now_us: int, snapshot: Snapshot, *rest: Any) -> None:
            seen.append(snapshot)

    seen: list[Snapshot] = []
    state = ClusterState(CLUSTER, {}, {}, Queues())
    planner, measurements = ConsolidatingPlanner(), fitted_measurements()
    return Engine(Fifo(), planner, state, SeenSnapshots(), measurements=measurements), seen


def test_a_policy_that_takes_over_has_estimates_of_jobs_submitted_before() -> None:
    engine, seen = engine_with_measurements()
    job = submitted(1, 2, min_workers=1, max_workers=4, worker_gpus=1)
    engine.step(0, [replace(job, goal=Goal(None, 100.0))])
    engine.step(0, [started(1)])
    losses = tuple((float(step), 1 / (step + 1)) for step in range(10))
    engine.step(5, [ProgressMeasured(1, 10.0, losses)])
    engine.step(6, [PolicyChanged("slaq")])
    assert seen[0].estimates is None
    estimates = seen[-1].wanted_estimates
    assert (estimates.steps_left.tolist(), estimates.loss.tolist()) == ([90.0], [0.1])
    assert estimates.forecasts is not None


def test_a_policy_that_takes_over_has_speeds_of_machines_measured_from_then_on() -> None:
    engine, seen = engine_with_measurements()
    engine.step(0, [submitted(1)])
    engine.step(1, [PolicyChanged("optimus")])
    engine.step(5, [MachineMeasured(1, 3.0), Tick()])
    speeds = seen[-1].machine_speeds
    assert speeds is not None
    assert speeds.times_as_long.tolist() == [1.0, 3.0]
    assert speeds.measured_us.tolist() == [UNKNOWN, 5]


def test_a_cluster_that_has_grown_decides_as_one_that_was_as_large_from_the_start() -> None:
    grown = engine_of(TiresiasLas(), ClusterSpec.of([4]))
    large = engine_of(TiresiasLas())
    grown.step(0, [MachineAdded(1, "m1", 4)])
    large.step(0, [MachineCame(1)])
    events: list[list[Event]] = [
        [submitted(1, 6), submitted(2, 4)],
        [started(1)],
        [MachineLeft(1)],
        [Stopped(1), MachineCame(1)],
        [Finished(2)],
    ]
    told = [
        [engine.step(at, each) for at, each in enumerate(events, 1)] for engine in (grown, large)
    ]
    assert told[0] == told[1]
    assert [action for step in told[0] for action in step] != []


def test_a_machine_can_be_added_while_jobs_hold_slots() -> None:
    engine = engine_of(cluster=ClusterSpec.of([4]))
    assert engine.step(0, [submitted(1), submitted(2)]) == [start(1, 0)]
    assert engine.step(1, [MachineAdded(1, "m1", 4)]) == [start(2, 1)]


def test_a_machine_that_was_resized_decides_as_one_that_was_as_large_from_the_start() -> None:
    def cluster(cpus: int) -> ClusterSpec:
        return ClusterSpec.of([4, 4], cpus=[4, cpus], memory_bytes=0)

    resized, large = engine_of(cluster=cluster(2)), engine_of(cluster=cluster(8))
    for engine in (resized, large):
        engine.step(0, [MachineLeft(1)])
    came: list[Event] = [MachineResized(1, 8, 0), MachineCame(1)]
    told = [
        engine.step(1, [*first, submitted(1, cpus=6), submitted(2, cpus=6)])
        for engine, first in ((resized, came), (large, [MachineCame(1)]))
    ]
    assert told[0] == told[1] == [start(1, 1)]


def test_machines_are_added_in_the_order_of_their_numbers() -> None:
    with pytest.raises(BadInput, match="not the next one"):
        engine_of().step(0, [MachineAdded(3, "m3", 4)])
