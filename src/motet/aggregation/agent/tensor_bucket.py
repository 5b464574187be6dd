"""Small tensors whose gradients and values lie one after the other in one memory.

What is sent for hundreds of small tensors is then a piece of memory for each Aggregator, and not a
list of hundreds.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

_MOST_KNOWN = 64


class TensorBucket:
    """Where each tensor lies in such a memory, in elements. `numbers`: the tensors', ascending."""

    def __init__(self, sizes: Mapping[int, int]) -> None:
        """`sizes`: numbers of elements, by tensor, in the order of the memory."""
        self.order = tuple(sizes)
        self.numbers = tuple(sorted(sizes))
        ends = np.cumsum([*sizes.values()]).tolist()
        self.size = int(ends[-1])
        self._bounds = dict(zip(sizes, zip([0, *ends], ends, strict=False), strict=True))
        self._pieces: dict[tuple[int, ...], Sequence[slice]] = {}

    def place(self, tensor: int) -> slice:
        """Of one tensor."""
        return slice(*self._bounds[tensor])

    def pieces(self, tensors: tuple[int, ...]) -> Sequence[slice]:
        """Of tensors in this order: as few as possible. Steps repeat the same question."""
        known = self._pieces.get(tensors)
        if known is None:
            if len(self._pieces) >= _MOST_KNOWN:
                self._pieces.clear()
            known = self._pieces[tensors] = self._joined(tensors)
        return known

    def _joined(self, tensors: Sequence[int]) -> Sequence[slice]:
        found: list[tuple[int, int]] = []
        for tensor in tensors:
            start, end = self._bounds[tensor]
            if found and found[-1][1] == start:
                found[-1] = found[-1][0], end
            else:
                found.append((start, end))
        return [slice(*each) for each in found]


class BucketMemory(NamedTuple):
    """A memory with the tensors of a bucket: a flat array."""

    bucket: TensorBucket
    array: NDArray[Any]

    def array_of(self, tensor: int) -> NDArray[Any]:
        """One tensor, flat."""
        return self.array[self.bucket.place(tensor)]


TensorMemory: TypeAlias = NDArray[Any] | BucketMemory
"""Memory of one tensor, or of it among others."""


def array_in(memory: TensorMemory) -> NDArray[Any]:
    """The whole of a memory."""
    return memory.array if isinstance(memory, BucketMemory) else memory


def buffers_of(tensors: tuple[int, ...], places: Sequence[TensorMemory]) -> list[NDArray[Any]]:
    """What a message of tensors, each in its place, is made of."""
    found: list[NDArray[Any]] = []
    start = 0
    while start < len(places):
        place = places[start]
        if isinstance(place, BucketMemory):
            end = _run_end(places, start)
            found += [place.array[each] for each in place.bucket.pieces(tensors[start:end])]
        else:
            found.append(place)
            end = start + 1
        start = end
    return found


def _run_end(places: Sequence[TensorMemory], start: int) -> int:
    """Where the tensors end that are in the same memory as the first."""
    if not start and len(set(map(id, places))) == 1:
        return len(places)
    end = start + 1
    while end < len(places) and places[end] is places[start]:
        end += 1
    return end
