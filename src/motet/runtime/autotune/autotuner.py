"""Tunes a job while it trains: a thread that carries out the instructions of `TuningState`."""

from __future__ import annotations

import contextlib
import queue
import threading
import time
from collections.abc import Callable, Sequence
from types import TracebackType
from typing import Self

from motet.cruise.calibration.averages import MovingAverages
from motet.cruise.search.solver import compile_search
from motet.cruise.tuner import ConfigurationTuner
from motet.domain.errors import BadInput
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
from motet.runtime.autotune.history import TuningHistory, TuningRecord
from motet.runtime.autotune.instructions import (
    AddMeasurements,
    AnnounceDecision,
    CancelChange,
    CompileSearch,
    Decide,
    Instruction,
    ProposeSize,
    RestartMeasurements,
    StartChange,
)
from motet.runtime.autotune.job_profile import cruise_profile, mean_block_bytes
from motet.runtime.autotune.machine_states import candidate_machines, machine_states
from motet.runtime.autotune.sizing import Sizing
from motet.runtime.autotune.tuning_state import TuningState
from motet.runtime.controller.job import Job
from motet.runtime.controller.reconfiguration.plan_queue import Reconfiguration
from motet.runtime.core.reporting.batch_costs import BatchCost
from motet.runtime.core.reporting.observers import TrainObserver
from motet.runtime.core.reporting.reports import EpochReport, ReconfigurationReport, Recovery

_CHECK_EVERY_S = 0.5
_DECIDING_SHARE = 0.05
"""Decisions take at most this part of the controller's time."""
_LONGEST_PAUSE_S = 10.0
"""Limits the pause after a first search, which may have compiled for long."""
_CLOSE_TIMEOUT_S = 2.0
"""The thread may be compiling the solver, whose result has no use any more."""
_LEAST_BATCHES = 5
"""Few mini-batches suffice at first: as long as they vary, the required gain is higher."""


class Autotuner(TrainObserver):
    """Configures a job while it trains: a context manager around `Job.run`.

    `failure`: why it ended early, empty if it did not. Raises BadInput for a job that cannot be
    tuned.
    """

    def __init__(
        self,
        job: Job,
        on_decision: Callable[[TuningRecord], None] | None = None,
        debounce: MachineDebounce | None = None,
        sizing: Sizing | None = None,
    ) -> None:
        """`on_decision` is called with every decision, on the autotuner's thread; so is `propose`
        of `sizing`, for a job that may ask for other numbers of machines."""
        _require_bsp(job)
        self.failure = ""
        self._job = job
        self._on_decision = on_decision or (lambda record: None)
        averages = MovingAverages(least=_LEAST_BATCHES)
        self._sizing = sizing
        bounds = None if sizing is None else sizing.bounds
        profile, block_bytes = cruise_profile(job), mean_block_bytes(job)
        self._tuner = ConfigurationTuner(profile, block_bytes, averages, bounds=bounds)
        self._state = TuningState(debounce, sizing)
        self._lock = threading.Lock()
        self._changes: dict[int, Reconfiguration] = {}
        self._measurements: queue.SimpleQueue[RestartMeasurements | AddMeasurements] = (
            queue.SimpleQueue()
        )
        self._ended = threading.Event()
        self._woken = threading.Event()
        self._thread = threading.Thread(target=self._run, name="motet-autotuner", daemon=True)

    @property
    def history(self) -> TuningHistory:
        """Decisions with their outcomes, and epochs."""
        return self._state.history

    def __enter__(self) -> Self:
        self._job.listen(self)
        self._job.leave_machines_to(lambda machines: self._woken.set())
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._ended.set()
        self._woken.set()
        self._thread.join(_CLOSE_TIMEOUT_S)

    # -- events of the job -------------------------------------------------------------------------

    def started(self, instance_count: int, model_bytes: int) -> None:
        """Training begins, or continues after a recovery."""
        self._handle(lambda: TrainingStarted(time.monotonic(), self._workers()))

    def measured(self, executor: int, costs: Sequence[BatchCost]) -> None:
        """A worker finished mini-batches."""
        self._handle(lambda: BatchesMeasured(executor, tuple(costs)))

    def epoch_done(self, report: EpochReport) -> None:
        """An epoch ended."""
        self._handle(
            lambda: EpochEnded(
                time.monotonic(), report.epoch_index, report.wall_s, self._job.layout.counts
            )
        )

    def recovering(self, recovery: Recovery) -> None:
        """An executor was lost."""
        self._handle(lambda: RecoveryBegan(recovery.resumed_from_epoch))

    def reconfigured(self, report: ReconfigurationReport) -> None:
        """A reconfiguration ended."""
        self._handle(lambda: self._reconfiguration_ended(report))

    def _reconfiguration_ended(self, report: ReconfigurationReport) -> ReconfigurationEnded:
        now_s, workers = time.monotonic(), self._workers()
        for number, change in self._changes.items():
            if change.report is report:
                del self._changes[number]
                return ReconfigurationEnded(now_s, report, workers, number, change.is_cut_short)
        return ReconfigurationEnded(now_s, report, workers)

    def _workers(self) -> tuple[int, ...]:
        """Workers with data. A failed change may leave others, which measure nothing."""
        layout = self._job.layout
        return tuple(one for one in layout.workers if layout.data.blocks_of(one))

    # -- instructions ------------------------------------------------------------------------------

    def _handle(self, make_event: Callable[[], TuningEvent]) -> list[Instruction]:
        """Pass an event to the state and carry out the quick ones of its instructions.

        The event is made under the lock, so that events arrive in the order of their times.
        """
        with self._lock:
            instructions = self._state.handle(make_event())
            for instruction in instructions:
                self._carry_out_quickly(instruction)
        return instructions

    def _carry_out_quickly(self, instruction: Instruction) -> None:
        match instruction:
            case RestartMeasurements() | AddMeasurements():
                if not self._ended.is_set():
                    self._measurements.put(instruction)
            case StartChange(number, plan, predicted_gain, is_urgent):
                change = self._job.reconfigure(plan, predicted_gain, is_urgent=is_urgent)
                self._changes[number] = change
            case CancelChange(number):
                self._changes[number].cancel()
            case Decide() | AnnounceDecision() | ProposeSize() | CompileSearch():
                pass  # The autotuner's thread carries these out, without the lock.

    # -- the thread --------------------------------------------------------------------------------

    def _run(self) -> None:
        """After an error training goes on without tuning."""
        try:
            self._decide_until_the_end()
        except Exception as error:
            self.failure = f"{type(error).__name__}: {error}"
            self._ended.set()
            self._job.leave_machines_to(None)

    def _decide_until_the_end(self) -> None:
        pause_s = _CHECK_EVERY_S
        while not self._ended.is_set():
            self._woken.wait(pause_s)
            self._woken.clear()
            began_s = time.monotonic()
            self._check()
            pause_s = pause_after(time.monotonic() - began_s)

    def _check(self) -> None:
        layout = self._job.layout
        machines = tuple(candidate_machines(self._job.machines()))
        states = tuple(machine_states(layout))
        instructions = self._handle(lambda: MachinesChecked(time.monotonic(), machines, states))
        self._take_in_measurements()
        for instruction in instructions:
            # After a change that ended meanwhile the measurements are of another layout.
            if isinstance(instruction, Decide) and self._job.layout is layout:
                self._decide(instruction)

    def _decide(self, instruction: Decide) -> None:
        machines = instruction.machines
        decision = self._tuner.decide(machines, instruction.states)
        for made in self._handle(lambda: DecisionMade(time.monotonic(), machines, decision)):
            if isinstance(made, AnnounceDecision):
                self._on_decision(made.record)
            elif isinstance(made, ProposeSize) and self._sizing is not None:
                self._sizing.propose(made)
            elif isinstance(made, CompileSearch):
                compile_search()

    def _take_in_measurements(self) -> None:
        with contextlib.suppress(queue.Empty):
            while True:
                match self._measurements.get_nowait():
                    case RestartMeasurements(workers):
                        self._tuner.restart(workers)
                    case AddMeasurements(measurements):
                        for measured in measurements:
                            self._tuner.observe(measured)


def pause_after(decided_s: float) -> float:
    """Seconds until the next check after one that took so long."""
    return min(max(_CHECK_EVERY_S, decided_s / _DECIDING_SHARE), _LONGEST_PAUSE_S)


def _require_bsp(job: Job) -> None:
    consistency = job.plan.sync.consistency
    if not consistency.is_lockstep:
        raise BadInput(
            f"consistency={consistency.name}: a job can configure itself under bsp only, whose "
            "mini-batches its cost model describes; leave consistency or --auto out"
        )
