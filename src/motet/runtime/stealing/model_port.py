"""What stealing needs of the model beyond a plain mini-batch."""

from __future__ import annotations

from typing import Protocol

from motet.domain.arrays import Array, Indices
from motet.runtime.core.application import Step
from motet.runtime.core.partial_updates import PartialUpdate
from motet.runtime.core.subtask import Transfer
from motet.runtime.worker.model_port import ModelPort


class StealingModel(ModelPort, Protocol):
    """A model whose values and contributions need not be those of one batch."""

    @property
    def key_count(self) -> int:
        """Keys of the whole model."""
        ...

    def fetch(self, keys: Indices | None, step: Step) -> tuple[Array, Transfer]:
        """Values beside those of `pull`, as of the mini-batch's start; it must not have ended."""
        ...

    def push_at(self, sums: PartialUpdate | None, instances: int, step: Step) -> Transfer:
        """As `push`, at any keys; None: nothing."""
        ...

    def take_wait_us(self) -> int:
        """Microseconds waited for other workers since the last call."""
        ...
