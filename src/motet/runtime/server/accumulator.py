"""The sum of one mini-batch's contributions to one block, in canonical order."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from motet.domain.arrays import Array, RowIndices
from motet.runtime.core.changes import all_changes
from motet.runtime.core.sums import Place, added


@dataclass(frozen=True, eq=False)
class Contribution:
    """One worker's part of a mini-batch for one block; `rows` None: `delta` covers all rows.

    `delta` None: the worker had nothing for this block.
    """

    delta: Array | None
    rows: RowIndices | None
    statistics: tuple[float, ...]

    def kept(self) -> Contribution:
        """A copy that stays valid after the message's buffer is reused."""
        delta = None if self.delta is None else self.delta.copy()
        rows = None if self.rows is None else self.rows.copy()
        return replace(self, delta=delta, rows=rows)

    def part(self, place: slice) -> Contribution:
        """What of this is for the rows at `place`, which a block of their own holds."""
        if self.delta is None:
            return replace(self, rows=None)
        if self.rows is None:
            return replace(self, delta=self.delta[place])
        inside = (self.rows >= place.start) & (self.rows < place.stop)
        if not inside.any():
            return Contribution(None, None, self.statistics)
        rows = (self.rows[inside] - place.start).astype(np.uint32)
        return Contribution(self.delta[inside], rows, self.statistics)


@dataclass(eq=False)
class PartialSum:
    """The content of an accumulator in the middle of a mini-batch.

    `total` None: zeros. `early`: contributions ahead of their position, by position.
    """

    total: Array | None
    next_position: int
    worker_count: int
    statistics: tuple[float, ...]
    early: dict[int, Contribution] = field(default_factory=dict)

    def part(self, place: slice) -> PartialSum:
        """The same of the rows at `place` only, as views where possible."""
        total = None if self.total is None else self.total[place]
        early = {position: one.part(place) for position, one in self.early.items()}
        return replace(self, total=total, early=early)


class Accumulator:
    """Sums the contributions of all workers to one mini-batch in the order of their positions.

    The canonical order makes a BSP run reproducible to the bit. A contribution that
    arrives before its turn is kept: the second one where the sum will be, because the first one
    can be added to it with the same result.
    """

    def __init__(
        self, shape: tuple[int, ...], dtype: np.dtype[Any], *, keeps_memory: bool = True
    ) -> None:
        """`keeps_memory`: allocate the sum once; False: anew for every mini-batch."""
        self._shape = shape
        self._keeps_memory = keeps_memory
        self._dtype = dtype
        self._sum: Array | None = None
        self._only: Array | None = None
        self._worker_count = 0
        self._is_zero = True
        self._next = 0
        self._early: dict[int, Contribution] = {}
        self._statistics: tuple[float, ...] = ()

    def add(self, place: Place, contribution: Contribution) -> None:
        """Count `contribution`; a second one of the same worker changes nothing.

        Its arrays must stay valid until the sum has been taken if there is one worker only.
        """
        position, self._worker_count = place
        if position < self._next or position in self._early:
            return
        if position > self._next:
            self._early[position] = self._kept(position, contribution)
            return
        if not self._add_to_second(contribution):
            self._sum_up(contribution)
        while (early := self._early.pop(self._next, None)) is not None:
            self._sum_up(early)

    @property
    def is_complete(self) -> bool:
        """Whether every worker has contributed."""
        return 0 < self._worker_count == self._next

    @property
    def is_unused(self) -> bool:
        """Whether this mini-batch has no contribution yet."""
        return not self._next and not self._early

    def take(self) -> tuple[Array, tuple[float, ...]]:
        """The sum and the summed statistics; valid until `reset`."""
        total = self._zeroed() if self._is_zero else self._only
        if total is None:
            assert self._sum is not None
            total = self._sum
        return total, self._statistics

    def reset(self) -> None:
        """Begin the next mini-batch; contributions that have not been taken are dropped."""
        self._only, self._early = None, {}
        self._is_zero, self._next, self._statistics = True, 0, ()
        if not self._keeps_memory:
            self._sum = None

    def pack(self) -> PartialSum:
        """The contributions so far; the accumulator must not be used any more."""
        total = None if self._is_zero else self._sum
        return PartialSum(total, self._next, self._worker_count, self._statistics, self._early)

    def unpack(self, partial: PartialSum) -> None:
        """Continue another accumulator's sum; its arrays become this one's."""
        if partial.total is not None:
            self._sum = partial.total
        self._is_zero = partial.total is None
        self._next, self._worker_count = partial.next_position, partial.worker_count
        self._statistics, self._early = partial.statistics, partial.early

    def _kept(self, position: int, contribution: Contribution) -> Contribution:
        delta = contribution.delta
        if position > 1 or delta is None or contribution.rows is not None:
            return contribution.kept()
        np.copyto(self._memory(), delta)
        return replace(contribution, delta=self._sum)

    def _add_to_second(self, first: Contribution) -> bool:
        """Add the first contribution to the second one; False unless that is where the sum is."""
        second = self._early.get(1)
        if second is None or self._sum is None or second.delta is not self._sum:
            return False
        if first.delta is None or first.rows is not None:
            self._sum = None  # The memory stays with the second one.
            return False
        np.add(first.delta, self._sum, out=self._sum)
        self._statistics = added(first.statistics, second.statistics)
        self._is_zero, self._next = False, 2
        del self._early[1]
        return True

    def _sum_up(self, contribution: Contribution) -> None:
        delta, rows = contribution.delta, contribution.rows
        if delta is not None:
            self._add(delta, rows)
            self._is_zero = False
        self._statistics = added(self._statistics, contribution.statistics)
        self._next += 1

    def _add(self, delta: Array, rows: RowIndices | None) -> None:
        if rows is not None:
            total = self._zeroed() if self._is_zero else self._memory()
            total[rows] += delta
        elif not self._is_zero:
            total = self._memory()
            np.add(total, delta, out=total)
        elif self._worker_count == 1:
            self._only = delta  # The sum of one contribution needs no memory of its own.
        else:
            np.copyto(self._memory(), delta)

    def _memory(self) -> Array:
        """Room for the sum; what it holds is left over from the mini-batch before."""
        if self._sum is None:
            self._sum = np.zeros(self._shape, self._dtype)
        return self._sum

    def _zeroed(self) -> Array:
        total = self._memory()
        total.fill(0)
        return total


class ChangeAccumulator(Accumulator):
    """Collects the changes of all workers in the order of their positions; `take` joins them."""

    def __init__(self) -> None:
        super().__init__((2, 0), np.dtype(np.int32))
        self._parts: list[Array] = []

    def take(self) -> tuple[Array, tuple[float, ...]]:
        """All changes `(2, n)` and the summed statistics; the array is the caller's."""
        return all_changes(self._parts), self._statistics

    def reset(self) -> None:
        """Begin the next mini-batch."""
        self._parts = []
        self._next, self._statistics = 0, ()

    def pack(self) -> PartialSum:
        """The contributions so far; the accumulator must not be used any more."""
        total = all_changes(self._parts) if self._parts else None
        return PartialSum(total, self._next, self._worker_count, self._statistics, self._early)

    def unpack(self, partial: PartialSum) -> None:
        """Continue another accumulator's collection; its arrays become this one's."""
        super().unpack(partial)
        self._parts = [] if partial.total is None else [partial.total]

    def _kept(self, position: int, contribution: Contribution) -> Contribution:
        return contribution.kept()

    def _sum_up(self, contribution: Contribution) -> None:
        if contribution.delta is not None:
            self._parts.append(contribution.delta.copy())
        self._statistics = added(self._statistics, contribution.statistics)
        self._next += 1
