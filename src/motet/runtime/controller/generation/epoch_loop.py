"""The controller's loop over a generation's epochs: collect, evaluate, checkpoint, answer."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

from motet.domain.arrays import Array
from motet.domain.errors import Interrupted, JobFailed
from motet.runtime.controller.checkpoints.checkpoint import Checkpoint
from motet.runtime.controller.checkpoints.folder import CheckpointFolder
from motet.runtime.controller.event_inbox import (
    BatchProgress,
    CancelRequested,
    ControllerEvent,
    ExecutorEnded,
    ObserverFailed,
    SuspensionRequested,
    WorkerPaused,
    WorkerReport,
)
from motet.runtime.controller.generation.epoch_barrier import AnswerWorker, EndEpoch, EpochBarrier
from motet.runtime.controller.generation.epoch_summary import epoch_summary, total_sums
from motet.runtime.controller.progress import Progress
from motet.runtime.core.application import Evaluation
from motet.runtime.core.options import TrainOptions
from motet.runtime.core.reporting.observers import TrainObserver
from motet.runtime.core.reporting.reports import EpochReport
from motet.runtime.core.rows import Rows
from motet.runtime.wire.assignment import CONTROLLER
from motet.runtime.wire.control_messages import SpillUse


def _ignore(count: int) -> None:
    del count


def _do_nothing() -> None:
    pass


class GenerationLost(Exception):
    """An executor died or was cut off: this generation cannot go on."""


class EpochState(Protocol):
    """What the loop reads of a generation; see `Generation`."""

    @property
    def number(self) -> int:
        """Of the generation."""
        ...

    @property
    def batch_count(self) -> int:
        """Mini-batches of an epoch."""
        ...

    @property
    def instance_count(self) -> int:
        """Instances of the data set."""
        ...

    def workers_of(self, epoch: int) -> tuple[int, ...]:
        """The workers that finish an epoch."""
        ...

    def workers_before(self, clock: int) -> tuple[int, ...]:
        """The workers of the mini-batch before this one."""
        ...

    def is_expected(self, number: int, life: int) -> bool:
        """Whether an executor may end."""
        ...

    def summarise(self, model: Array, sums: Array, earlier: Sequence[EpochReport]) -> Evaluation:
        """Loss, metrics and residual."""
        ...

    def review_spill(self) -> Sequence[SpillUse]:
        """What of the model is on disk at every executor after an epoch."""
        ...

    def read_model(self, clock: int) -> Array:
        """The whole model before a mini-batch."""
        ...

    def read_state(self, clock: int) -> Rows:
        """All instances' state columns before a mini-batch."""
        ...


class EpochLoop:
    """Answers every worker at the end of every epoch, until the last one.

    A suspension pauses all workers at the same mini-batch, the first that none of them has begun:
    where workers do not keep step, those that are behind first reach it. Then every instance has
    been computed as often as after so many mini-batches of one worker.
    """

    def __init__(
        self,
        generation: EpochState,
        next_event: Callable[[], ControllerEvent],
        options: TrainOptions,
        progress: Progress,
        folder: CheckpointFolder | None,
        observer: TrainObserver,
        on_epochs_done: Callable[[int], None] = _ignore,
        pause: Callable[[], None] = _do_nothing,
    ) -> None:
        """`next_event` waits for an event. `pause` has all workers stop at the next mini-batch, and
        does not wait for it.

        `folder`: where checkpoints are written; None: they are kept in memory only.
        `on_epochs_done(count)` is called before the workers are answered.
        """
        self._on_epochs_done = on_epochs_done
        self._generation = generation
        self._next_event = next_event
        self._options = options
        self._progress = progress
        self._folder = folder
        self._observer = observer
        first_epoch = progress.checkpoint.epoch_count
        self._barrier = EpochBarrier(options, first_epoch, generation.workers_of)
        self._is_suspending = False
        self._pause = pause
        self._paused: set[int] = set()

    def run(self) -> Checkpoint:
        """The final state.

        Raises GenerationLost, JobFailed, Interrupted (after a suspension, with a new checkpoint) or
        what an observer raised.
        """
        while True:
            event = self._next_event()
            if isinstance(event, CancelRequested):
                raise Interrupted("the job was cancelled")
            if isinstance(event, ObserverFailed):
                raise event.error
            if isinstance(event, SuspensionRequested):
                self._suspend()
                continue
            if event.generation != self._generation.number:
                continue
            final = self._handle(event)
            if final is not None:
                return final

    def _suspend(self) -> None:
        if not self._is_suspending:
            self._pause()
        self._is_suspending = True

    def _handle(
        self, event: WorkerReport | BatchProgress | WorkerPaused | ExecutorEnded
    ) -> Checkpoint | None:
        if isinstance(event, WorkerReport):
            return self._worker_done(event)
        if isinstance(event, WorkerPaused):
            self._worker_paused(event)
        elif isinstance(event, BatchProgress):
            self._batch_done(event)
        elif not self._generation.is_expected(event.number, event.life):
            _raise_end(event)
        return None

    def _batch_done(self, event: BatchProgress) -> None:
        self._observer.measured(event.rank, event.costs)
        if event.leads:
            self._observer.batch_done(event.epoch, event.batch, self._generation.batch_count)

    def _worker_done(self, report: WorkerReport) -> Checkpoint | None:
        for instruction in self._barrier.report(report):
            if isinstance(instruction, AnswerWorker):
                instruction.report.answer(instruction.directive)
                continue
            final = self._end_epoch(instruction)
            if final is not None:
                return final
        return None

    def _worker_paused(self, event: WorkerPaused) -> None:
        """Raises Interrupted, with a checkpoint, when all workers stand at the mini-batch."""
        self._paused.add(event.rank)
        if not self._paused.issuperset(self._generation.workers_before(event.clock)):
            return
        epochs, batches = divmod(event.clock, self._generation.batch_count)
        self._write_checkpoint(
            epochs, self._generation.read_model(event.clock), is_last=False, batches=batches
        )
        raise Interrupted(
            f"the job was stopped after {_counted(epochs)} and {batches} of "
            f"{self._generation.batch_count} mini-batches"
        )

    def _end_epoch(self, ended: EndEpoch) -> Checkpoint | None:
        """Evaluate an epoch and answer its workers; the final state when training is over."""
        final = self._evaluate(ended)
        if final is None:
            self._on_epochs_done(ended.epoch + 1)
        for answer in self._barrier.evaluated(ended, is_last=final is not None):
            answer.report.answer(answer.directive)
        return final

    def _evaluate(self, ended: EndEpoch) -> Checkpoint | None:
        """Report an epoch and write its checkpoint; the final state when training is over."""
        epoch, workers = ended.epoch, [report.done for report in ended.reports]
        model = self._generation.read_model((epoch + 1) * self._generation.batch_count)
        reports = self._progress.reports
        evaluation = self._generation.summarise(model, total_sums(workers), reports)
        spills = self._generation.review_spill()
        report = epoch_summary(workers, evaluation, self._generation.instance_count, spills)
        self._progress.reports.append(report)
        self._observer.epoch_done(report)
        is_last = self._is_last(epoch)
        is_suspended = self._is_suspending and self._barrier.is_rendezvous(epoch)
        if is_last or is_suspended or self._barrier.is_checkpoint(epoch):
            self._write_checkpoint(epoch + 1, model, is_last=is_last)
        if is_suspended and not is_last:
            raise Interrupted(f"the job was stopped after {_counted(epoch + 1)}")
        return self._progress.checkpoint.read() if is_last else None

    def _is_last(self, epoch: int) -> bool:
        """Training can only end where all workers wait."""
        return self._barrier.is_rendezvous(epoch) and self._progress.is_last(epoch, self._options)

    def _write_checkpoint(
        self, epoch_count: int, model: Array, *, is_last: bool, batches: int = 0
    ) -> None:
        """Keep the final state in memory, any other only on disk if there is a folder."""
        state = self._generation.read_state(epoch_count * self._generation.batch_count + batches)
        reports = tuple(self._progress.reports)
        checkpoint = Checkpoint(epoch_count, model, state, reports, batches=batches)
        if self._folder is not None:
            self._folder.write(checkpoint)
        self._progress.checkpoint = checkpoint
        if not is_last:
            self._progress.drop_from_memory(self._folder)


def _raise_end(event: ExecutorEnded) -> None:
    """Raises what the unexpected end of an executor means for its generation."""
    outcome = event.outcome
    if outcome is None:
        raise GenerationLost(f"executor {event.number} died")
    if outcome.kind == "failed":
        failure = JobFailed(f"executor {event.number}: {outcome.detail}")
        failure.add_note(outcome.trace)
        raise failure
    if outcome.kind == "aborted" and event.number == CONTROLLER:
        raise GenerationLost(outcome.detail)
    if outcome.kind == "aborted":
        raise GenerationLost(f"executor {event.number} was cut off: {outcome.detail}")


def _counted(epochs: int) -> str:
    return "1 epoch" if epochs == 1 else f"{epochs} epochs"
