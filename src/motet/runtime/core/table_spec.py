"""What a table is: everything that its owners and its clients must agree on."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from motet.domain.arrays import Array, Indices
from motet.domain.errors import JobFailed
from motet.runtime.core.application import Application, ModelTable
from motet.runtime.core.consistency import Synchronisation
from motet.runtime.core.partition import Partition
from motet.runtime.core.rows import Rows

MODEL_TABLE = 1

_BLOCK_BYTES = 1 << 20
_FEWEST_BLOCKS, _MOST_BLOCKS = 16, 1024


@dataclass(frozen=True)
class TableSpec:
    """A table: its number, the shape of its keys and values, and its division into blocks."""

    number: int
    model: ModelTable
    block_count: int

    @classmethod
    def of(cls, number: int, model: ModelTable) -> TableSpec:
        """A table in blocks of about 1 MB: at least 16 (it must spread), at most 1,024."""
        wanted = -(-model.nbytes // _BLOCK_BYTES)
        blocks = min(max(wanted, _FEWEST_BLOCKS), _MOST_BLOCKS, model.key_count)
        return cls(number, model, blocks)

    @cached_property
    def partition(self) -> Partition:
        """How the keys are divided into blocks."""
        return Partition(self.model.key_count, self.block_count, self.model.partition)

    @cached_property
    def block_bounds(self) -> Indices:
        """`(block_count + 1,)`: flat positions in the table at which blocks begin, and its size."""
        starts = [self.partition.slice_of(block).start for block in range(self.block_count)]
        value_size = self.model.value_bytes // self.model.dtype.itemsize
        return np.array([*starts, self.model.key_count], np.int64) * value_size

    def block_shape(self, block: int) -> tuple[int, ...]:
        """Shape of a block's values."""
        return (self.partition.rows_in(block), *self.model.value_shape)

    def delta_block_shape(self, block: int) -> tuple[int, ...]:
        """Shape of a block's deltas."""
        return (self.partition.rows_in(block), *self.model.delta_value_shape)


def pulls_ahead(sync: Synchronisation, table: TableSpec) -> bool:
    """Whether workers communicate while they compute. The copy of a table that exchanges changes is
    in use during COMP, and changed by a PULL."""
    return sync.consistency.overlaps and not table.model.exchanges_changes


def first_model(app: Application, rows: Rows, seed: int) -> Array:
    """`initial_model`. Raises JobFailed for another shape than the table's."""
    values = np.asarray(app.initial_model(rows, seed))
    table = app.model_table()
    wanted = (table.key_count, *table.value_shape)
    if values.shape != wanted:
        raise JobFailed(
            f"{app.name}: initial_model returned shape {values.shape}; by model_table it must be "
            f"{wanted}"
        )
    return values
