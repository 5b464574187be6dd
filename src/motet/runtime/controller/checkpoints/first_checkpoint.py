"""The state before training, whose model is made again when it is needed.

Between the start and the first checkpoint, which without a folder is the whole run, the controller
would otherwise have a copy of the model that only a loss needs.
"""

from __future__ import annotations

from collections.abc import Callable

from motet.domain.arrays import Array
from motet.domain.errors import JobFailed
from motet.runtime.controller.checkpoints.checkpoint import Checkpoint
from motet.runtime.controller.checkpoints.identity import model_digest
from motet.runtime.core.reporting.reports import EpochReport
from motet.runtime.core.rows import Rows


class FirstCheckpoint:
    """Training after no epoch; a `KeptCheckpoint` without a model in memory."""

    epoch_count = 0
    batches = 0
    reports: tuple[EpochReport, ...] = ()

    def __init__(self, make_model: Callable[[], Array], state: Rows) -> None:
        """`make_model` returns the same values every time; `state`: before training."""
        self._make_model = make_model
        self._state = state
        self._digest: str | None = None

    def read(self) -> Checkpoint:
        """Make the model. Raises JobFailed if its values are others than those of the first time.

        A generation that began from other values would not continue the run that lost an executor.
        """
        model = self._make_model()
        digest = model_digest(model)
        if self._digest not in (None, digest):
            raise JobFailed(
                "training cannot start again: the application's initial_model has returned other "
                "values than at the start; it must return the same for the same rows and seed"
            )
        self._digest = digest
        return Checkpoint(0, model, self._state)

    def to_return_to(self) -> FirstCheckpoint:
        """Itself: no file is needed."""
        return self
