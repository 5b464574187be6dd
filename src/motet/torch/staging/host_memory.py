"""Memory of the host for tensors on their way between a device and Aggregators."""

from __future__ import annotations

import torch

from motet.aggregation.agent.collected_requests import ALONE_FROM_BYTES
from motet.aggregation.agent.gradient_service import GradientService
from motet.torch.staging.staging import Staging


class HostMemory:
    """Allocates for one program.

    Large tensors lie in memory that Aggregators of this host access as it is, so that the copy
    between device and host is the only one that a worker makes. Small ones travel together, in
    messages that are copied anyway.
    """

    def __init__(self, service: GradientService | None = None) -> None:
        """`service`: None: no Aggregator accesses the memory."""
        self._service = service

    def empty(self, staging: Staging, shape: torch.Size, dtype: torch.dtype) -> torch.Tensor:
        """A contiguous tensor for the copies of a device."""
        size_bytes = shape.numel() * dtype.itemsize
        if self._service is not None and size_bytes >= ALONE_FROM_BYTES:
            shared = self._service.empty(size_bytes, "uint8")
            if staging.register(shared):
                return torch.from_numpy(shared).view(dtype).view(shape)
        return staging.empty(shape, dtype)


class AlternatingMemory:
    """Two pieces of memory in turn: what was sent last may be sent again, and must not change."""

    def __init__(self) -> None:
        self._last: torch.Tensor | None = None
        self._before: torch.Tensor | None = None

    def take(self) -> torch.Tensor | None:
        """The piece that is free; None: there are no two yet."""
        free, self._before = self._before, None
        return free

    def sent(self, memory: torch.Tensor) -> None:
        """It stays as it is until the next one is sent."""
        self._before, self._last = self._last, memory
