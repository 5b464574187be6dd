"""The controller's loop over a generation's epochs: collect, evaluate, checkpoint, answer."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from motet.domain.arrays import Array
from motet.domain.errors import Interrupted, JobFailed
from motet.runtime.controller.checkpoint import Checkpoint, CheckpointFolder
from motet.runtime.controller.event_inbox import (
    BatchProgress,
    Cancelled,
    Event,
    EventInbox,
    ExecutorEnded,
    ObserverFailed,
    WorkerReport,
)
from motet.runtime.controller.executor_group import Generation
from motet.runtime.core.observers import TrainObserver
from motet.runtime.core.options import TrainOptions
from motet.runtime.core.reports import EpochReport, ReconfigurationReport, Recovery
from motet.runtime.wire.assignment import CONTROLLER


def _ignore(count: int) -> None:
    del count


class GenerationLost(Exception):
    """An executor died or was cut off: this generation cannot go on."""


@dataclass
class Progress:
    """Where training stands: what a restart would need, and what to tell at the end."""

    checkpoint: Checkpoint
    reports: list[EpochReport] = field(default_factory=list)
    recoveries: list[Recovery] = field(default_factory=list)
    resumed_from_epoch: int | None = None
    reconfigurations: list[ReconfigurationReport] = field(default_factory=list)


class EpochLoop:
    """Answers every worker at the end of every epoch, until the last one.

    Under BSP the answer is a barrier. Under SSP and async workers go on at once, but for epochs
    that end with a checkpoint or a decision.
    """

    def __init__(
        self,
        generation: Generation,
        controller: EventInbox,
        options: TrainOptions,
        progress: Progress,
        folder: CheckpointFolder | None,
        observer: TrainObserver,
        on_epochs_done: Callable[[int], None] = _ignore,
    ) -> None:
        """`folder`: where checkpoints are written; None: they are kept in memory only.

        `on_epochs_done` hears how many there are, before the workers are answered.
        """
        self._on_epochs_done = on_epochs_done
        self._generation = generation
        self._events = controller.events
        self._options = options
        self._progress = progress
        self._folder = folder
        self._observer = observer
        self._arrived: dict[int, dict[int, WorkerReport]] = {}
        self._ended_epoch = progress.checkpoint.epoch_count - 1

    def run(self) -> Checkpoint:
        """The final state.

        Raises GenerationLost, JobFailed, Interrupted or what an observer raised.
        """
        while True:
            event = self._events.get()
            if isinstance(event, Cancelled):
                raise Interrupted("the job was cancelled")
            if isinstance(event, ObserverFailed):
                raise event.error
            if event.generation != self._generation.number:
                continue
            final = self._handle(event)
            if final is not None:
                return final

    def _handle(self, event: Event) -> Checkpoint | None:
        if isinstance(event, WorkerReport):
            return self._worker_done(event)
        if isinstance(event, BatchProgress):
            self._observer.measured(event.rank, event.costs)
            if event.leads:
                batch_count = self._generation.batch_count
                self._observer.batch_done(event.epoch, event.batch, batch_count)
        elif isinstance(event, ExecutorEnded) and not self._is_expected(event):
            _judge(event)
        return None

    def _is_expected(self, event: ExecutorEnded) -> bool:
        return self._generation.is_expected(event.number, event.life)

    def _worker_done(self, report: WorkerReport) -> Checkpoint | None:
        """Count a report; one that was sent again takes the place of the first."""
        meets = self._is_rendezvous(report.epoch)
        if not meets or report.epoch <= self._ended_epoch:
            report.answer("continue")
        if report.epoch <= self._ended_epoch:
            return None
        by_rank = self._arrived.setdefault(report.epoch, {})
        by_rank[report.rank] = report
        workers = self._generation.workers_at((report.epoch + 1) * self._generation.batch_count - 1)
        if not by_rank.keys() >= set(workers):
            return None
        reports = [by_rank[rank] for rank in workers]
        del self._arrived[report.epoch]
        final = self._end_epoch(reports)
        self._ended_epoch = report.epoch
        if final is None:
            self._on_epochs_done(report.epoch + 1)
        if meets:
            for each in reports:
                each.answer("continue" if final is None else "stop")
        return final

    def _end_epoch(self, reports: list[WorkerReport]) -> Checkpoint | None:
        """Evaluate, tell, checkpoint; the final state when training is over."""
        epoch = reports[0].epoch
        model = self._generation.read_model(epoch + 1)
        self._progress.reports.append(self._summary(reports, model))
        self._observer.epoch_done(self._progress.reports[-1])
        is_last = self._is_last(epoch)
        if not is_last and not self._is_checkpoint(epoch):
            return None
        state = self._generation.read_state(epoch + 1)
        checkpoint = Checkpoint(epoch + 1, model, state, tuple(self._progress.reports))
        if self._folder is not None:
            self._folder.write(checkpoint)
        self._progress.checkpoint = checkpoint
        return checkpoint if is_last else None

    def _is_rendezvous(self, epoch: int) -> bool:
        options = self._options
        return (
            options.consistency == "bsp"
            or options.until is not None
            or epoch + 1 >= options.epochs
            or self._is_checkpoint(epoch)
        )

    def _is_checkpoint(self, epoch: int) -> bool:
        return (epoch + 1) % self._options.checkpoint_every == 0

    def _is_last(self, epoch: int) -> bool:
        if epoch + 1 >= self._options.epochs:
            return True
        until = self._options.until
        return until is not None and until.met([each.loss for each in self._progress.reports])

    def _summary(self, reports: list[WorkerReport], model: Array) -> EpochReport:
        sums = np.sum([report.sums for report in reports if len(report.sums)], axis=0)
        evaluation = self._generation.summarise(model, sums)
        if not np.isfinite(evaluation.loss):
            raise JobFailed(
                f"the loss became {evaluation.loss} in epoch {reports[0].epoch + 1}: training "
                "diverged; lower the learning rate (--set learning_rate=...)"
            )
        # Who joined in mid-epoch says nothing about its beginning.
        batch_us = np.max([np.pad(each.batch_us, (each.first, 0)) for each in reports], axis=0)
        return EpochReport(
            epoch=reports[0].epoch,
            loss=evaluation.loss,
            metrics=dict(evaluation.metrics),
            wall_s=max(float(report.batch_us.sum()) for report in reports) / 1e6,
            comp_s=_mean_s([report.comp_us for report in reports]),
            comm_s=_mean_s([report.comm_us for report in reports]),
            wait_s=_mean_s([report.wait_us for report in reports]),
            bytes_pulled=sum(report.pulled_bytes for report in reports),
            bytes_pushed=sum(report.pushed_bytes for report in reports),
            instances=self._generation.instance_count,
            batch_s=tuple((batch_us / 1e6).tolist()),
        )


def _mean_s(times_us: list[int]) -> float:
    return float(np.mean(times_us)) / 1e6


def _judge(event: ExecutorEnded) -> None:
    if event.outcome is None:
        raise GenerationLost(f"executor {event.number} died")
    if event.outcome.kind == "failed":
        failure = JobFailed(f"executor {event.number}: {event.outcome.detail}")
        failure.add_note(event.outcome.trace)
        raise failure
    if event.outcome.kind == "aborted" and event.number == CONTROLLER:
        raise GenerationLost(event.outcome.detail)
    if event.outcome.kind == "aborted":
        raise GenerationLost(f"executor {event.number} was cut off: {event.outcome.detail}")
