"""A block on its way from one owner to another, as bytes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from motet.domain.arrays import Array
from motet.runtime.server.accumulator import Contribution, PartialSum
from motet.runtime.server.block import AppliedNumbers, BlockState
from motet.runtime.wire.messages import decode_json, encode_json


@dataclass(frozen=True, eq=False)
class BlockTransfer:
    """One block of one move; `version`: of the ownership table that the move made.

    `worker_clocks`: the mini-batches that each worker had finished at the source (SSP).
    """

    generation: int
    table: int
    number: int
    version: int
    state: BlockState
    worker_clocks: Mapping[int, int]

    def encode(self) -> tuple[bytes, list[Array]]:
        """Meta and payload."""
        arrays = _Arrays()
        state, partial = self.state, self.state.partial
        fields = {
            "generation": self.generation,
            "table": self.table,
            "number": self.number,
            "version": self.version,
            "values": arrays.add(state.values),
            "clock": state.clock,
            "applied": [
                [client, numbers.below, sorted(numbers.ahead)]
                for client, numbers in state.applied.items()
            ],
            "applied_clocks": list(state.applied_clocks.items()),
            "worker_clocks": list(self.worker_clocks.items()),
            "total": arrays.add(partial.total),
            "next_position": partial.next_position,
            "worker_count": partial.worker_count,
            "statistics": partial.statistics,
            "early": [
                [position, arrays.add(early.delta), arrays.add(early.rows), early.statistics]
                for position, early in partial.early.items()
            ],
        }
        return encode_json({**fields, "arrays": arrays.described}), arrays.payload

    @classmethod
    def decode(cls, meta: bytes | memoryview, payload: memoryview) -> BlockTransfer:
        """The inverse of `encode`; copies out of `payload`."""
        fields = decode_json(meta)
        arrays = _taken(fields["arrays"], payload)
        early = {
            position: Contribution(_at(arrays, delta), _at(arrays, rows), tuple(statistics))
            for position, delta, rows, statistics in fields["early"]
        }
        partial = PartialSum(
            _at(arrays, fields["total"]),
            fields["next_position"],
            fields["worker_count"],
            tuple(fields["statistics"]),
            early,
        )
        state = BlockState(
            arrays[fields["values"]],
            fields["clock"],
            {c: AppliedNumbers(below, set(ahead)) for c, below, ahead in fields["applied"]},
            dict(fields["applied_clocks"]),
            partial,
        )
        return cls(
            fields["generation"],
            fields["table"],
            fields["number"],
            fields["version"],
            state,
            dict(fields["worker_clocks"]),
        )


class _Arrays:
    """Arrays one after another in a payload, known by their positions."""

    def __init__(self) -> None:
        self.described: list[tuple[str, tuple[int, ...]]] = []
        self.payload: list[Array] = []

    def add(self, array: Array | None) -> int | None:
        if array is None:
            return None
        self.described.append((array.dtype.str, array.shape))
        self.payload.append(np.ascontiguousarray(array))
        return len(self.payload) - 1


def _taken(described: list[Any], payload: memoryview) -> list[Array]:
    taken: list[Array] = []
    offset = 0
    for dtype, shape in described:
        count = int(np.prod(shape, dtype=np.int64))
        array = np.frombuffer(payload, np.dtype(dtype), count, offset).reshape(shape).copy()
        taken.append(array)
        offset += array.nbytes
    return taken


def _at(arrays: list[Array], place: int | None) -> Array | None:
    return None if place is None else arrays[place]
