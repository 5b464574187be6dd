"""Jobs with COMP and COMM times: their speeds alone and in groups, and what is measured of them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from crowding_policy import Crowding
from motet.domain.arrays import Floats
from motet.domain.cluster import ClusterSpec
from motet.domain.decision import Decision
from motet.domain.estimates import Overlap
from motet.domain.events import DataSizes, Event, Submitted, SubtasksMeasured
from motet.domain.snapshot import Snapshot
from motet.domain.units import SECOND_US
from motet.engine.measurements.job_measurements import Measurements
from motet.placement.planners import ConsolidatingPlanner, CountPlanner
from motet.policies.fair import Fair
from motet.policies.harmony import Harmony
from motet.sim.replay.outcome import Outcome
from motet.sim.replay.simulation import Simulation
from motet.sim.speeds.speed_model import SameEverywhere
from subtask_workloads import SubtaskRow, subtask_workload

MACHINES = ClusterSpec.uniform(2, 1)


class MeasuringCrowd(Crowding):
    """All jobs of one size on the same GPUs, measured."""

    wants_estimates = True


class Events:
    """A journal of events and of what policies see."""

    def __init__(self) -> None:
        self.events: list[Event] = []
        self.snapshots: list[Snapshot] = []

    def received(self, now_us: int, events: Sequence[Event]) -> None:
        del now_us
        self.events += events

    def decided(self, now_us: int, snapshot: Snapshot, decision: Decision, actions: object) -> None:
        del now_us, decision, actions
        self.snapshots.append(snapshot)


def outcome_of(
    rows: list[SubtaskRow], policy: object, log: Events | None = None, errors: Floats | None = None
) -> Outcome:
    return Simulation(
        subtask_workload(rows),
        MACHINES,
        policy,  # type: ignore[arg-type]
        ConsolidatingPlanner(),
        SameEverywhere(),
        journal=log,
        subtask_errors=errors,
    ).run()


def ends_s(outcome: Outcome) -> list[float]:
    return (outcome.columns["end_us"] / SECOND_US).tolist()


def test_a_job_alone_takes_comp_of_its_workers_and_comm() -> None:
    outcome = outcome_of([SubtaskRow(0, 10, 8.0, 2.0)], Fair())
    assert ends_s(outcome) == pytest.approx([10 * (8 / 2 + 2)])


def test_jobs_of_a_group_end_an_iteration_in_the_time_of_the_group() -> None:
    """COMP 4 + 2 s, COMM 2 + 6 s, the longest job 8 s: 8 s for each iteration of both."""
    rows = [SubtaskRow(0, 10, 8.0, 2.0, workers=2), SubtaskRow(0, 20, 4.0, 6.0, workers=2)]
    assert ends_s(outcome_of(rows, Crowding())) == pytest.approx([80, 80 + 10 * 8])


def test_an_asynchronous_job_takes_the_longer_one_of_comp_and_comm() -> None:
    alone = [SubtaskRow(0, 10, 8.0, 2.0, workers=2, overlap=Overlap.ALWAYS)]
    outcome = outcome_of(alone, Fair())
    assert ends_s(outcome) == pytest.approx([10 * 8 / 2])
    assert outcome.workload.duration_us.tolist() == [40 * SECOND_US]
    # COMP 4 + 2 s, COMM 2 + 3 s, the longest: 4 s, and 5 s of the job that does not overlap.
    both = [alone[0], SubtaskRow(0, 20, 4.0, 3.0, workers=2)]
    assert ends_s(outcome_of(both, Crowding())) == pytest.approx([60, 60 + 10 * 5])


def test_reports_tell_which_jobs_overlap() -> None:
    log = Events()
    rows = [SubtaskRow(0, 2, 8.0, 2.0, workers=2, overlap=Overlap.ALWAYS)]
    outcome_of([*rows, SubtaskRow(0, 5, 4.0, 6.0, workers=2)], MeasuringCrowd(), log)
    sizes = [event.data for event in log.events if isinstance(event, Submitted)]
    assert sizes == [DataSizes(0, 0, Overlap.ALWAYS), DataSizes(0, 0)]
    found = [event for event in log.events if isinstance(event, SubtasksMeasured)]
    assert {(event.job, event.overlaps) for event in found} == {(0, True), (1, None)}


def test_a_group_with_another_job_shares_as_any_other_jobs() -> None:
    rows = [SubtaskRow(0, 10, 8.0, 2.0, workers=2), SubtaskRow(0, 20, None, 0.0, workers=2)]
    outcome = outcome_of(rows, Crowding())
    assert ends_s(outcome)[1] == pytest.approx(20.0)
    assert ends_s(outcome)[0] == pytest.approx(20 + 60 - 20 / 2)


def test_times_are_measured_after_an_iteration_on_its_machines() -> None:
    log = Events()
    rows = [SubtaskRow(0, 2, 8.0, 2.0, 7, 3, workers=2), SubtaskRow(1, 5, 4.0, 6.0, workers=2)]
    outcome_of([*rows, SubtaskRow(7, 1, 1.0, 1.0), SubtaskRow(9, 1, 1.0, 1.0)], Fair(), log)
    submitted = [event for event in log.events if isinstance(event, Submitted)]
    assert all(event.data is None for event in submitted)  # The policy wants no estimates.
    log = Events()
    outcome_of(rows, MeasuringCrowd(), log)
    assert [event.data for event in log.events if isinstance(event, Submitted)] == [
        DataSizes(7, 3),
        DataSizes(0, 0),
    ]
    found = [event for event in log.events if isinstance(event, SubtasksMeasured)]
    # Eq. 4.1: max(4 + 2, 2 + 6, 6, 8).
    together = {SubtasksMeasured(0, 2, 4.0, 2.0, 8.0), SubtasksMeasured(1, 2, 2.0, 6.0, 8.0)}
    assert {*found} == together
    seen = log.snapshots[-1].wanted_estimates.subtasks
    assert seen is not None
    assert seen.are_reported.all()


def test_measured_times_are_off_by_the_error_of_the_model() -> None:
    log = Events()
    rows = [SubtaskRow(0, 2, 8.0, 2.0, workers=2), SubtaskRow(1, 5, 4.0, 6.0, workers=2)]
    errors = np.array([[1.1, 0.9], [0.5, 2.0]])
    outcome = outcome_of(rows, MeasuringCrowd(), log, errors)
    found = [event for event in log.events if isinstance(event, SubtasksMeasured)]
    off = {SubtasksMeasured(0, 2, 4.4, 1.8, 8.0), SubtasksMeasured(1, 2, 1.0, 12.0, 8.0)}
    assert {*found} == off
    np.testing.assert_array_equal(ends_s(outcome), ends_s(outcome_of(rows, Crowding())))


@pytest.mark.parametrize("seed", [1, 5])
def test_groups_are_regrouped_while_their_starts_take_time(seed: int) -> None:
    """Jobs neither train nor end between the stop on their old machines and the start on the new
    ones, and what becomes possible when jobs change their speed happens."""
    draws = np.random.default_rng(seed)
    rows = [
        SubtaskRow(
            int(number * draws.uniform(1, 9)),
            int(draws.integers(3, 40)),
            float(draws.uniform(0.5, 6)),
            float(draws.uniform(0.3, 4)),
            workers=3,
        )
        for number in range(12)
    ]
    simulation = Simulation(
        subtask_workload(rows),
        ClusterSpec.uniform(3, 1),
        Harmony(check_s=5.0),
        CountPlanner(),
        SameEverywhere(),
        measurements=Measurements(),
    )
    starts = np.random.default_rng(99)
    simulation.take_time_to_start(lambda _: int(starts.integers(1, 8)) * SECOND_US)
    assert simulation.run().is_finished.all()
