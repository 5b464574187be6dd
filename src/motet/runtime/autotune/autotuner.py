"""Drives a job: what its workers measure goes to Cruise, what Cruise decides is carried out."""

from __future__ import annotations

import contextlib
import queue
import threading
import time
from collections.abc import Callable, Sequence
from types import TracebackType
from typing import Self

from motet.cruise.calibration.averages import BatchMeasurement, MovingAverages
from motet.cruise.calibration.machine_groups import CandidateMachine
from motet.cruise.decision import TuningDecision
from motet.cruise.search.solver import best_configuration
from motet.cruise.trigger import TuningReason
from motet.cruise.tuner import ConfigurationTuner
from motet.domain.errors import BadInput
from motet.estimate.epoch_cost import Fleet, MachineType, Profile
from motet.runtime.autotune.history import EpochRecord, Flight, Turn
from motet.runtime.autotune.job_profile import block_bytes_of, profile_of
from motet.runtime.autotune.machine_settling import Settling, Underway, leaving_of
from motet.runtime.autotune.machine_states import candidate_machines, machine_states
from motet.runtime.controller.job import Job
from motet.runtime.core.batch_costs import BatchCost
from motet.runtime.core.observers import TrainObserver
from motet.runtime.core.reports import EpochReport, ReconfigurationReport, Recovery
from motet.runtime.elastic.layout import Layout

_LOOK_EVERY_S = 0.5
# Deciding takes at most this part of the controller's time.
_DECIDING_SHARE = 0.05
# A first search for machines of several types may have compiled for long.
_LONGEST_LOOK_S = 10.0
_AFTER_FAILURE_S = 5.0
_LONGEST_PAUSE_S = 60.0
# It may be compiling the solver, which nobody needs any more.
_CLOSE_TIMEOUT_S = 2.0
_SMALLEST = Profile(2, 1, 1.0, 2, 2)
_UNLIKE = Fleet((MachineType("fast", 1, 1.0), MachineType("slow", 1, 2.0)), ((1.0, 1.0),) * 2)


class Pilot(TrainObserver):
    """Configures a job while it trains: a context manager around `Job.run`.

    `flight`: what it decided, and what came of it; `failure`: why it gave up, if it did.
    Raises BadInput for a job that it cannot drive.
    """

    def __init__(
        self,
        job: Job,
        on_turn: Callable[[Turn], None] | None = None,
        settling: Settling | None = None,
    ) -> None:
        """`on_turn` hears of every decision when it is made, on a thread of the pilot's own.

        `settling`: how long machines must have been the same before it decides.
        """
        _check(job)
        self.flight = Flight()
        self.failure = ""
        self._job = job
        self._on_turn = on_turn or (lambda turn: None)
        self._settling = settling or Settling()
        self._autopilot = ConfigurationTuner(profile_of(job), block_bytes_of(job), _averages())
        self._inbox: queue.SimpleQueue[Callable[[], None]] = queue.SimpleQueue()
        self._lock = threading.Lock()
        self._ended = threading.Event()
        self._woken = threading.Event()
        self._began_s = time.monotonic()
        self._is_training = False
        self._heard: set[int] = set()
        self._epochs_done = 0
        self._pending: list[Underway] = []
        self._is_disturbed = False
        self._predicted_s: float | None = None
        self._failures = 0
        self._not_before_s = 0.0
        self._thread = threading.Thread(target=self._run, name="motet-pilot", daemon=True)

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

    # -- what the job tells ------------------------------------------------------------------------

    def started(self, instance_count: int, model_bytes: int) -> None:
        """Training begins, or goes on after a recovery."""
        with self._lock:
            if not self._is_training and not self.flight.epochs:
                self._began_s = time.monotonic()
            self._is_training = True
            self._restart()

    def measured(self, executor: int, costs: Sequence[BatchCost]) -> None:
        """Mini-batches of a worker; its first ones after a change may be older than the change."""
        self._inbox.put(lambda: self._observe(executor, costs))

    def epoch_done(self, report: EpochReport) -> None:
        """Note the epoch with its configuration."""
        with self._lock:
            self._epochs_done = report.epoch + 1
            record = EpochRecord(
                report.epoch,
                time.monotonic() - self._began_s,
                self._job.layout.counts,
                self._predicted_s,
                report.wall_s,
                not self._is_disturbed,
            )
            self.flight.epochs.append(record)
            self._is_disturbed = bool(self._pending)

    def recovering(self, recovery: Recovery) -> None:
        """What was trained since the checkpoint is trained again."""
        with self._lock:
            self._is_training, self._is_disturbed, self._predicted_s = False, True, None
            again = recovery.resumed_from_epoch
            self.flight.epochs[:] = [each for each in self.flight.epochs if each.epoch < again]
            self._epochs_done = again

    def reconfigured(self, report: ReconfigurationReport) -> None:
        """Measure anew."""
        with self._lock:
            self._is_disturbed = True
            self._predicted_s = None
            for pending in self._pending:
                if pending.wanted.report is report:
                    pending.turn.report = report
                    self._judge(pending, report)
            self._pending = [each for each in self._pending if each.turn.report is None]
            self._restart()

    # -- deciding ----------------------------------------------------------------------------------

    def _run(self) -> None:
        """Training goes on where this cannot."""
        try:
            self._decide_until_the_end()
        except Exception as error:
            self.failure = f"{type(error).__name__}: {error}"
            self._job.leave_machines_to(None)

    def _decide_until_the_end(self) -> None:
        # The first search compiles the solver, the first one with types the larger part of it: that
        # is done when the job stays as it is, so that nothing waits for it later.
        best_configuration(_SMALLEST, Fleet.uniform(2, 1.0, 1.0))
        pause_s = _LOOK_EVERY_S
        while not self._ended.is_set():
            self._woken.wait(pause_s)
            self._woken.clear()
            began_s = time.monotonic()
            turn = self._look()
            if turn is not None:
                self._on_turn(turn)
                if turn.decision.plan is None:
                    best_configuration(_SMALLEST, _UNLIKE)
            pause_s = pause_after(time.monotonic() - began_s)

    def _look(self) -> Turn | None:
        """Decide if it is time to; what is worth telling."""
        layout, machines = self._job.layout, candidate_machines(self._job.machines())
        self._settling.look(machines, time.monotonic())
        may_decide = self._is_training and self._may_decide(layout, machines)
        # A change that ended before that has put its restart into the inbox.
        self._listen()
        if not may_decide or self._job.layout is not layout:
            return None
        # A machine that is gone takes its executor along: the job is about to recover.
        if not {*layout.executors} <= {each.number for each in machines}:
            return None
        decision = self._autopilot.decide(machines, machine_states(layout))
        if not self._is_news(decision):
            return None
        with self._lock:
            turn = Turn(self._epochs_done, time.monotonic() - self._began_s, decision)
            self.flight.turns.append(turn)
            self._carry_out(turn, machines)
        return turn

    def _listen(self) -> None:
        """Take in what has been measured."""
        with contextlib.suppress(queue.Empty):
            while True:
                self._inbox.get_nowait()()

    def _may_decide(self, layout: Layout, machines: Sequence[CandidateMachine]) -> bool:
        """Whether nothing is under way and the machines have settled.

        A notice does not wait for the time after a failure, and ends what does not know of it.
        """
        leaving, executors = leaving_of(machines), {*layout.executors}
        with self._lock:
            pending = list(self._pending)
        for each in pending:
            if each.overlooks(leaving, executors):
                each.wanted.cancel()
        if pending:
            return False
        must_leave, now_s = not leaving.isdisjoint(executors), time.monotonic()
        if now_s < self._not_before_s and not must_leave:
            return False
        return self._settling.is_settled(now_s, must_leave=must_leave)

    def _observe(self, executor: int, costs: Sequence[BatchCost]) -> None:
        if executor not in self._heard:
            self._heard.add(executor)
            return
        for cost in costs:
            self._autopilot.observe(
                BatchMeasurement(
                    executor,
                    cost.comp_s,
                    cost.comm_s,
                    cost.batch_s,
                    cost.instances,
                    cost.pulled_bytes,
                    cost.pushed_bytes,
                )
            )

    def _is_news(self, decision: TuningDecision) -> bool:
        """Keeping a configuration is told once."""
        if decision.plan is not None:
            return not decision.plan.is_empty
        if decision.reason is TuningReason.WARMING_UP:
            return False
        last = self.flight.turns[-1].decision if self.flight.turns else None
        return last is None or (last.reason, last.after) != (decision.reason, decision.after)

    def _carry_out(self, turn: Turn, machines: Sequence[CandidateMachine]) -> None:
        plan = turn.decision.plan
        if plan is None:
            return
        gain = turn.decision.gain if turn.decision.measured_s is not None else None
        self._is_disturbed = True
        is_urgent = turn.decision.reason is TuningReason.DRAIN
        wanted = self._job.reconfigure(plan, gain, is_urgent=is_urgent)
        self._pending.append(Underway(wanted, turn, leaving_of(machines)))

    def _judge(self, pending: Underway, report: ReconfigurationReport) -> None:
        """After failures the next attempt waits ever longer."""
        if report.error:
            self._failures += 1
            pause_s = min(_AFTER_FAILURE_S * 2.0**self._failures, _LONGEST_PAUSE_S)
            self._not_before_s = time.monotonic() + pause_s
        else:
            self._failures = 0
            if not pending.wanted.is_cut_short:
                self._predicted_s = pending.turn.decision.predicted_s

    def _restart(self) -> None:
        """What is in the inbox already is of the time before.

        Workers without data, which a change that failed may leave, have nothing to measure.
        """
        layout = self._job.layout
        workers = [one for one in layout.workers if layout.data.blocks_of(one)]

        def restart() -> None:
            self._heard.clear()
            self._autopilot.restart(workers)

        self._inbox.put(restart)


def pause_after(decided_s: float) -> float:
    """Seconds until the next look after one that took so long."""
    return min(max(_LOOK_EVERY_S, decided_s / _DECIDING_SHARE), _LONGEST_LOOK_S)


def _averages() -> MovingAverages:
    """Few mini-batches are enough to begin with: as long as they vary, the bar is higher."""
    return MovingAverages(least=5)


def _check(job: Job) -> None:
    consistency = job.plan.sync.consistency
    if consistency != "bsp":
        raise BadInput(
            f"consistency={consistency}: a job can configure itself under bsp only, whose "
            "mini-batches its cost model describes; leave consistency or --auto out"
        )
