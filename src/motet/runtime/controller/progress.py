"""Where a job's training stands, and when it is over."""

from __future__ import annotations

from dataclasses import dataclass, field

from motet.domain.errors import BadInput, JobFailed
from motet.runtime.controller.checkpoints.checkpoint import Checkpoint, KeptCheckpoint
from motet.runtime.controller.checkpoints.folder import CheckpointFolder
from motet.runtime.core.convergence import Convergence, has_converged
from motet.runtime.core.options import TrainOptions
from motet.runtime.core.reporting.reports import (
    EpochReport,
    ReconfigurationReport,
    Recovery,
    last_residual,
)


@dataclass
class Progress:
    """What a restart needs, and what the job reports at its end."""

    checkpoint: KeptCheckpoint
    reports: list[EpochReport] = field(default_factory=list)
    recoveries: list[Recovery] = field(default_factory=list)
    resumed_from_epoch: int | None = None
    reconfigurations: list[ReconfigurationReport] = field(default_factory=list)

    @property
    def losses(self) -> list[float]:
        """After each epoch."""
        return [report.loss for report in self.reports]

    def is_over(self, options: TrainOptions) -> bool:
        """Whether the checkpoint is the final state."""
        return self.checkpoint.epoch_count >= options.epochs or self._stops_early(options)

    def is_last(self, epoch: int, options: TrainOptions) -> bool:
        """Whether training ends with this epoch, the last one that was reported."""
        return epoch + 1 >= options.epochs or self._stops_early(options)

    def go_back(self, cause: str, max_recoveries: int) -> Recovery:
        """Return to the checkpoint after a loss.

        Raises JobFailed after `max_recoveries` returns to the same checkpoint, and if no checkpoint
        on disk is whole.
        """
        self.checkpoint = self._to_return_to(cause)
        here = self.checkpoint.epoch_count
        if sum(each.resumed_from_epoch == here for each in self.recoveries) == max_recoveries:
            raise JobFailed(
                f"gave up after {max_recoveries} recoveries without progress; "
                f"the last cause: {cause}"
            )
        lost_at = self.reports[-1].epoch if self.reports else 0
        self.reports[:] = self.checkpoint.reports
        self.recoveries.append(Recovery(lost_at, here, cause))
        return self.recoveries[-1]

    def drop_from_memory(self, folder: CheckpointFolder | None) -> None:
        """Keep the checkpoint on disk only, if it lies in the folder."""
        if folder is not None and isinstance(self.checkpoint, Checkpoint):
            self.checkpoint = folder.without_memory(self.checkpoint)

    def _to_return_to(self, cause: str) -> KeptCheckpoint:
        try:
            return self.checkpoint.to_return_to()
        except BadInput as error:
            raise JobFailed(f"{cause}; no checkpoint to continue from: {error}") from error

    def convergence(self, measure: str, options: TrainOptions) -> Convergence | None:
        """At the end of training; None if `tol` is 0."""
        residual = last_residual(self.reports)
        return Convergence.after(measure, residual, options.tol, self._is_enough(options))

    def _stops_early(self, options: TrainOptions) -> bool:
        if self._is_enough(options):
            return True
        return has_converged(last_residual(self.reports), options.tol)

    def _is_enough(self, options: TrainOptions) -> bool:
        return options.until is not None and options.until.met(self.losses)
