"""Which instances form which mini-batch: a property of the data and the seed, never of a worker.

See docs/decisions/0004. The instances are assigned once, in a seeded random order:
position p of that order belongs to mini-batch floor(p K / n) and to data block p mod B. So a
mini-batch is a contiguous range of positions, and every data block contributes the same number of
instances to every mini-batch, give or take one: no worker of a BSP step has to wait for an unlucky
one.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from motet.domain.arrays import Indices
from motet.runtime.core.rows import Rows

_FEWEST_BLOCKS = 16


@dataclass(frozen=True, eq=False)
class BatchKeys:
    """What a worker pulls and pushes in one mini-batch; the same object in every epoch.

    `keys`: sorted and unique (None: all); `instances`: how many of the mini-batch's instances the
    worker has.
    """

    keys: Indices | None
    instances: int


@dataclass(frozen=True)
class Schedule:
    """The division of `instance_count` instances into mini-batches and data blocks."""

    instance_count: int
    batch_count: int
    block_count: int
    seed: int

    @classmethod
    def of(cls, instance_count: int, batch_size: int, block_count: int, seed: int) -> Schedule:
        """A schedule whose mini-batches hold `batch_size` instances (0: all) over all workers.

        At most `block_count` data blocks; fewer when a mini-batch could not draw from all of them.
        """
        size = min(batch_size, instance_count) if batch_size > 0 else instance_count
        batches = math.ceil(instance_count / size)
        blocks = min(block_count, instance_count, max(size, _FEWEST_BLOCKS))
        return cls(instance_count, batches, blocks, seed)

    def deal(self) -> Indices:
        """The seeded order: entry p is the instance at position p. `(instance_count,)`."""
        return np.random.default_rng([self.seed, 0xDEA1]).permutation(self.instance_count)

    def batch_bounds(self, batch: int) -> tuple[int, int]:
        """The range of positions of a mini-batch."""
        n, k = self.instance_count, self.batch_count
        return -(-batch * n // k), -(-(batch + 1) * n // k)

    def batch_instances(self, batch: int) -> int:
        """How many instances a mini-batch holds over all workers."""
        low, high = self.batch_bounds(batch)
        return high - low

    def block_positions(self, block: int) -> Indices:
        """The positions of a data block, ascending."""
        return np.arange(block, self.instance_count, self.block_count)

    def positions_in(self, block: int, batches: range) -> Indices:
        """The positions of a data block in consecutive mini-batches, ascending."""
        low, high = self.batch_bounds(batches.start)[0], self.batch_bounds(batches.stop - 1)[1]
        return np.arange(low + (block - low) % self.block_count, high, self.block_count)

    def batch_of(self, positions: Indices) -> Indices:
        """The mini-batch of each position."""
        return positions * self.batch_count // self.instance_count

    def order(self, epoch: int) -> Indices:
        """The order in which an epoch runs its mini-batches. `(batch_count,)`."""
        return np.random.default_rng([self.seed, 0x0DE5, epoch]).permutation(self.batch_count)


DATA_BLOCKS = 96


def deal_blocks(rows: Rows, schedule: Schedule) -> dict[int, Rows]:
    """The data blocks of a job: its instances in the order of the schedule."""
    return dict(dealt_blocks(rows, schedule))


def dealt_blocks(rows: Rows, schedule: Schedule) -> Iterator[tuple[int, Rows]]:
    """The same one after the other: all of them together are a copy of `rows`."""
    deal = schedule.deal()
    for block in range(schedule.block_count):
        yield block, rows.take(deal[schedule.block_positions(block)])
