"""Copies between tensors of a device and the memory of the host that messages are made of."""

from __future__ import annotations

from typing import Any, Protocol

import torch
from numpy.typing import NDArray


class CopyEnd(Protocol):
    """The end of a copy, as an event of a stream."""

    def query(self) -> bool:
        """Whether the copy has ended."""
        ...

    def synchronize(self) -> None:
        """Return once it has ended."""
        ...


class Staging(Protocol):
    """The copies of one device."""

    @property
    def is_direct(self) -> bool:
        """Whether tensors of the device are in memory of the host and need no copy."""
        ...

    def empty(self, shape: torch.Size, dtype: torch.dtype) -> torch.Tensor:
        """Contiguous memory of the host."""
        ...

    def register(self, memory: NDArray[Any]) -> bool:
        """Let the device access memory of the host, until the array is deleted; whether it can."""
        ...

    def fetch(self, source: torch.Tensor, into: torch.Tensor) -> CopyEnd:
        """Begin to copy a tensor of the device, as the current stream computes it, to the host."""
        ...

    def store(self, source: torch.Tensor, into: torch.Tensor) -> CopyEnd:
        """Begin to copy to the device; what the current stream does afterwards sees the values."""
        ...


class _Ended:
    """A copy that was made at once."""

    def query(self) -> bool:
        return True

    def synchronize(self) -> None:
        pass


_ENDED = _Ended()


class HostStaging:
    """The host itself; a copy differs from its tensor in its type or in its memory layout."""

    is_direct = True

    def empty(self, shape: torch.Size, dtype: torch.dtype) -> torch.Tensor:
        """See Staging."""
        return torch.empty(shape, dtype=dtype)

    def register(self, memory: NDArray[Any]) -> bool:
        """See Staging."""
        return True

    def fetch(self, source: torch.Tensor, into: torch.Tensor) -> CopyEnd:
        """See Staging."""
        into.copy_(source)
        return _ENDED

    def store(self, source: torch.Tensor, into: torch.Tensor) -> CopyEnd:
        """See Staging."""
        into.copy_(source)
        return _ENDED
