"""How a table's keys 0..n-1 are divided into blocks: by range or by hash.

Keys are dense integers, so a block is a contiguous array: under `range` a block holds neighbouring
keys; under `hash` key k is in block k mod B at row k // B, which spreads popular neighbours.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from motet.domain.arrays import Indices

PartitionKind = Literal["range", "hash"]


@dataclass(frozen=True)
class Partition:
    """`key_count` keys in `block_count` blocks."""

    key_count: int
    block_count: int
    kind: PartitionKind = "range"

    def block_of(self, keys: Indices) -> Indices:
        """The block of each key."""
        if self.kind == "hash":
            return keys % self.block_count
        return ((keys + 1) * self.block_count - 1) // self.key_count

    def row_of(self, keys: Indices) -> Indices:
        """The row of each key inside its block."""
        if self.kind == "hash":
            return keys // self.block_count
        starts: Indices = self.block_of(keys) * self.key_count // self.block_count
        return keys - starts

    def keys_of(self, block: int) -> Indices:
        """The keys of a block, in row order."""
        if self.kind == "hash":
            return np.arange(block, self.key_count, self.block_count)
        return np.arange(self._first_key(block), self._first_key(block + 1))

    def rows_in(self, block: int) -> int:
        """How many keys a block holds."""
        if self.kind == "hash":
            return -((block - self.key_count) // self.block_count)
        return self._first_key(block + 1) - self._first_key(block)

    def slice_of(self, block: int) -> slice:
        """Where the block's rows stand in an array of all keys."""
        if self.kind == "hash":
            return slice(block, self.key_count, self.block_count)
        return slice(self._first_key(block), self._first_key(block + 1))

    def _first_key(self, block: int) -> int:
        return block * self.key_count // self.block_count
