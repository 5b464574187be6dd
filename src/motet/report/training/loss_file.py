"""`loss.csv` while training goes on: a row is appended after every epoch."""

from __future__ import annotations

from collections.abc import Sequence

from motet.report.training.folder import RunFolder
from motet.runtime.core.reporting.observers import TrainObserver
from motet.runtime.core.reporting.reports import EpochReport, Recovery


class LossFile(TrainObserver):
    """Keeps `loss.csv` up to date, so that an interrupted run leaves its losses.

    `earlier`: reports of the epochs before a resumed checkpoint.
    """

    def __init__(self, folder: RunFolder, earlier: Sequence[EpochReport] = ()) -> None:
        self._folder = folder
        self._reports = list(earlier)

    def started(self, instance_count: int, model_bytes: int) -> None:
        """Write the rows of the earlier epochs."""
        if self._reports:
            self._folder.write_losses(self._reports)

    def epoch_done(self, report: EpochReport) -> None:
        """Append the epoch's row; the first one with a header."""
        self._reports.append(report)
        if len(self._reports) == 1:
            self._folder.write_losses(self._reports)
        else:
            self._folder.append_loss(report)

    def recovering(self, recovery: Recovery) -> None:
        """Remove the rows after the checkpoint."""
        del self._reports[recovery.resumed_from_epoch :]
        if self._reports:
            self._folder.write_losses(self._reports)
