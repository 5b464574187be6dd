"""The state of a tuned job: events in, instructions out. Pure, and quick for every event."""

from __future__ import annotations

from collections.abc import Set
from itertools import count

from motet.cruise.calibration.averages import BatchMeasurement
from motet.cruise.decision import TuningDecision, TuningReason
from motet.domain.reconfiguration import Plan
from motet.runtime.autotune.backoff import FailureBackoff
from motet.runtime.autotune.change_in_progress import ChangeInProgress
from motet.runtime.autotune.debounce import MachineDebounce, leaving_machines
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
from motet.runtime.autotune.history import EpochRecord, TuningHistory, TuningRecord
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
from motet.runtime.autotune.sizing import SizeWishes, Sizing


class TuningState:
    """When to decide, what is under way, and what happened. `history` may be read at any time."""

    def __init__(
        self, debounce: MachineDebounce | None = None, sizing: Sizing | None = None
    ) -> None:
        """`sizing`: of a job that may ask for other numbers of machines."""
        self._wishes = None if sizing is None else SizeWishes(sizing)
        self.history = TuningHistory()
        self._debounce = debounce or MachineDebounce()
        self._backoff = FailureBackoff()
        self._began_s = 0.0
        self._is_training = False
        self._epochs_done = 0
        self._predicted_s: float | None = None
        self._is_epoch_mixed = False
        self._reporting: set[int] = set()
        self._changes: dict[int, ChangeInProgress] = {}
        self._change_numbers = count()

    def handle(self, event: TuningEvent) -> list[Instruction]:
        """Take in an event; what is to be done about it, in this order."""
        match event:
            case TrainingStarted():
                return self._training_started(event)
            case BatchesMeasured():
                return self._batches_measured(event)
            case EpochEnded():
                return self._epoch_ended(event)
            case RecoveryBegan():
                return self._recovery_began(event)
            case ReconfigurationEnded():
                return self._reconfiguration_ended(event)
            case MachinesChecked():
                return self._machines_checked(event)
            case DecisionMade():
                return self._decision_made(event)

    # -- training --------------------------------------------------------------------------------

    def _training_started(self, event: TrainingStarted) -> list[Instruction]:
        if not self._is_training and not self.history.epochs:
            self._began_s = event.at_s
        self._is_training = True
        return self._restart(event.workers)

    def _restart(self, workers: tuple[int, ...]) -> list[Instruction]:
        self._reporting.clear()
        return [RestartMeasurements(workers)]

    def _batches_measured(self, event: BatchesMeasured) -> list[Instruction]:
        if event.executor not in self._reporting:
            # The first report after a change may hold mini-batches from before the change.
            self._reporting.add(event.executor)
            return []
        measurements = tuple(
            BatchMeasurement(
                event.executor,
                cost.comp_s,
                cost.comm_s,
                cost.batch_s,
                cost.instances,
                cost.pulled_bytes,
                cost.pushed_bytes,
            )
            for cost in event.costs
        )
        return [AddMeasurements(measurements)]

    def _epoch_ended(self, event: EpochEnded) -> list[Instruction]:
        self._epochs_done = event.epoch + 1
        self.history.epochs.append(
            EpochRecord(
                event.epoch,
                event.at_s - self._began_s,
                event.roles,
                self._predicted_s,
                event.measured_s,
                not self._is_epoch_mixed,
            )
        )
        self._is_epoch_mixed = bool(self._changes)
        return []

    def _recovery_began(self, event: RecoveryBegan) -> list[Instruction]:
        self._is_training, self._is_epoch_mixed, self._predicted_s = False, True, None
        self.history.drop_epochs_from(event.resumed_from_epoch)
        self._epochs_done = event.resumed_from_epoch
        return []

    # -- decisions -------------------------------------------------------------------------------

    def _machines_checked(self, event: MachinesChecked) -> list[Instruction]:
        self._debounce.observe(event.machines, event.at_s)
        if not self._is_training:
            return []
        leaving = leaving_machines(event.machines)
        executors = frozenset(state.machine for state in event.states)
        if self._changes:
            return self._cancellations(leaving, executors)
        # A machine that is gone takes its executor along: the job is about to recover.
        is_complete = executors <= {machine.number for machine in event.machines}
        must_leave = not leaving.isdisjoint(executors)
        if is_complete and self._may_decide(event.at_s, must_leave):
            return [Decide(event.machines, event.states)]
        return []

    def _cancellations(self, leaving: Set[int], executors: Set[int]) -> list[Instruction]:
        return [
            CancelChange(number)
            for number, change in self._changes.items()
            if change.overlooks(leaving, executors)
        ]

    def _may_decide(self, now_s: float, must_leave: bool) -> bool:
        """A notice has a deadline, so it ends the pause after a failure."""
        if self._backoff.is_paused(now_s) and not must_leave:
            return False
        return self._debounce.is_stable(now_s, must_leave=must_leave)

    def _decision_made(self, event: DecisionMade) -> list[Instruction]:
        wishes = self._wishes and self._wishes.decided(event.decision, self._epochs_done)
        return [*self._told(event), *(wishes or ())]

    def _told(self, event: DecisionMade) -> list[Instruction]:
        decision = event.decision
        if not self._is_news(decision):
            return []
        record = TuningRecord(self._epochs_done, event.at_s - self._began_s, decision)
        self.history.decisions.append(record)
        announcement = AnnounceDecision(record)
        if decision.plan is None:
            return [announcement, CompileSearch()]
        return [self._start(event, decision, decision.plan), announcement]

    def _is_news(self, decision: TuningDecision) -> bool:
        """Whether it differs from the last one. Keeping a configuration is announced once."""
        if decision.plan is not None:
            return not decision.plan.is_empty
        if decision.reason is TuningReason.WARMING_UP:
            return False
        last = self.history.decisions[-1].decision if self.history.decisions else None
        return last is None or (last.reason, last.after) != (decision.reason, decision.after)

    # -- changes ---------------------------------------------------------------------------------

    def _start(self, event: DecisionMade, decision: TuningDecision, plan: Plan) -> StartChange:
        number = next(self._change_numbers)
        self._changes[number] = ChangeInProgress(
            len(self.history.decisions) - 1,
            plan,
            decision.predicted_s,
            leaving_machines(event.machines),
        )
        self._is_epoch_mixed = True
        gain = decision.gain if decision.measured_s is not None else None
        return StartChange(number, plan, gain, is_urgent=decision.reason is TuningReason.DRAIN)

    def _reconfiguration_ended(self, event: ReconfigurationEnded) -> list[Instruction]:
        self._is_epoch_mixed, self._predicted_s = True, None
        if event.change is not None:
            change = self._changes.pop(event.change)
            self.history.add_report(change.decision, event.report)
            self._record_outcome(change, event)
        return self._restart(event.workers)

    def _record_outcome(self, change: ChangeInProgress, event: ReconfigurationEnded) -> None:
        if event.report.error:
            self._backoff.failed(event.at_s)
            return
        self._backoff.succeeded()
        if not event.is_cut_short:
            self._predicted_s = change.predicted_s
