"""Memory of the host into which a tensor is received, on its way to a device."""

from __future__ import annotations

from typing import Any

import torch
from numpy.typing import NDArray

from motet.torch.array_views import array_of
from motet.torch.staging.staging import CopyEnd, Staging


class HostCopy:
    """Contiguous memory that is received into, again and again, and copied to a tensor."""

    def __init__(self, staging: Staging, memory: torch.Tensor) -> None:
        self.tensor = memory
        self._staging = staging
        self._stored: CopyEnd | None = None

    def fill(self, source: torch.Tensor) -> None:
        """Copy a tensor into the memory; returns when it is there."""
        self._staging.fetch(source, self.tensor).synchronize()

    def array(self) -> NDArray[Any]:
        """The memory, to be overwritten: waits until the device has read what it held before."""
        if self._stored is not None:
            self._stored.synchronize()
            self._stored = None
        return array_of(self.tensor)

    def store(self, into: torch.Tensor) -> None:
        """Copy what was received to a tensor."""
        if self._staging.is_direct:
            into.copy_(self.tensor)
        else:
            self._stored = self._staging.store(self.tensor, into)
