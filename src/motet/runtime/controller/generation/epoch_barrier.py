"""When workers are answered at the end of an epoch. Pure.

Under BSP all answers wait for the epoch's evaluation. Under SSP and async workers go on at once,
except at epochs that end with a checkpoint or a decision.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from motet.runtime.controller.event_inbox import WorkerReport
from motet.runtime.core.options import TrainOptions
from motet.runtime.wire.worker_reports import Directive


@dataclass(frozen=True, eq=False)
class AnswerWorker:
    """Answer a worker's report."""

    report: WorkerReport
    directive: Directive


@dataclass(frozen=True, eq=False)
class EndEpoch:
    """All workers of an epoch have reported, in the order of `reports`: evaluate it."""

    epoch: int
    reports: tuple[WorkerReport, ...]


EpochInstruction: TypeAlias = AnswerWorker | EndEpoch


class EpochBarrier:
    """Collects the workers' reports of every epoch."""

    def __init__(
        self, options: TrainOptions, first_epoch: int, workers_of: Callable[[int], tuple[int, ...]]
    ) -> None:
        """`workers_of(epoch)`: the workers that finish an epoch."""
        self._options = options
        self._workers_of = workers_of
        self._ended_epoch = first_epoch - 1
        self._arrived: dict[int, dict[int, WorkerReport]] = {}

    def report(self, report: WorkerReport) -> list[EpochInstruction]:
        """Count a report; one that was sent again takes the place of the first."""
        epoch = report.done.epoch
        if epoch <= self._ended_epoch:
            return [AnswerWorker(report, "continue")]
        instructions: list[EpochInstruction] = []
        if not self.is_rendezvous(epoch):
            instructions.append(AnswerWorker(report, "continue"))
        arrived = self._arrived.setdefault(epoch, {})
        arrived[report.done.rank] = report
        workers = self._workers_of(epoch)
        if arrived.keys() >= set(workers):
            del self._arrived[epoch]
            self._ended_epoch = epoch
            instructions.append(EndEpoch(epoch, tuple(arrived[rank] for rank in workers)))
        return instructions

    def evaluated(self, ended: EndEpoch, *, is_last: bool) -> list[AnswerWorker]:
        """Answers to workers that waited for an epoch's evaluation."""
        if not self.is_rendezvous(ended.epoch):
            return []
        directive: Directive = "stop" if is_last else "continue"
        return [AnswerWorker(report, directive) for report in ended.reports]

    def is_rendezvous(self, epoch: int) -> bool:
        """Whether workers wait for the evaluation of this epoch."""
        options = self._options
        return (
            options.consistency.is_lockstep
            or options.until is not None
            or epoch + 1 >= options.epochs
            or self.is_checkpoint(epoch)
        )

    def is_checkpoint(self, epoch: int) -> bool:
        """Whether a checkpoint is due after this epoch."""
        return (epoch + 1) % self._options.checkpoint_every == 0
