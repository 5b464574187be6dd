"""One sum of the contributions to several blocks, as long as all workers name them together."""

from __future__ import annotations

from collections.abc import Sequence

from motet.runtime.server.accumulator import Accumulator, Contribution, PartialSum
from motet.runtime.server.block import Block


class JointSum:
    """Replaces the accumulators of `blocks`; changes only while the locks of all of them are held.

    A block that is used by itself takes its part with it (`Block.stop_sharing`, under its own
    lock). The others then take theirs before the next contribution.
    """

    def __init__(
        self, blocks: Sequence[Block], places: Sequence[slice], deltas: Accumulator
    ) -> None:
        """`places`: the rows of each block in `deltas`, which adds up contributions to all."""
        self.deltas = deltas
        self._blocks = blocks
        self._places = dict(zip(blocks, places, strict=True))
        self._has_rows: bool | None = None

    def begins(self, contribution: Contribution, clock: int) -> bool:
        """Whether a contribution to mini-batch `clock` may be added; requires all locks."""
        if not self._is_joint(clock):
            return False
        if contribution.delta is None:
            return True
        has_rows = contribution.rows is not None
        if self._has_rows not in (None, has_rows):
            # Block by block, rows that only one contribution has would keep the sign of a zero.
            self._part()
            return False
        self._has_rows = has_rows
        return True

    def end_batch(self) -> None:
        """The sum is applied; requires all locks."""
        self.deltas.reset()
        self._has_rows = None

    def part_of(self, block: Block) -> PartialSum:
        """See SharedSum."""
        return self.deltas.pack().part(self._places[block])

    def _is_joint(self, clock: int) -> bool:
        if all(block.shares(self) and block.clock == clock for block in self._blocks):
            return True
        self._part()
        self.deltas.reset()
        self._has_rows = None
        if all(block.may_share(clock) for block in self._blocks):
            for block in self._blocks:
                block.share(self)
            return True
        return False

    def _part(self) -> None:
        """Every block continues by itself."""
        for block in self._blocks:
            if block.shares(self):
                block.stop_sharing()
