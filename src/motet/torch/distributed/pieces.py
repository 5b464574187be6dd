"""Arrays of any size as tensors of fixed sizes, which Aggregators add. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from motet.aggregation.wire.tensor_spec import TensorSpec

LARGEST = 1 << 18
"""Elements: 1 MiB of float32; large enough for the network, small enough to spread."""
PARALLEL = 32
_SMALLEST = 1 << 6
_SIZES = tuple(_SMALLEST << step for step in range(13))
assert _SIZES[-1] == LARGEST


class ArrayPiece(NamedTuple):
    """Elements `start` to `stop` of an array, in a tensor of `size` elements."""

    tensor: int
    start: int
    stop: int
    size: int


class PieceTensors:
    """Tensors of one type: one of every power of two, and many of the largest size."""

    def __init__(self, dtype: str, first: int) -> None:
        """`first`: the number of the first tensor."""
        self._first = first
        self._sizes = (*_SIZES, *(LARGEST,) * (PARALLEL - 1))
        self.dtype = dtype
        self.specs = tuple(
            TensorSpec(f"motet.{dtype}.{index}", (size,), dtype)
            for index, size in enumerate(self._sizes)
        )

    def waves(self, elements: int) -> Iterator[tuple[ArrayPiece, ...]]:
        """The pieces of an array; those of a wave have tensors of their own."""
        wave_elements = LARGEST * PARALLEL
        for start in range(0, elements, wave_elements):
            yield tuple(self._wave(start, min(elements, start + wave_elements)))

    def _wave(self, start: int, stop: int) -> Iterator[ArrayPiece]:
        largest = len(_SIZES) - 1
        for index, place in enumerate(range(start, stop, LARGEST)):
            end = min(stop, place + LARGEST)
            used = largest + index
            if end - place < LARGEST:
                used = next(at for at, size in enumerate(_SIZES) if size >= end - place)
                used = used if used < largest else largest + index
            yield ArrayPiece(self._first + used, place, end, self._sizes[used])
