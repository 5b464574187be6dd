"""Progress of a training run: collects the reports of the runtime for a screen."""

from __future__ import annotations

import math
import time
from collections.abc import Callable

from motet.runtime.core.reporting.observers import TrainObserver
from motet.runtime.core.reporting.reports import EpochReport, Recovery

RECENT_EPOCHS = 5


class JobProgress(TrainObserver):
    """Progress of one job. Written by the thread of the job, read by that of the screen."""

    def __init__(self, epochs: int = 1, now_s: Callable[[], float] = time.perf_counter) -> None:
        """`epochs`: maximum number of epochs; may be set later, before training starts."""
        self.epochs = epochs
        self.stage = "waiting"
        self.reports: list[EpochReport] = []
        self.recoveries: list[Recovery] = []
        self.decisions: list[str] = []
        self.instance_count = 0
        self.model_bytes = 0
        self._now_s = now_s
        self._started_s: float | None = None
        self._ended_s: float | None = None
        self._position = 0.0
        # Training without a recovery: where and when it began; the sums of earlier ones.
        self._began_at = 0.0
        self._began_s = 0.0
        self._moved_s = 0.0
        self._earlier_epochs = 0.0
        self._earlier_s = 0.0

    def preparing(self, what: str) -> None:
        """A start-up step begins."""
        self.stage = what

    def started(self, instance_count: int, model_bytes: int) -> None:
        """Training begins, or continues after a recovery."""
        self.stage = "training"
        self.instance_count, self.model_bytes = instance_count, model_bytes
        self._began_s = self._now_s()
        self._began_at = self._position
        if self._started_s is None:
            self._started_s = self._began_s

    def batch_done(self, epoch: int, batch: int, batch_count: int) -> None:
        """A mini-batch is done."""
        self._move(epoch, (batch + 1) / batch_count)

    def epoch_done(self, report: EpochReport) -> None:
        """Store the report of an epoch."""
        self.reports.append(report)
        self._move(report.epoch_index, 1.0)

    def recovering(self, recovery: Recovery) -> None:
        """Drop the reports of epochs that are trained again."""
        self.recoveries.append(recovery)
        if self._position > self._began_at:
            self._earlier_epochs += self._position - self._began_at
            self._earlier_s += self._moved_s - self._began_s
        self.stage = f"recovering: {recovery.cause}"
        self.reports = [r for r in self.reports if r.epoch_index < recovery.resumed_from_epoch]
        self._position = self._began_at = float(recovery.resumed_from_epoch)

    def finished(self) -> None:
        """Training has ended; `elapsed_s` stays constant from now on."""
        self.stage = "done"
        self._ended_s = self._now_s()

    def _move(self, epoch: int, share: float) -> None:
        if self._position == 0:
            self._began_at = float(epoch)  # A resumed run does not begin with epoch 0.
        self._position = epoch + share
        self._moved_s = self._now_s()

    @property
    def is_done(self) -> bool:
        """Whether `finished` was called."""
        return self._ended_s is not None

    @property
    def is_training(self) -> bool:
        """Whether training has started."""
        return self._started_s is not None

    @property
    def losses(self) -> list[float]:
        """Loss after each epoch."""
        return [report.loss for report in self.reports]

    @property
    def epoch(self) -> int:
        """Number of complete epochs."""
        return self.reports[-1].epoch if self.reports else int(self._position)

    @property
    def share(self) -> float:
        """Share of the maximum number of epochs, 0 to 1."""
        return 1.0 if self.is_done else min(self._position / self.epochs, 1.0)

    @property
    def elapsed_s(self) -> float:
        """Seconds since training began."""
        if self._started_s is None:
            return 0.0
        end_s = self._now_s() if self._ended_s is None else self._ended_s
        return end_s - self._started_s

    def startup_s(self, began_s: float) -> float:
        """Seconds from `began_s` (by the same clock) to the start of training; NaN without one."""
        return math.nan if self._started_s is None else self._started_s - began_s

    @property
    def remaining_s(self) -> float:
        """Seconds to the end of the last epoch at the mean speed so far; NaN if unknown.

        The time of recoveries does not count.
        """
        epochs = self._earlier_epochs + self._position - self._began_at
        trained_s = self._earlier_s
        if self._position > self._began_at:
            trained_s += self._moved_s - self._began_s
        return trained_s * (self.epochs - self._position) / epochs if epochs > 0 else math.nan

    @property
    def instances_per_s(self) -> float:
        """Throughput over the last few epochs."""
        recent = self.reports[-RECENT_EPOCHS:]
        wall_s = sum(report.wall_s for report in recent)
        return sum(report.instances for report in recent) / wall_s if wall_s > 0 else 0.0

    @property
    def comm_share(self) -> float:
        """Share of COMM in the workers' COMP and COMM time over the last few epochs, 0 to 1."""
        recent = self.reports[-RECENT_EPOCHS:]
        comm_s = sum(report.comm_s for report in recent)
        busy_s = comm_s + sum(report.comp_s for report in recent)
        return comm_s / busy_s if busy_s > 0 else 0.0

    @property
    def bytes_moved(self) -> int:
        """Bytes pulled and pushed so far."""
        return sum(report.bytes_pulled + report.bytes_pushed for report in self.reports)
