"""What runs the mini-batches of one worker."""

from __future__ import annotations

from abc import ABC, abstractmethod

from motet.runtime.worker.batch_subtasks import BatchSubtasks
from motet.runtime.worker.share import DataShare


class BatchRunner(ABC):
    """Runs one worker's mini-batches."""

    @abstractmethod
    def run_batch(self, share: DataShare, number: int, subtasks: BatchSubtasks) -> None:
        """PULL, COMP and PUSH of the worker's part of mini-batch `number`.

        PUSH may be left for later, but not at the end of an epoch.
        """

    def flush(self) -> None:
        """Do each PUSH that is left."""
        return

    def close(self) -> None:
        """End what the runner has started; nothing is run afterwards."""
        return
