"""How far a training run is: the runtime's reports, kept for a screen that draws them any time."""

from __future__ import annotations

import math
import time
from collections.abc import Callable

from motet.runtime.core.observers import TrainObserver
from motet.runtime.core.reports import EpochReport, Recovery

RECENT_EPOCHS = 5


class JobProgress(TrainObserver):
    """One job's progress. Written by the job's thread, read by the screen's."""

    def __init__(self, epochs: int = 1, now_s: Callable[[], float] = time.perf_counter) -> None:
        """`epochs`: how many will be trained at most; may be set later, before training."""
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

    def preparing(self, what: str) -> None:
        """A start-up step."""
        self.stage = what

    def started(self, instance_count: int, model_bytes: int) -> None:
        """Training begins, or goes on after a recovery."""
        self.stage = "training"
        self.instance_count, self.model_bytes = instance_count, model_bytes
        if self._started_s is None:
            self._started_s = self._now_s()

    def batch_done(self, epoch: int, batch: int, batch_count: int) -> None:
        """Advance inside an epoch."""
        self._position = epoch + (batch + 1) / batch_count

    def epoch_done(self, report: EpochReport) -> None:
        """Keep the report."""
        self.reports.append(report)
        self._position = report.epoch + 1.0

    def recovering(self, recovery: Recovery) -> None:
        """Forget what is trained again."""
        self.recoveries.append(recovery)
        self.stage = f"recovering: {recovery.cause}"
        self.reports = [r for r in self.reports if r.epoch < recovery.resumed_from_epoch]
        self._position = float(recovery.resumed_from_epoch)

    def finished(self) -> None:
        """Training is over; the clock stops."""
        self.stage = "done"
        self._ended_s = self._now_s()

    @property
    def is_done(self) -> bool:
        """Whether `finished` was called."""
        return self._ended_s is not None

    @property
    def is_training(self) -> bool:
        """Whether there is progress to draw rather than a start-up step."""
        return self._started_s is not None

    @property
    def losses(self) -> list[float]:
        """Loss after each epoch."""
        return [report.loss for report in self.reports]

    @property
    def epoch(self) -> int:
        """Epochs that are complete."""
        return self.reports[-1].epoch + 1 if self.reports else int(self._position)

    @property
    def share(self) -> float:
        """0..1 of the epochs at most."""
        return 1.0 if self.is_done else min(self._position / self.epochs, 1.0)

    @property
    def elapsed_s(self) -> float:
        """Seconds since training began."""
        if self._started_s is None:
            return 0.0
        end_s = self._now_s() if self._ended_s is None else self._ended_s
        return end_s - self._started_s

    def startup_s(self, began_s: float) -> float:
        """Seconds from `began_s` (by the same clock) until training began; NaN: it never did."""
        return math.nan if self._started_s is None else self._started_s - began_s

    @property
    def remaining_s(self) -> float:
        """Seconds until the last epoch ends at the mean speed so far; NaN when unknown."""
        done = self._position - (self.reports[0].epoch if self.reports else 0)
        return self.elapsed_s * (self.epochs - self._position) / done if done > 0 else math.nan

    @property
    def instances_per_s(self) -> float:
        """Throughput over the last few epochs."""
        recent = self.reports[-RECENT_EPOCHS:]
        wall_s = sum(report.wall_s for report in recent)
        return sum(report.instances for report in recent) / wall_s if wall_s > 0 else 0.0

    @property
    def comm_share(self) -> float:
        """0..1: communication's part of the workers' busy time over the last few epochs."""
        recent = self.reports[-RECENT_EPOCHS:]
        comm_s = sum(report.comm_s for report in recent)
        busy_s = comm_s + sum(report.comp_s for report in recent)
        return comm_s / busy_s if busy_s > 0 else 0.0

    @property
    def bytes_moved(self) -> int:
        """Bytes pulled and pushed so far."""
        return sum(report.bytes_pulled + report.bytes_pushed for report in self.reports)
