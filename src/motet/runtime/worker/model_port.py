"""What a worker needs of the model, wherever it is kept."""

from __future__ import annotations

from typing import Protocol

from motet.domain.arrays import Array
from motet.runtime.core.application import Step, Update
from motet.runtime.core.schedule import BatchKeys
from motet.runtime.core.subtask import Transfer


class ModelPort(Protocol):
    """A worker's view of the model."""

    def await_start(self, step: Step) -> Transfer:
        """Wait until `pull` of this mini-batch would be answered at once."""
        ...

    def pull(self, part: BatchKeys, step: Step) -> tuple[Array, Transfer]:
        """The values of `part.keys` as of the mini-batch's start."""
        ...

    def pull_zeros(self, part: BatchKeys, step: Step) -> tuple[Array, Transfer]:
        """As `pull`, with `ModelTable.zeros` instead of the values."""
        ...

    def push(self, part: BatchKeys, update: Update | None, step: Step) -> Transfer:
        """Contribute to the mini-batch (None: nothing); completes this worker's part of it."""
        ...

    def await_finished(self) -> None:
        """Wait until `pull_all` would be answered at once."""
        ...

    def pull_all(self) -> Array:
        """The whole model as committed by now."""
        ...
