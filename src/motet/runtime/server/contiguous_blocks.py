"""Blocks that lie side by side, read and updated as one."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from motet.domain.arrays import Array
from motet.runtime.core.application import Step
from motet.runtime.core.table_spec import TableSpec
from motet.runtime.server.block import Block, UpdateFunction


class Room:
    """Memory for the first values of an owner's blocks, side by side in the order of `numbers`."""

    def __init__(self, numbers: Sequence[int], spec: TableSpec) -> None:
        sizes = [spec.partition.rows_in(number) for number in numbers]
        bounds = pairwise([0, *np.cumsum(sizes).tolist()])
        self._places = {n: slice(*place) for n, place in zip(numbers, bounds, strict=True)}
        self._values = np.zeros((sum(sizes), *spec.model.value_shape), spec.model.dtype)
        self._views = {number: self._values[place] for number, place in self._places.items()}

    def values_of(self, number: int) -> Array:
        """The room of one block: always the same object, by which it can be told from a copy."""
        return self._views[number]

    def holds(self, number: int, values: Array) -> bool:
        """Whether `values` are this block's room."""
        return self._views.get(number) is values

    def stretch_of(self, numbers: Sequence[int]) -> Array | None:
        """The room of several as one array, if they are in order and nothing lies between them."""
        if not all(number in self._places for number in numbers):
            return None
        pairs = [(one, self._places[one], next_one) for one, next_one in pairwise(numbers)]
        if any(a >= b or place.stop != self._places[b].start for a, place, b in pairs):
            return None
        if not numbers:
            return None
        return self._values[self._places[numbers[0]].start : self._places[numbers[-1]].stop]


class Neighbours:
    """Blocks whose values were laid out side by side in `stretch`, dealt with as one.

    What happens to them is what would happen to one after another, with less work: a request for a
    whole table names all of an owner's blocks.
    """

    def __init__(
        self,
        blocks: Sequence[Block],
        views: Sequence[Array],
        stretch: Array,
        update: UpdateFunction,
    ) -> None:
        """`blocks`: in the order of their numbers, for they are locked in it; none twice.

        `views`: the part of `stretch` that is each block's room.
        """
        self._blocks = blocks
        self._views = views
        self._stretch = stretch
        self._update = update

    def pin(self) -> Array | None:
        """All values as one array, unchanged until `unpin`; None, then nothing is pinned, when
        a block's values were copied elsewhere.
        """
        for count, (block, view) in enumerate(zip(self._blocks, self._views, strict=True)):
            with block.lock:
                if block.values is view:
                    block.pins += 1
                    continue
            self._unpin_first(count)
            return None
        return self._stretch

    def unpin(self) -> None:
        """The reader is done."""
        self._unpin_first(len(self._blocks))

    def update(self, client: int, numbers: Sequence[int], delta: Array, step: Step) -> bool:
        """Run the update function once on all of them, exactly once per (client, number).

        Returns False, having changed nothing, when a block is being read, was copied elsewhere, or
        this is not the next of the client's updates for it: then each must be updated for itself.
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
            self._update(self._stretch, delta, step)
            for its_numbers, number in zip(applied, numbers, strict=True):
                its_numbers.below = number + 1
        finally:
            for block in self._blocks:
                block.lock.release()
        return True

    def _unpin_first(self, count: int) -> None:
        for block, view in zip(self._blocks[:count], self._views[:count], strict=True):
            block.unpin(view)
