"""What executors and the controller say to each other on the data plane.

A table request names the job's generation, the table, the blocks and the version of the ownership
table that the sender used; an executor that no longer owns a block answers MOVED with a newer
table.
"""

from __future__ import annotations

import json
import struct
from dataclasses import dataclass
from enum import IntEnum
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from motet.runtime.core.application import Step
from motet.runtime.core.rows import Rows
from motet.runtime.server.accumulator import Place
from motet.runtime.wire.ownership import Ownership

Array = NDArray[Any]
Indices = NDArray[np.int64]


class Kind(IntEnum):
    """Request kinds."""

    PULL = 1
    PUSH = 2
    UPDATE = 3
    PUT = 4
    LOAD_ROWS = 10
    READ_STATE = 11
    EPOCH_DONE = 20
    BATCH_DONE = 21
    MEET = 30
    LEARN_OWNERS = 31
    MOVE_BLOCKS = 32
    TAKE_BLOCK = 33
    HOLD = 34
    CHANGE_WORK = 36
    SET_WORKERS = 37
    DISMISS = 38
    SETTLE = 39
    PREPARE_WORK = 40
    ASK_WORK = 41
    RETURN_STATE = 42


class Status(IntEnum):
    """Reply statuses below the transport's own error statuses."""

    OK = 0
    MOVED = 1
    STALE = 2


ANY_CLOCK = -1

# A reply to a parked PULL carries the microseconds that it was parked.
WAIT = struct.Struct("<Q")

ALONE = Place(0, 1)

ALL_ROWS = 0xFFFFFFFF

_TARGET = struct.Struct("<IHxxQqII")
_PUSH = struct.Struct("<iHHIIIIQqBxxxII")


@dataclass(frozen=True, eq=False)
class Selection:
    """Blocks, and optionally the rows wanted of each (None: all rows of every block).

    `blocks: (n,), uint32`; `rows: (sum of counts,), uint32`, the rows of the first block first;
    `counts: (n,), uint32`.
    """

    blocks: NDArray[np.uint32]
    counts: NDArray[np.uint32] | None = None
    rows: NDArray[np.uint32] | None = None

    def encode(self) -> bytes:
        """Bytes for the wire; `Target` carries the lengths."""
        if self.counts is None or self.rows is None:
            return self.blocks.tobytes()
        return self.blocks.tobytes() + self.counts.tobytes() + self.rows.tobytes()

    @classmethod
    def decode(cls, data: bytes, block_count: int, row_count: int) -> Self:
        """The inverse of `encode`; `row_count` may be ALL_ROWS."""
        blocks = np.frombuffer(data, np.uint32, block_count)
        if row_count == ALL_ROWS:
            return cls(blocks)
        counts = np.frombuffer(data, np.uint32, block_count, 4 * block_count)
        return cls(blocks, counts, np.frombuffer(data, np.uint32, row_count, 8 * block_count))

    def pieces(self) -> list[tuple[int, NDArray[np.uint32] | None]]:
        """Every block with its rows (None: all)."""
        if self.counts is None or self.rows is None:
            return [(block, None) for block in self.blocks.tolist()]
        ends = np.cumsum(self.counts)
        return [
            (block, self.rows[end - count : end])
            for block, count, end in zip(
                self.blocks.tolist(), self.counts.tolist(), ends.tolist(), strict=True
            )
        ]


class Target(NamedTuple):
    """The head of every table request: what it is about.

    `selection` stays encoded: equal bytes name equal blocks, so an owner decodes them once.
    """

    generation: int
    table: int
    version: int
    clock: int
    block_count: int
    row_count: int
    selection: bytes

    @classmethod
    def decode(cls, data: bytes) -> tuple[Self, int]:
        """The target and where the rest of the request's meta begins."""
        generation, table, version, clock, blocks, rows = _TARGET.unpack_from(data)
        size = 4 * blocks if rows == ALL_ROWS else 8 * blocks + 4 * rows
        end = _TARGET.size + size
        return cls(generation, table, version, clock, blocks, rows, data[_TARGET.size : end]), end


def encode_target(
    generation: int,
    table: int,
    version: int,
    clock: int,
    block_count: int,
    row_count: int | None,
    selection: bytes,
) -> bytes:
    """A request head around an encoded selection (a plan encodes its selection once)."""
    rows = ALL_ROWS if row_count is None else row_count
    return _TARGET.pack(generation, table, version, clock, block_count, rows) + selection


@dataclass(frozen=True)
class PushHead:
    """What a PUSH adds: whose part of which mini-batch it is.

    `rank`: the worker's executor; `place`: among those who compute this mini-batch; `instances`:
    how many of the mini-batch's instances this worker computed; `is_last`: nothing more of this
    mini-batch follows from this worker to this server.
    """

    rank: int
    step: Step
    instances: int
    is_last: bool
    place: Place = ALONE

    def encode(self) -> bytes:
        """Bytes for the wire."""
        step, statistics = self.step, self.step.statistics
        head = _PUSH.pack(
            self.rank,
            *self.place,
            step.epoch,
            step.batch,
            step.batch_count,
            step.instances,
            step.instance_count,
            step.seed,
            self.is_last,
            self.instances,
            len(statistics),
        )
        return head + struct.pack(f"<{len(statistics)}d", *statistics)

    @classmethod
    def decode(cls, data: bytes | memoryview, offset: int, clock: int) -> Self:
        """From a PUSH's meta at `offset`."""
        fields = _PUSH.unpack_from(data, offset)
        rank, position, workers, epoch, batch, batch_count = fields[:6]
        instances, total, seed, is_last, own, count = fields[6:]
        statistics = struct.unpack_from(f"<{count}d", data, offset + _PUSH.size)
        step = Step(epoch, batch, batch_count, clock, instances, total, seed, statistics=statistics)
        return cls(rank, step, own, bool(is_last), Place(position, workers))


def encode_json(value: Any) -> bytes:
    """A small control message."""
    return json.dumps(value, separators=(",", ":")).encode()


def decode_json(data: bytes | memoryview) -> Any:
    """The inverse of `encode_json`."""
    return json.loads(bytes(data))


_GENERATION = struct.Struct("<I")


def encode_owners(generation: int, ownership: Ownership) -> bytes:
    """A LEARN_OWNERS' meta."""
    return _GENERATION.pack(generation) + ownership.encode()


def decode_owners(data: bytes | memoryview) -> tuple[int, Ownership]:
    """The inverse of `encode_owners`."""
    (generation,) = _GENERATION.unpack_from(data)
    return generation, Ownership.decode(bytes(data)[_GENERATION.size :])


def encode_rows(rows: Rows) -> tuple[list[dict[str, Any]], list[Array]]:
    """Descriptions and contiguous arrays of instances, ids first."""
    arrays = [("", rows.ids), *rows.arrays()]
    described = [
        {"name": name, "dtype": array.dtype.str, "shape": array.shape} for name, array in arrays
    ]
    return described, [np.ascontiguousarray(array) for _, array in arrays]


def decode_rows(described: list[dict[str, Any]], payload: memoryview) -> Rows:
    """The inverse of `encode_rows`; copies out of `payload`."""
    arrays: dict[str, Array] = {}
    offset = 0
    for entry in described:
        dtype = np.dtype(entry["dtype"])
        count = int(np.prod(entry["shape"], dtype=np.int64))
        array = np.frombuffer(payload, dtype, count, offset).reshape(entry["shape"]).copy()
        arrays[entry["name"]] = array
        offset += array.nbytes
    return Rows.from_arrays(arrays.pop(""), arrays)
