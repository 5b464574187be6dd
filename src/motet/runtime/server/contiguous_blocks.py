"""Blocks that lie side by side in memory, read and updated as one."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from motet.domain.arrays import Array
from motet.runtime.core.application import Step
from motet.runtime.core.table_spec import TableSpec
from motet.runtime.server.block import Block, UpdateFunction


class BlockMemory:
    """Memory for an owner's blocks, side by side in the order of `numbers`."""

    def __init__(self, numbers: Sequence[int], spec: TableSpec) -> None:
        sizes = [spec.partition.rows_in(number) for number in numbers]
        bounds = pairwise([0, *np.cumsum(sizes).tolist()])
        self._places = {n: slice(*place) for n, place in zip(numbers, bounds, strict=True)}
        self._values = np.zeros((sum(sizes), *spec.model.value_shape), spec.model.dtype)
        self._views = {number: self._values[place] for number, place in self._places.items()}

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
    ) -> None:
        """`blocks`: in the order of their numbers, which is the order of locking; none twice.

        `views`: the part of `span` that is each block's memory.
        """
        self._blocks = blocks
        self._views = views
        self._span = span
        self._update = update

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
        for block in self._blocks:
            block.lock.acquire()
        try:
            for block, view in zip(self._blocks, self._views, strict=True):
                block.require_here()
                if block.pins or block.values is not view:
                    return False
            applied = [block.applied_of(client) for block in self._blocks]
            for its_numbers, number in zip(applied, numbers, strict=True):
                if its_numbers.below != number or its_numbers.ahead:
                    return False
            self._update(self._span, delta, step)
            for its_numbers, number in zip(applied, numbers, strict=True):
                its_numbers.below = number + 1
        finally:
            for block in self._blocks:
                block.lock.release()
        return True

    def _unpin_first(self, count: int) -> None:
        for block, view in zip(self._blocks[:count], self._views[:count], strict=True):
            block.unpin(view)
