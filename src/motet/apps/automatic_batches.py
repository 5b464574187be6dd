"""A default batch size that depends on the data.

Some applications need a certain number of mini-batches per epoch, for any number of instances: more
of them increase communication, fewer reduce quality.
"""

from __future__ import annotations

from typing import Any, ClassVar

from motet.apps.estimator import Estimator


class AutomaticBatches(Estimator):
    """An estimator that makes `batches_per_epoch` mini-batches if `batch_size` is None."""

    batches_per_epoch: ClassVar[int]

    @property
    def batch_size(self) -> int:
        """Instances per mini-batch over all workers."""
        return self._fitting_batch_size if self._set_batch_size is None else self._set_batch_size

    @batch_size.setter
    def batch_size(self, value: int | None) -> None:
        self._set_batch_size = value
        self._fitting_batch_size = 0

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Hyper-parameters by name, `batch_size` as it was set."""
        return {**super().get_params(deep), "batch_size": self._set_batch_size}

    def choose_batch_size(self, instance_count: int) -> None:
        """Check the batch size that was set, or choose one for the data; `prepare` calls it."""
        if self._set_batch_size is not None:
            self.check_number("batch_size", at_least=0, whole=True)
        self._fitting_batch_size = -(-instance_count // self.batches_per_epoch)
