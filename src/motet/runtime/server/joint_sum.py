"""One sum of the contributions to several blocks, as long as all workers name them together."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import NamedTuple

from motet.domain.arrays import Array
from motet.runtime.core.changes import all_changes
from motet.runtime.core.sums import Place, added
from motet.runtime.server.accumulator import Accumulator, Contribution, PartialSum
from motet.runtime.server.block import Block


class _Joint(ABC):
    """Replaces the accumulators of `blocks`; changes only while the locks of all of them are held.

    A block that is used by itself takes its part with it (`Block.stop_sharing`, under its own
    lock). The others then take theirs before the next contribution.
    """

    def __init__(self, blocks: Sequence[Block]) -> None:
        self._blocks = blocks
        self._sharing = set[Block]()

    def is_joint(self, clock: int) -> bool:
        """Whether all blocks contribute to mini-batch `clock` together; requires all locks."""
        if all(block.shares(self) and block.clock == clock for block in self._blocks):
            return True
        self.part()
        self.end_batch()
        if all(block.may_share(clock) for block in self._blocks):
            for block in self._blocks:
                block.share(self)
            self._sharing.update(self._blocks)
            return True
        return False

    def part(self) -> None:
        """Every block continues by itself; requires all locks."""
        for block in self._blocks:
            if block.shares(self):
                block.stop_sharing()

    def part_of(self, block: Block) -> PartialSum:
        """See SharedSum. Once all blocks have theirs, the rest is dropped: other requests may name
        the blocks from now on, so that it would stay in memory."""
        part = self._part_of(block)
        self._sharing.discard(block)
        if not self._sharing:
            self.end_batch()
        return part

    @abstractmethod
    def end_batch(self) -> None:
        """The sum is applied, dropped, or parted; requires all locks, or that all blocks have
        parted and the lock of one of them."""

    @abstractmethod
    def _part_of(self, block: Block) -> PartialSum: ...


class JointSum(_Joint):
    """The sum of deltas of all rows of the blocks."""

    def __init__(
        self, blocks: Sequence[Block], places: Sequence[slice], deltas: Accumulator
    ) -> None:
        """`places`: the rows of each block in `deltas`, which adds up contributions to all."""
        super().__init__(blocks)
        self.deltas = deltas
        self._places = dict(zip(blocks, places, strict=True))
        self._has_rows: bool | None = None

    def begins(self, contribution: Contribution, clock: int) -> bool:
        """Whether a contribution to mini-batch `clock` may be added; requires all locks."""
        if not self.is_joint(clock):
            return False
        if contribution.delta is None:
            return True
        has_rows = contribution.rows is not None
        if self._has_rows not in (None, has_rows):
            # Block by block, rows that only one contribution has would keep the sign of a zero.
            self.part()
            return False
        self._has_rows = has_rows
        return True

    def end_batch(self) -> None:
        """See _Joint."""
        self.deltas.reset()
        self._has_rows = None

    def _part_of(self, block: Block) -> PartialSum:
        return self.deltas.pack().part(self._places[block])


class BlockChanges(NamedTuple):
    """One worker's changes of several blocks; a position is one in its block.

    Those of block i are `changes[:, ends[i - 1] : ends[i]]`.
    """

    changes: Array
    ends: Sequence[int]

    def copy(self) -> BlockChanges:
        """A copy that stays valid after the message's buffer is reused."""
        return BlockChanges(self.changes.copy(), self.ends)

    def of(self, index: int) -> Array:
        """The changes of one block, as a view."""
        return self.changes[:, self.ends[index - 1] if index else 0 : self.ends[index]]


class JointChanges(_Joint):
    """The changes of all workers to the blocks, by position of the worker."""

    def __init__(self, blocks: Sequence[Block]) -> None:
        super().__init__(blocks)
        self._worker_count = 0
        self._parts: dict[int, tuple[BlockChanges, tuple[float, ...]]] = {}

    def add(self, place: Place, changes: BlockChanges, statistics: tuple[float, ...]) -> bool:
        """Count a contribution, a second one of a worker once; whether it is the last one."""
        position, self._worker_count = place
        self._parts.setdefault(position, (changes, statistics))
        return len(self._parts) == self._worker_count

    def take(self) -> tuple[list[BlockChanges], tuple[float, ...]]:
        """All changes in the order of positions, and the summed statistics."""
        parts = [self._parts[position] for position in range(self._worker_count)]
        total: tuple[float, ...] = ()
        for _, statistics in parts:
            total = added(total, statistics)
        return [changes for changes, _ in parts], total

    def end_batch(self) -> None:
        """See _Joint."""
        self._parts = {}

    def _part_of(self, block: Block) -> PartialSum:
        index = self._blocks.index(block)
        found = {position: (part.of(index), own) for position, (part, own) in self._parts.items()}
        counted: list[Array] = []
        statistics: tuple[float, ...] = ()
        while len(counted) in found:
            changes, own = found.pop(len(counted))
            counted.append(changes)
            statistics = added(statistics, own)
        early = {place: Contribution(changes, None, own) for place, (changes, own) in found.items()}
        total = all_changes(counted) if counted else None
        return PartialSum(total, len(counted), self._worker_count, statistics, early)
