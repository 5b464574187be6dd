"""An executor's worker: mini-batch after mini-batch, from one change of its work to the next."""

from __future__ import annotations

from typing import NoReturn

from motet.domain.arrays import Array
from motet.runtime.client.remote_model import RemoteModel
from motet.runtime.core.subtask import SubtaskLog, monotonic_us
from motet.runtime.core.sums import Place
from motet.runtime.core.table_spec import pulls_ahead
from motet.runtime.executor.generation_context import GenerationContext
from motet.runtime.executor.reporter import Reporter
from motet.runtime.stealing.batch_runner import StealingBatchRunner
from motet.runtime.stealing.messages import StealMessenger
from motet.runtime.stealing.thief import Thief
from motet.runtime.wire.control_messages import WorkChanged
from motet.runtime.wire.errors import StaleGeneration
from motet.runtime.wire.ownership import WorkChange
from motet.runtime.worker.runners.batch_runner import BatchRunner
from motet.runtime.worker.runners.pipelined_batch_runner import PipelinedBatchRunner
from motet.runtime.worker.runners.plain_batch_runner import PlainBatchRunner
from motet.runtime.worker.share import DataShare
from motet.runtime.worker.step_gate import WorkPaused
from motet.runtime.worker.worker import Worker


class WorkerRemoved(Exception):
    """A change has taken the worker's role from this executor."""


class TrainLoop:
    """Trains until the controller answers "stop", or until the executor is no worker any more."""

    def __init__(self, context: GenerationContext, first_clock: int) -> None:
        """A worker that joins later gets its place with the change that makes it one."""
        assignment = context.assignment
        self._context = context
        self._first_clock = first_clock
        self._batch_count = assignment.schedule.batch_count
        workers = assignment.sync.workers
        is_first = context.executor in workers
        place = _place(context.executor, workers) if is_first else Place(0, 1)
        self._overlaps = pulls_ahead(assignment.sync, assignment.table)
        self._model = RemoteModel(
            context.client,
            context.executor,
            place,
            first_clock,
            is_lockstep=assignment.sync.consistency.is_lockstep,
            pulls_ahead=self._overlaps,
            require=context.require,
            # Others may use the network while this worker waits; thieves need a PULL of its own.
            pulls_with_push=lambda: context.resources.gate.is_free and not assignment.helps,
        )
        self._workers = workers
        self._reporter = Reporter(context, self._model)
        self._runner = self._made_runner()
        self._worker = Worker(
            assignment.app,
            assignment.schedule,
            self._share_at,
            self._model,
            self._runner,
            monotonic_us,
            self._reporter.batch_done,
            context.resources.gate,
        )

    def run(self) -> bool:
        """Whether training is over; False: only this executor's work is."""
        epoch, first = divmod(self._first_clock, self._batch_count)
        try:
            while True:
                log = self._worker.run_epoch(epoch, first)
                self._model.finished_clock = (epoch + 1) * self._batch_count
                sums = self._evaluate(log)
                if self._reporter.epoch_done(epoch, log, sums) == "stop":
                    return True
                epoch, first = epoch + 1, 0
        except WorkerRemoved:
            return False
        finally:
            self._runner.close()

    def _evaluate(self, log: SubtaskLog) -> Array:
        """The evaluation sums over this worker's instances; empty for none."""
        share = self._context.data.share
        if not share.instances and self._context.assignment.sync.consistency.counts_finished:
            # Servers that the last PUSH did not reach count its mini-batch from this PULL.
            self._model.await_finished()
        sums = self._worker.evaluate(share, log)
        self._model.end_pull()
        return sums

    def _made_runner(self) -> BatchRunner:
        context, app = self._context, self._context.assignment.app
        if self._overlaps:
            return PipelinedBatchRunner(app, self._model, context.assignment.schedule)
        if not context.assignment.helps:
            return PlainBatchRunner(app, self._model)
        messenger = StealMessenger(context.number, context.peers)
        thief = Thief(context.executor, app, self._model, messenger)
        return StealingBatchRunner(app, self._model, context.victim, thief, lambda: self._workers)

    def _share_at(self, clock: int) -> DataShare:
        try:
            change = self._context.step_gate.begin(clock)
        except WorkPaused:
            self._wait_for_end(clock)
        if change is not None:
            self._carry_out(change)
        return self._context.data.share

    def _wait_for_end(self, clock: int) -> NoReturn:
        """The controller reads the state from here, and then ends the generation."""
        self._runner.flush()
        self._reporter.paused(clock)
        self._context.ended.wait()
        raise StaleGeneration("the job was paused")

    def _carry_out(self, change: WorkChange) -> None:
        """Use the prepared data and the new place among the workers."""
        self._runner.flush()
        began_us = monotonic_us()
        context = self._context
        if context.data.change(change):
            self._model.forget_batches()
        context.is_worker = context.executor in change.workers
        self._workers = change.workers
        if context.is_worker:
            self._model.place = _place(context.executor, change.workers)
        context.changed(change.number, WorkChanged(monotonic_us() - began_us))
        if not context.is_worker:
            raise WorkerRemoved


def _place(executor: int, workers: tuple[int, ...]) -> Place:
    return Place(workers.index(executor), len(workers))
