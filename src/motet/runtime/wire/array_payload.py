"""Arrays of a message: their bytes travel in the payload, their descriptions in the head."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from motet.domain.arrays import Array
from motet.runtime.wire.errors import BadMessage

# Booleans, numbers, times and text of a fixed width; never Python objects or structures.
_DTYPE = re.compile(r"[<>|][biufcmMSU][0-9]{1,9}(\[[0-9]{0,3}[A-Za-z]{1,2}\])?")
_MOST_DIMENSIONS = 32


@dataclass
class OutgoingArrays:
    """Collects the arrays of one message; `buffers` are contiguous and in the order of adding."""

    buffers: list[Array] = field(default_factory=list)

    def add(self, array: Array) -> list[Any]:
        """The array's description for the head: `[dtype, shape]`. Raises BadMessage."""
        if not _DTYPE.fullmatch(array.dtype.str):
            raise BadMessage(
                f"an array of dtype {array.dtype} cannot be sent; send numbers or text"
            )
        self.buffers.append(np.ascontiguousarray(array).reshape(array.shape))
        return [array.dtype.str, list(array.shape)]


class IncomingArrays:
    """Takes the arrays of one message out of its payload, in the order of their descriptions."""

    def __init__(self, payload: memoryview) -> None:
        self._payload = payload
        self._offset = 0

    def take(self, description: Any) -> Array:
        """A copy of the next array, which `[dtype, shape]` describes. Raises BadMessage."""
        dtype, shape = _checked(description)
        end = self._offset + math.prod(shape) * dtype.itemsize
        if end > len(self._payload):
            raise BadMessage(
                f"{dtype} {shape} ends at byte {end} of a payload of {len(self._payload)} bytes"
            )
        try:
            array = np.ndarray(shape, dtype, self._payload[self._offset : end]).copy()
        except (ValueError, TypeError, OverflowError) as error:
            raise BadMessage(f"{dtype} {shape} is no array: {error}") from error
        self._offset = end
        return array

    def finish(self) -> None:
        """Raises BadMessage if the payload is longer than its arrays."""
        if self._offset != len(self._payload):
            raise BadMessage(
                f"the payload has {len(self._payload)} bytes, its arrays {self._offset}"
            )


def _checked(description: Any) -> tuple[np.dtype[Any], tuple[int, ...]]:
    match description:
        case [str(dtype), list(shape)] if _DTYPE.fullmatch(dtype) and _is_shape(shape):
            try:
                return np.dtype(dtype), tuple(shape)
            except (TypeError, ValueError) as error:
                raise BadMessage(f"{dtype!r} is no dtype: {error}") from error
    raise BadMessage(f"{str(description)[:80]} does not describe an array")


def _is_shape(sizes: list[Any]) -> bool:
    return len(sizes) <= _MOST_DIMENSIONS and all(type(size) is int and size >= 0 for size in sizes)
