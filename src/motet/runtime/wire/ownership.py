"""The owner of each block: the versioned ownership table.

The controller holds the global table; every executor and client holds a copy. A higher version
always wins, so copies may arrive in any order.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

_HEADER = struct.Struct("<QI")


@dataclass(frozen=True, eq=False)
class Ownership:
    """One table's owners: block b belongs to executor `owners[b]`. `owners: (blocks,), int32`."""

    version: int
    owners: NDArray[np.int32]

    @classmethod
    def even(cls, block_count: int, executors: Sequence[int]) -> Self:
        """Neighbouring blocks together, the same number for every executor, give or take one."""
        shares = np.arange(block_count) * len(executors) // block_count
        return cls(1, np.asarray(executors, dtype=np.int32)[shares])

    @classmethod
    def dealt(cls, block_count: int, executors: Sequence[int]) -> Self:
        """Neighbouring blocks apart: block i is assigned to executor i mod n."""
        owners = np.asarray(executors, dtype=np.int32)[np.arange(block_count) % len(executors)]
        return cls(1, owners)

    def blocks_of(self, executor: int) -> list[int]:
        """The blocks that an executor owns, ascending."""
        return [int(block) for block in np.flatnonzero(self.owners == executor)]

    def moved(self, blocks: Sequence[int], destination: int) -> Self:
        """The next version, in which `destination` owns `blocks`."""
        owners = self.owners.copy()
        owners[list(blocks)] = destination
        return type(self)(self.version + 1, owners)

    def encode(self) -> bytes:
        """Bytes for the wire."""
        return _HEADER.pack(self.version, len(self.owners)) + self.owners.tobytes()

    @classmethod
    def decode(cls, data: bytes | memoryview) -> Self:
        """The inverse of `encode`."""
        version, count = _HEADER.unpack_from(data)
        return cls(version, np.frombuffer(data, np.int32, count, _HEADER.size).copy())


@dataclass(frozen=True, eq=False)
class WorkChange:
    """From mini-batch `clock` on, `workers` compute, each with the data blocks that it owns.

    `number`: the change's, ascending within a generation.
    """

    number: int
    clock: int
    workers: tuple[int, ...]
    data: Ownership
