"""Heads of table requests: which blocks and rows of which table, and what a PUSH adds."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from motet.runtime.core.application import Step
from motet.runtime.core.sums import Place

ANY_CLOCK = -1
# In requests to tables that belong to no job.
NO_GENERATION = 0xFFFFFFFF


# A reply to a parked PULL carries the microseconds that it was parked.
WAIT = struct.Struct("<Q")


ALONE = Place(0, 1)


ALL_ROWS = 0xFFFFFFFF


_TARGET = struct.Struct("<IHxxQqII")


# The rank of a reader that is no worker.
NO_WORKER = -1


_PULL = struct.Struct("<i")
PULL_HEAD_BYTES = _PULL.size


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
        selection = data[_TARGET.size : end]
        fields = (generation, table, version, clock, blocks, rows, selection)
        return tuple.__new__(cls, fields), end  # Faster than its constructor.


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


class PullHead(NamedTuple):
    """The head of a PULL: which worker reads.

    `rank`: the worker's executor, or NO_WORKER. A worker that pulls mini-batch k has finished every
    mini-batch before k: the owners have acknowledged all its pushes.
    """

    rank: int = NO_WORKER

    def encode(self) -> bytes:
        """Bytes for the wire."""
        return _PULL.pack(self.rank)

    @classmethod
    def decode(cls, data: bytes | memoryview, offset: int) -> Self:
        """From a PULL's meta at `offset`."""
        return tuple.__new__(cls, _PULL.unpack_from(data, offset))


@dataclass(frozen=True)
class PushHead:
    """The head of a PUSH: which worker's part of which mini-batch it is.

    `rank`: the worker's executor; `place`: among the workers of this mini-batch; `instances`:
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
