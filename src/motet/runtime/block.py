"""One block of a table at its owner: atomic reads and updates, each update exactly once.

Readers pin the array that they send (zero-copy); a writer that finds it pinned works on a copy. So
a reader never sees half an update and no lock is held while bytes travel.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from motet.runtime.application import Step

Array = NDArray[Any]
RowIndices = NDArray[np.uint32]
UpdateFunction = Callable[[Array, Array, Step], None]


@dataclass
class AppliedNumbers:
    """The sequence numbers (0, 1, 2, ...) of one client's updates that a block has applied."""

    below: int = 0
    ahead: set[int] = field(default_factory=set)

    def has(self, number: int) -> bool:
        """Whether the update was applied."""
        return number < self.below or number in self.ahead

    def add(self, number: int) -> None:
        """The update is applied."""
        if number == self.below and not self.ahead:
            self.below += 1
            return
        self.ahead.add(number)
        while self.below in self.ahead:
            self.ahead.remove(self.below)
            self.below += 1


@dataclass(frozen=True, eq=False)
class Contribution:
    """One worker's part of a mini-batch for one block; `rows` None: `delta` covers all rows.

    `delta` None: the worker had nothing for this block.
    """

    delta: Array | None
    rows: RowIndices | None
    statistics: tuple[float, ...]

    def kept(self) -> Contribution:
        """A copy that outlives the message it came in."""
        delta = None if self.delta is None else self.delta.copy()
        rows = None if self.rows is None else self.rows.copy()
        return replace(self, delta=delta, rows=rows)


class Accumulator:
    """Sums the contributions of all workers to one mini-batch in the order of their ranks.

    The canonical order makes a BSP run reproducible to the bit. A contribution that
    arrives before its turn is kept.
    """

    def __init__(self, shape: tuple[int, ...], dtype: np.dtype[Any], worker_count: int) -> None:
        self._sum = np.zeros(shape, dtype)
        self._worker_count = worker_count
        self._is_zero = True
        self._next_rank = 0
        self._early: dict[int, Contribution] = {}
        self._statistics: tuple[float, ...] = ()

    def add(self, rank: int, contribution: Contribution) -> None:
        """Count `contribution`; a second one of the same rank changes nothing."""
        if rank < self._next_rank or rank in self._early:
            return
        if rank > self._next_rank:
            self._early[rank] = contribution.kept()
            return
        self._sum_up(contribution)
        while (early := self._early.pop(self._next_rank, None)) is not None:
            self._sum_up(early)

    @property
    def is_complete(self) -> bool:
        """Whether every worker has contributed."""
        return self._next_rank == self._worker_count

    def take(self) -> tuple[Array, tuple[float, ...]]:
        """The sum and the summed statistics; valid until `reset`."""
        return self._sum, self._statistics

    def reset(self) -> None:
        """Begin the next mini-batch."""
        if not self._is_zero:
            self._sum.fill(0)
        self._is_zero, self._next_rank, self._statistics = True, 0, ()

    def _sum_up(self, contribution: Contribution) -> None:
        delta, rows = contribution.delta, contribution.rows
        if delta is not None:
            if rows is not None:
                self._sum[rows] += delta
            elif self._is_zero:
                np.copyto(self._sum, delta)
            else:
                np.add(self._sum, delta, out=self._sum)
            self._is_zero = False
        self._statistics = _added(self._statistics, contribution.statistics)
        self._next_rank += 1


def _added(one: tuple[float, ...], other: tuple[float, ...]) -> tuple[float, ...]:
    """Element by element; a worker without instances in the mini-batch reports nothing."""
    if not one or not other:
        return one or other
    return tuple(a + b for a, b in zip(one, other, strict=True))


class Block:
    """Values of one block and everything that must travel with it when it moves."""

    def __init__(
        self,
        values: Array,
        update: UpdateFunction,
        delta_shape: tuple[int, ...] | None = None,
        delta_dtype: np.dtype[Any] | None = None,
        clock: int = 0,
    ) -> None:
        """`values: (rows, ...)`; the block takes them over. `clock`: mini-batches it contains.

        `delta_shape`, `delta_dtype`: of a whole block's delta, if they are not those of `values`.
        While no writer had to make a copy, the values are where they first were (`first_values`).
        `values`, `pins` and `applied_of` are for those who hold `lock`.
        """
        self.values = values
        self.first_values = values
        self._delta_shape = values.shape if delta_shape is None else delta_shape
        self._delta_dtype = values.dtype if delta_dtype is None else delta_dtype
        self._update = update
        self.pins = 0
        self.lock = threading.Lock()
        self._applied: dict[int, AppliedNumbers] = {}
        self._applied_clocks: dict[int, int] = {}
        self._scratch: Array | None = None
        self.clock = clock

    def pin(self) -> Array:
        """The present values; unchanged until `unpin`."""
        with self.lock:
            self.pins += 1
            return self.values

    def unpin(self, values: Array) -> None:
        """The reader of `values` is done."""
        with self.lock:
            if values is self.values:
                self.pins -= 1

    def to_bytes(self) -> bytes:
        """A copy of the present values."""
        with self.lock:
            return self.values.tobytes()

    def gather(self, rows: RowIndices, out: Array) -> None:
        """Copy some rows to `out`. Raises IndexError when a row is outside the block."""
        with self.lock:
            np.take(self.values, rows, axis=0, out=out)

    def put(self, client: int, number: int, rows: RowIndices | None, values: Array) -> None:
        """Replace values, exactly once per (client, number)."""
        with self.lock:
            applied = self.applied_of(client)
            if not applied.has(number):
                self._writable()[slice(None) if rows is None else rows] = values
                applied.add(number)

    def update(
        self, client: int, number: int, rows: RowIndices | None, delta: Array, step: Step
    ) -> None:
        """Run the update function on these rows, exactly once per (client, number)."""
        with self.lock:
            applied = self.applied_of(client)
            if applied.has(number):
                return
            values = self._writable()
            if rows is None:
                self._update(values, delta, step)
            else:
                some = values[rows]
                self._update(some, delta, step)
                values[rows] = some
            applied.add(number)

    def contribute_now(self, rank: int, contribution: Contribution, step: Step) -> None:
        """Apply one worker's part of a mini-batch at once (SSP, async), exactly once.

        A worker's mini-batches reach a block in order, so its last clock tells what is new.
        """
        with self.lock:
            if step.clock <= self._applied_clocks.get(rank, -1):
                return
            self._apply(contribution, step)
            self._applied_clocks[rank] = step.clock

    def contribute(
        self, accumulator: Accumulator, rank: int, contribution: Contribution, step: Step
    ) -> bool:
        """Count one worker's part of a BSP mini-batch; the last one applies the sum.

        Returns whether the mini-batch is now applied to this block. Duplicates change nothing.
        """
        with self.lock:
            if step.clock < self.clock:
                return False
            accumulator.add(rank, contribution)
            if not accumulator.is_complete:
                return False
            delta, statistics = accumulator.take()
            self._update(self._writable(), delta, replace(step, statistics=statistics))
            self.clock = step.clock + 1
            accumulator.reset()
            return True

    def _apply(self, contribution: Contribution, step: Step) -> None:
        """Run the update function on the whole block, with zeros for rows that got nothing."""
        delta, rows = contribution.delta, contribution.rows
        if delta is not None and rows is None:
            self._update(self._writable(), delta, step)
            return
        if self._scratch is None:
            self._scratch = np.zeros(self._delta_shape, self._delta_dtype)
        if delta is not None:
            self._scratch[rows] = delta
        try:
            self._update(self._writable(), self._scratch, step)
        finally:
            self._scratch.fill(0)

    def applied_of(self, client: int) -> AppliedNumbers:
        applied = self._applied.get(client)
        if applied is None:
            applied = self._applied[client] = AppliedNumbers()
        return applied

    def _writable(self) -> Array:
        if self.pins:
            self.values = self.values.copy()
            self.pins = 0
        return self.values
