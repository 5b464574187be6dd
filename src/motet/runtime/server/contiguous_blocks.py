"""Blocks that lie side by side in memory, read and updated as one."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from types import TracebackType

import numpy as np

from motet.domain.arrays import Array, RowIndices
from motet.runtime.core.application import Step
from motet.runtime.core.sums import Place
from motet.runtime.core.table_spec import TableSpec
from motet.runtime.server.accumulator import Accumulator, Contribution
from motet.runtime.server.block import Block, UpdateFunction
from motet.runtime.server.block_values import copy_rows
from motet.runtime.server.joint_sum import BlockChanges, JointChanges, JointSum

_INT32_MAX = 0x7FFFFFFF


class LocksInOrder:
    """Holds several locks at once, taken in their order. (A generator would cost a microsecond.)"""

    def __init__(self, locks: Sequence[threading.Lock]) -> None:
        self._locks = locks

    def __enter__(self) -> None:
        for lock in self._locks:
            lock.acquire()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        for lock in self._locks:
            lock.release()


class BlockMemory:
    """Memory for an owner's blocks, side by side in the order of `numbers`."""

    def __init__(self, numbers: Sequence[int], spec: TableSpec) -> None:
        sizes = [spec.partition.rows_in(number) for number in numbers]
        bounds = pairwise([0, *np.cumsum(sizes).tolist()])
        self._places = {n: slice(*place) for n, place in zip(numbers, bounds, strict=True)}
        self._values = np.zeros((sum(sizes), *spec.model.value_shape), spec.model.dtype)
        self._views = {number: self._values[place] for number, place in self._places.items()}

    @property
    def block_count(self) -> int:
        """For how many blocks there is memory."""
        return len(self._places)

    def values_of(self, number: int) -> Array:
        """The memory of one block: always the same object, so that a copy can be recognised."""
        return self._views[number]

    def holds(self, number: int, values: Array) -> bool:
        """Whether `values` are this block's memory."""
        return self._views.get(number) is values

    def span_of(self, numbers: Sequence[int]) -> Array | None:
        """The memory of several blocks as one array; None unless they are adjacent, in order."""
        if not numbers or not all(number in self._places for number in numbers):
            return None
        pairs = [(one, self._places[one], next_one) for one, next_one in pairwise(numbers)]
        if any(a >= b or place.stop != self._places[b].start for a, place, b in pairs):
            return None
        return self._values[self._places[numbers[0]].start : self._places[numbers[-1]].stop]


class ContiguousBlocks:
    """Blocks whose values lie side by side in `span`, read and updated as one array.

    The result is the same as for one block after another, with less work: a request for a whole
    table names all of an owner's blocks.
    """

    def __init__(
        self,
        blocks: Sequence[Block],
        views: Sequence[Array],
        span: Array,
        update: UpdateFunction,
        deltas: Accumulator | None = None,
    ) -> None:
        """`blocks`: in the order of their numbers, which is the order of locking; none twice.

        `views`: the part of `span` that is each block's memory. `deltas`: adds up contributions to
        all of the blocks (None: they exchange changes).
        """
        self._blocks = blocks
        self._locks = LocksInOrder([block.lock for block in blocks])
        self._views = views
        self._span = span
        self._update = update
        bounds = pairwise([0, *np.cumsum([len(view) for view in views]).tolist()])
        self._places = [slice(*place) for place in bounds]
        self._sum = None if deltas is None else JointSum(blocks, self._places, deltas)
        self._changes = JointChanges(blocks) if deltas is None else None
        value_size = int(np.prod(span.shape[1:], dtype=np.int64))
        self._firsts = np.array([place.start * value_size for place in self._places], np.int64)

    @property
    def length(self) -> int:
        """Rows of all blocks."""
        return len(self._span)

    def pin(self) -> Array | None:
        """All values as one array, unchanged until `unpin`.

        None, with nothing pinned, when a block's values were copied elsewhere.
        """
        for count, (block, view) in enumerate(zip(self._blocks, self._views, strict=True)):
            with block.lock:
                if block.values is view:
                    block.pins += 1
                    continue
            self._unpin_first(count)
            return None
        return self._span

    def unpin(self) -> None:
        """The values are read."""
        self._unpin_first(len(self._blocks))

    def update(self, client: int, numbers: Sequence[int], delta: Array, step: Step) -> bool:
        """Run the update function once on all of them, exactly once per (client, number).

        Returns False, with nothing changed, when a block is being read, was copied elsewhere, or
        this is not the next of the client's updates for it: then each is updated separately.
        """
        with self._locks:
            for block in self._blocks:
                block.require_here()
            if not self._is_in_place():
                return False
            applied = [block.applied_of(client) for block in self._blocks]
            for its_numbers, number in zip(applied, numbers, strict=True):
                if its_numbers.below != number or its_numbers.ahead:
                    return False
            self._update(self._span, delta, step)
            for its_numbers, number in zip(applied, numbers, strict=True):
                its_numbers.below = number + 1
        return True

    def gather(self, rows: RowIndices, out: Array) -> bool:
        """Copy some rows of `span` to `out`; False, with nothing copied, as for `pin`."""
        with self._locks:
            if not self._has_values():
                return False
            copy_rows(self._span, rows, out)
            return True

    def contribute(self, place: Place, contribution: Contribution, step: Step) -> bool | None:
        """Count one worker's part of a BSP mini-batch for all blocks; the last one applies the sum.

        Returns whether the mini-batch is now applied. None, with nothing changed: the contribution
        must be made to each block, because a block has left, or is in another mini-batch, or has
        been contributed to by itself.
        """
        total = self._sum
        if total is None:
            return None
        with self._locks:
            if not total.begins(contribution, step.clock):
                return None
            total.deltas.add(place, contribution)
            if not total.deltas.is_complete:
                return False
            self._apply_sum(total.deltas, step)
            total.end_batch()
            return True

    def contribute_changes(self, place: Place, changes: BlockChanges, step: Step) -> bool | None:
        """As `contribute`, for blocks that exchange changes; the arrays are taken over."""
        total = self._changes
        if total is None:
            return None
        with self._locks:
            if not total.is_joint(step.clock):
                return None
            if not total.add(place, changes, step.statistics):
                return False
            parts, statistics = total.take()
            self._apply_changes(parts, replace(step, statistics=statistics))
            total.end_batch()
            return True

    def _apply_changes(self, parts: Sequence[BlockChanges], step: Step) -> None:
        kept_bytes = sum(part.changes.nbytes for part in parts) // len(self._blocks)
        if not self._is_in_place():
            for index, block in enumerate(self._blocks):
                block.apply_changes([part.of(index) for part in parts], kept_bytes, step)
            return
        self._update(self._span, self._in_span(parts), step)
        for index, block in enumerate(self._blocks):
            block.count_changes([part.of(index) for part in parts], kept_bytes, step)

    def _in_span(self, parts: Sequence[BlockChanges]) -> Array:
        """All changes `(2, n)` with positions in `span`."""
        from motet.runtime.core.kernels.change_kernels import shift_positions

        total = sum(part.changes.shape[1] for part in parts)
        changes = np.empty((2, total), np.int32 if self._span.size <= _INT32_MAX else np.int64)
        start = 0
        for part in parts:
            end = start + part.changes.shape[1]
            ends = np.array(part.ends, np.int64)
            shift_positions(part.changes[0], ends, self._firsts, changes[0, start:end])
            changes[1, start:end] = part.changes[1]
            start = end
        return changes

    def _apply_sum(self, total: Accumulator, step: Step) -> None:
        delta, statistics = total.take()
        step = replace(step, statistics=statistics)
        if not self._is_in_place():
            for block, place in zip(self._blocks, self._places, strict=True):
                block.apply_sum(delta[place], step)
            return
        self._update(self._span, delta, step)
        for block in self._blocks:
            block.clock = step.clock + 1

    def _is_in_place(self) -> bool:
        """Whether `span` has all values and may be changed; requires the locks."""
        return self._has_values() and not [block for block in self._blocks if block.pins]

    def _has_values(self) -> bool:
        for block, view in zip(self._blocks, self._views, strict=True):
            if block.values is not view:
                return False
        return True

    def _unpin_first(self, count: int) -> None:
        for block, view in zip(self._blocks[:count], self._views[:count], strict=True):
            block.unpin(view)
