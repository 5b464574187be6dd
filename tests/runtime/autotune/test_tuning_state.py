"""Events in, whole lists of instructions out; and the history that they leave."""

from __future__ import annotations

from dataclasses import replace

import pytest

from motet.cruise.calibration.averages import BatchMeasurement
from motet.cruise.calibration.machine_groups import CandidateMachine
from motet.cruise.decision import TuningDecision, TuningReason
from motet.cruise.machine_state import MachineState
from motet.domain.reconfiguration import Add, Delete, Move, Plan, RoleCounts
from motet.runtime.autotune.debounce import MachineDebounce
from motet.runtime.autotune.events import (
    BatchesMeasured,
    DecisionMade,
    EpochEnded,
    MachinesChecked,
    ReconfigurationEnded,
    RecoveryBegan,
    TrainingStarted,
    TuningEvent,
)
from motet.runtime.autotune.history import EpochRecord, TuningRecord
from motet.runtime.autotune.instructions import (
    AddMeasurements,
    AnnounceDecision,
    CancelChange,
    CompileSearch,
    Decide,
    Instruction,
    RestartMeasurements,
    StartChange,
)
from motet.runtime.autotune.tuning_state import TuningState
from motet.runtime.core.reporting.batch_costs import BatchCost
from motet.runtime.core.reporting.reports import ReconfigurationReport

ONE_WORKER, TWO_WORKERS = RoleCounts(1, 2), RoleCounts(2, 1)
MACHINES = (CandidateMachine(0), CandidateMachine(1), CandidateMachine(2))
STATES = (
    MachineState(0, None, (0, 1, 2)),
    MachineState(1, None, (), (0, 1)),
    MachineState(2, None, (), (2,)),
)
PLAN = Plan.of([Add(1, "worker"), Move("data", (2,), 0, 1), Delete(1, "server")])
GAIN = TuningDecision(TuningReason.GAIN, ONE_WORKER, TWO_WORKERS, 3, 8.0, 5.0, 0.4, PLAN)
KEEP = TuningDecision(TuningReason.TOO_LITTLE_GAIN, ONE_WORKER, ONE_WORKER, 3, 8.0, 7.9, 0.01)
DRAIN = TuningDecision(TuningReason.DRAIN, ONE_WORKER, TWO_WORKERS, 2, plan=PLAN)
WARMING_UP = TuningDecision(TuningReason.WARMING_UP, ONE_WORKER, ONE_WORKER, 3)
REPORT = ReconfigurationReport(1, ONE_WORKER, TWO_WORKERS, 0.4, 2.0, 3, 1_000, 0.1)
FAILED = replace(REPORT, error="machine 1 is gone")
DECIDE, CHECKED = Decide(MACHINES, STATES), MachinesChecked(0.0, MACHINES, STATES)


class AlwaysStable(MachineDebounce):
    """Delays no decision."""

    def is_stable(self, now_s: float, *, must_leave: bool) -> bool:
        del now_s, must_leave
        return True


class Job:
    """A state whose training began at second 100; epochs take a second."""

    def __init__(self, debounce: MachineDebounce | None = None) -> None:
        self.state = TuningState(debounce or AlwaysStable())
        self.now_s = 100.0
        self.handle(TrainingStarted(100.0, (0,)))

    def handle(self, *events: TuningEvent) -> list[Instruction]:
        """The instructions of all these events."""
        return [each for event in events for each in self.state.handle(event)]

    def epochs(self, *numbers: int, roles: RoleCounts = ONE_WORKER) -> None:
        for number in numbers:
            self.now_s += 1.0
            self.handle(EpochEnded(self.now_s, number, 1.0, roles))

    def check(self, leaving: tuple[int, ...] = (), after_s: float = 0.0) -> list[Instruction]:
        self.now_s += after_s
        machines = tuple(CandidateMachine(m, is_leaving=m in leaving) for m in range(3))
        return self.handle(MachinesChecked(self.now_s, machines, STATES))

    def decide(
        self, decision: TuningDecision, machines: tuple[CandidateMachine, ...] = MACHINES
    ) -> list[Instruction]:
        return self.handle(DecisionMade(self.now_s, machines, decision))

    def end(self, change: int | None, report: ReconfigurationReport = REPORT) -> list[Instruction]:
        return self.handle(ReconfigurationEnded(self.now_s, report, (0, 1), change))

    @property
    def steady(self) -> list[bool]:
        return [each.is_steady for each in self.state.history.epochs]

    @property
    def predicted_s(self) -> list[float | None]:
        return [each.predicted_s for each in self.state.history.epochs]


# -- measurements ------------------------------------------------------------------------------


def test_a_start_restarts_the_measurements() -> None:
    assert TuningState().handle(TrainingStarted(3.0, (0, 4))) == [RestartMeasurements((0, 4))]


def test_the_first_report_of_a_worker_is_dropped_and_the_next_ones_are_measured() -> None:
    job, cost = Job(), BatchCost(1.0, 2.0, 3.5, 40, 500, 600)
    reported = BatchesMeasured(7, (cost, cost))
    measured = BatchMeasurement(7, 1.0, 2.0, 3.5, 40, 500, 600)
    assert job.handle(reported) == []
    assert job.handle(reported) == [AddMeasurements((measured, measured))]
    assert job.handle(BatchesMeasured(8, (cost,))) == []


def test_after_a_reconfiguration_the_first_reports_are_dropped_again() -> None:
    job, reported = Job(), BatchesMeasured(7, (BatchCost(1.0, 2.0, 3.5, 40, 500, 600),))
    job.handle(reported)
    assert job.end(change=None) == [RestartMeasurements((0, 1))]
    assert job.handle(reported) == []


# -- when to decide ------------------------------------------------------------------------------


def test_nothing_is_decided_before_training_and_during_a_recovery() -> None:
    state = TuningState(AlwaysStable())
    assert state.handle(CHECKED) == []
    state.handle(TrainingStarted(0.0, (0,)))
    assert state.handle(CHECKED) == [DECIDE]
    state.handle(RecoveryBegan(0))
    assert state.handle(CHECKED) == []
    state.handle(TrainingStarted(5.0, (0,)))
    assert state.handle(CHECKED) == [DECIDE]


def test_nothing_is_decided_while_the_machines_change() -> None:
    job = Job(MachineDebounce(machines_s=3.0))
    assert job.check() == [DECIDE]
    more = (*MACHINES, CandidateMachine(3))
    assert job.handle(MachinesChecked(110.0, more, STATES)) == []
    assert job.handle(MachinesChecked(112.9, more, STATES)) == []
    assert job.handle(MachinesChecked(113.0, more, STATES)) == [Decide(more, STATES)]


def test_an_executor_whose_machine_is_gone_is_about_to_be_recovered() -> None:
    assert Job().handle(MachinesChecked(100.0, MACHINES[1:], STATES)) == []


def test_nothing_is_decided_while_a_change_is_under_way() -> None:
    job = Job()
    job.decide(GAIN)
    assert job.check() == []
    job.end(change=0)
    assert job.check() == [DECIDE]


def test_a_change_of_others_delays_no_decision() -> None:
    job = Job()
    job.end(change=None)
    assert job.check() == [DECIDE]


def test_after_failures_decisions_pause_ever_longer() -> None:
    job = Job()
    for change, pause_s in enumerate((10.0, 20.0, 40.0, 60.0, 60.0)):
        job.decide(GAIN)
        job.end(change, FAILED)
        assert job.check(after_s=pause_s - 0.1) == []
        assert job.check(after_s=0.1) == [DECIDE]


def test_a_success_shortens_the_next_pause() -> None:
    job = Job()
    for change, report in enumerate((FAILED, FAILED, REPORT, FAILED)):
        job.decide(GAIN)
        job.end(change, report)
    assert job.check(after_s=10.0) == [DECIDE]


def test_a_notice_ends_the_pause_after_a_failure() -> None:
    job = Job()
    job.decide(GAIN)
    job.end(0, FAILED)
    machines = (CandidateMachine(0, is_leaving=True), *MACHINES[1:])
    assert job.check(leaving=(0,)) == [Decide(machines, STATES)]


# -- decisions -----------------------------------------------------------------------------------


def test_a_decision_for_a_gain_starts_a_change_and_is_announced() -> None:
    job = Job()
    job.epochs(0, 1)
    record = TuningRecord(2, 2.0, GAIN)
    assert job.decide(GAIN) == [
        StartChange(0, PLAN, predicted_gain=0.4, is_urgent=False),
        AnnounceDecision(record),
    ]
    assert job.state.history.decisions == [record]


def test_leaving_machines_is_urgent_and_has_no_known_gain() -> None:
    assert Job().decide(DRAIN) == [
        StartChange(0, PLAN, predicted_gain=None, is_urgent=True),
        AnnounceDecision(TuningRecord(0, 0.0, DRAIN)),
    ]


def test_keeping_a_configuration_is_announced_once_and_leaves_time_to_compile() -> None:
    job = Job()
    assert job.decide(KEEP) == [AnnounceDecision(TuningRecord(0, 0.0, KEEP)), CompileSearch()]
    assert job.decide(replace(KEEP, gain=0.02)) == []
    other = replace(KEEP, before=TWO_WORKERS, after=TWO_WORKERS)
    assert job.decide(other) == [AnnounceDecision(TuningRecord(0, 0.0, other)), CompileSearch()]


@pytest.mark.parametrize("decision", [WARMING_UP, replace(GAIN, plan=Plan((), ()))])
def test_a_warm_up_and_an_empty_plan_are_no_news(decision: TuningDecision) -> None:
    job = Job()
    assert job.decide(decision) == []
    assert job.state.history.decisions == []


# -- changes -------------------------------------------------------------------------------------


def test_the_report_of_a_change_belongs_to_its_decision() -> None:
    job = Job()
    job.decide(KEEP)
    job.decide(GAIN)
    job.end(change=None, report=FAILED)
    assert [each.report for each in job.state.history.decisions] == [None, None]
    assert job.end(change=0) == [RestartMeasurements((0, 1))]
    assert [each.report for each in job.state.history.decisions] == [None, REPORT]


def test_changes_are_numbered() -> None:
    job = Job()
    job.decide(GAIN)
    job.end(change=0)
    assert job.decide(GAIN)[0] == StartChange(1, PLAN, predicted_gain=0.4, is_urgent=False)


def test_a_change_that_overlooks_a_notice_is_cancelled_until_it_ends() -> None:
    job = Job()
    job.decide(GAIN)
    assert job.check() == []
    assert job.check(leaving=(1,)) == [CancelChange(0)]
    assert job.check(leaving=(1,)) == [CancelChange(0)]
    job.end(change=0)
    assert job.check(leaving=(1,)) != [CancelChange(0)]


def test_a_change_that_leaves_the_machines_is_not_cancelled() -> None:
    job = Job()
    leaving = (CandidateMachine(0), CandidateMachine(1, is_leaving=True), CandidateMachine(2))
    job.decide(DRAIN, leaving)
    assert job.check(leaving=(1,)) == []
    assert job.check(leaving=(1, 2)) == [CancelChange(0)]


# -- epochs --------------------------------------------------------------------------------------


def test_epochs_are_recorded_with_their_configuration_and_time() -> None:
    job = Job()
    job.handle(EpochEnded(103.5, 0, 2.5, ONE_WORKER))
    assert job.state.history.epochs == [EpochRecord(0, 3.5, ONE_WORKER, None, 2.5, True)]


def test_epochs_with_a_part_of_a_change_are_not_steady() -> None:
    job = Job()
    job.epochs(0)
    job.decide(GAIN)
    job.epochs(1, 2)
    job.end(change=0)
    job.epochs(3, 4, roles=TWO_WORKERS)
    assert job.steady == [True, False, False, False, True]


def test_a_change_of_others_makes_its_epoch_unsteady() -> None:
    job = Job()
    job.end(change=None)
    job.epochs(0, 1)
    assert job.steady == [False, True]


def test_the_prediction_of_a_completed_change_holds_until_the_next_one() -> None:
    job = Job()
    job.epochs(0)
    job.decide(GAIN)
    job.end(change=0)
    job.epochs(1, 2)
    job.end(change=None)
    job.epochs(3)
    assert job.predicted_s == [None, 5.0, 5.0, None]


def test_a_change_that_failed_or_was_cut_short_leads_to_no_prediction() -> None:
    job = Job()
    job.decide(GAIN)
    job.end(0, FAILED)
    job.epochs(0)
    job.decide(GAIN)
    job.handle(ReconfigurationEnded(job.now_s, REPORT, (0,), 1, is_cut_short=True))
    job.epochs(1)
    assert job.predicted_s == [None, None]


def test_epochs_that_are_trained_again_are_recorded_again() -> None:
    job = Job()
    job.decide(GAIN)
    job.end(change=0)
    job.epochs(0, 1, 2)
    assert job.handle(RecoveryBegan(1)) == []
    job.handle(TrainingStarted(150.0, (0,)))
    job.decide(KEEP)
    job.epochs(1, 2)
    assert [each.epoch for each in job.state.history.epochs] == [0, 1, 2]
    assert job.steady == [False, False, True]
    assert job.predicted_s == [5.0, None, None]
    assert job.state.history.decisions[-1].at_epoch == 1


def test_times_count_from_the_start_whose_first_epoch_ended() -> None:
    job = Job()
    job.handle(RecoveryBegan(0), TrainingStarted(200.0, (0,)))
    job.handle(EpochEnded(201.0, 0, 1.0, ONE_WORKER))
    job.handle(RecoveryBegan(1), TrainingStarted(300.0, (0,)))
    job.handle(EpochEnded(301.0, 1, 1.0, ONE_WORKER))
    assert [each.end_s for each in job.state.history.epochs] == [1.0, 101.0]
