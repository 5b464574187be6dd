"""An owner's part of one table: answers PULL, PUSH, UPDATE and PUT for the blocks that it owns.

The barrier of the mini-batch loop lives here and costs no message of its own. Under BSP a block
commits mini-batch k when every worker has contributed to it, and a PULL of mini-batch k + 1 is
parked until all blocks that it names have committed. Under SSP a PULL is parked until no worker is
more than `staleness` mini-batches behind; under async it never is.
"""

from __future__ import annotations

import itertools
import threading
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from motet.runtime.application import Step
from motet.runtime.block import Accumulator, Block, Contribution, UpdateFunction
from motet.runtime.messages import ANY_CLOCK, WAIT, PushHead, Selection, Status, Target
from motet.runtime.neighbours import Neighbours, Room
from motet.runtime.options import Consistency
from motet.runtime.ownership import Ownership
from motet.runtime.subtask import monotonic_us
from motet.runtime.table import TableSpec
from motet.transport import Request

Array = NDArray[Any]


@dataclass(frozen=True)
class Synchronisation:
    """How the workers of a job keep step."""

    consistency: Consistency
    staleness: int
    worker_count: int


@dataclass(eq=False, slots=True)
class _Named:
    """The blocks that a request names, found once: the same workers name them again and again.

    `neighbours`: the blocks as one, if they were laid out side by side.

    `copy`: the shard's revision and its small values joined; one value, for threads share it.
    """

    version: int
    numbers: NDArray[np.uint32]
    pieces: list[tuple[int, NDArray[np.uint32] | None]]
    blocks: list[Block]
    row_count: int | None
    is_small: bool
    neighbours: Neighbours | None
    copy: tuple[int, bytes] = (-1, b"")


@dataclass(frozen=True, eq=False)
class _Parked:
    target: Target
    named: _Named
    request: Request
    since_us: int


_MOST_NAMED = 4096
_SMALL_BYTES = 16 << 10


class Shard:
    """The blocks of one table at one executor."""

    def __init__(
        self,
        spec: TableSpec,
        update: UpdateFunction,
        sync: Synchronisation,
        ownership: Ownership,
        executor: int,
        first_clock: int = 0,
    ) -> None:
        """Blocks start as zeros; `first_clock`: the next mini-batch (after a resume not 0)."""
        self._spec = spec
        self._update = update
        self._sync = sync
        self._ownership = ownership
        self._executor = executor
        self._lock = threading.Lock()
        self._revisions = itertools.count(1)
        self._revision = 0
        self._parked: list[_Parked] = []
        self._named: dict[tuple[int, bytes], _Named] = {}
        self._worker_clocks = np.full(sync.worker_count, first_clock, dtype=np.int64)
        self._block_clocks = np.zeros(spec.block_count, dtype=np.int64)
        self._blocks: dict[int, Block] = {}
        self._accumulators: dict[int, Accumulator] = {}
        mine = ownership.blocks_of(executor)
        self._room = Room(mine, spec)
        for number in mine:
            self._add_block(number, update, first_clock)

    # -- requests ----------------------------------------------------------------------------------

    def pull(self, request: Request, target: Target) -> None:
        """Answer with the values, at once or when their mini-batch begins."""
        named = self._find(request, target)
        if named is None:
            return
        if not self._is_due(target, named):
            with self._lock:
                if not self._is_due(target, named):
                    self._parked.append(_Parked(target, named, request, monotonic_us()))
                    return
        self._answer(request, named)

    def push(self, request: Request, target: Target, head: PushHead) -> None:
        """Count a worker's contribution; acknowledged once it is counted."""
        named = self._find(request, target)
        if named is None:
            return
        deltas = self._split(named.pieces, request.payload, is_delta=True)
        committed = [
            self._contribute(number, Contribution(delta, rows, head.step.statistics), head)
            for (number, rows), delta in zip(named.pieces, deltas, strict=True)
        ]
        if self._sync.consistency != "bsp":
            self._changed()
        request.reply(Status.OK)
        if any(committed) or (head.is_last and self._sync.consistency == "ssp"):
            self._release_parked(head)

    def update(self, request: Request, target: Target, client: int, numbers: Sequence[int]) -> None:
        """Run the update function on every named block, exactly once per (client, number)."""
        named = self._find(request, target)
        if named is None:
            return
        neighbours, whole = named.neighbours, self._values_in(request.payload, is_delta=True)
        if neighbours is None or not neighbours.update(client, numbers, whole, _NO_STEP):
            deltas = self._split(named.pieces, request.payload, is_delta=True)
            for block, (_, rows), delta, number in zip(
                named.blocks, named.pieces, deltas, numbers, strict=True
            ):
                if delta is not None:
                    block.update(client, number, rows, delta, _NO_STEP)
        self._changed()
        request.reply(Status.OK)

    def put(self, request: Request, target: Target, client: int, numbers: Sequence[int]) -> None:
        """Replace values, exactly once per (client, number)."""
        named = self._find(request, target)
        if named is None:
            return
        values = self._split(named.pieces, request.payload, is_delta=False)
        for block, (_, rows), new, number in zip(
            named.blocks, named.pieces, values, numbers, strict=True
        ):
            if new is not None:
                block.put(client, number, rows, new)
        self._changed()
        request.reply(Status.OK)

    # -- mini-batches ----------------------------------------------------------------------------

    def _contribute(self, number: int, contribution: Contribution, head: PushHead) -> bool:
        block = self._blocks[number]
        if self._sync.consistency != "bsp":
            if not head.instances:
                return False
            share = head.instances / max(head.step.instances, 1)
            block.contribute_now(head.rank, contribution, replace(head.step, share=share))
            return False
        accumulator = self._accumulators[number]
        if not block.contribute(accumulator, head.rank, contribution, head.step):
            return False
        # First the revision: who sees the new clock must not be given a copy from before.
        self._changed()
        self._block_clocks[number] = head.step.clock + 1
        return True

    def _is_due(self, target: Target, named: _Named) -> bool:
        if target.clock == ANY_CLOCK or self._sync.consistency == "async":
            return True
        if self._sync.consistency == "ssp":
            return bool(target.clock - self._worker_clocks.min() <= self._sync.staleness)
        return bool((self._block_clocks[named.numbers] >= target.clock).all())

    def _release_parked(self, head: PushHead) -> None:
        with self._lock:
            if head.is_last:
                clock = max(head.step.clock + 1, int(self._worker_clocks[head.rank]))
                self._worker_clocks[head.rank] = clock
            due: list[_Parked] = []
            waiting: list[_Parked] = []
            for entry in self._parked:
                (due if self._is_due(entry.target, entry.named) else waiting).append(entry)
            self._parked = waiting
        now_us = monotonic_us()
        for entry in due:
            try:
                self._answer(entry.request, entry.named, WAIT.pack(now_us - entry.since_us))
            except Exception as error:
                entry.request.fail(error)

    # -- bytes -------------------------------------------------------------------------------------

    def _answer(self, request: Request, named: _Named, meta: bytes = b"") -> None:
        if named.row_count is not None:
            request.reply(Status.OK, meta, [self._gather(named, named.row_count)])
            return
        if named.is_small:
            request.reply(Status.OK, meta, [self._joined(named)])
            return
        neighbours = named.neighbours
        stretch = None if neighbours is None else neighbours.pin()
        if neighbours is not None and stretch is not None:
            request.reply(Status.OK, meta, [stretch], on_sent=neighbours.unpin)
            return
        pinned = [(block, block.pin()) for block in named.blocks]
        values = [values for _, values in pinned]
        request.reply(Status.OK, meta, values, on_sent=partial(_unpin, pinned))

    def _joined(self, named: _Named) -> bytes:
        """Small values as one copy, made anew after the shard has changed.

        The revision is read before the values and set after they change, each time to a number it
        never had: a copy that missed a change cannot look current.
        """
        now = self._revision
        revision, data = named.copy
        if revision != now:
            data = b"".join([block.to_bytes() for block in named.blocks])
            named.copy = (now, data)
        return data

    def _changed(self) -> None:
        self._revision = next(self._revisions)

    def _gather(self, named: _Named, row_count: int) -> Array:
        model = self._spec.model
        out = np.empty((row_count, *model.value_shape), model.dtype)
        offset = 0
        for block, (_, wanted) in zip(named.blocks, named.pieces, strict=True):
            if wanted is None or not len(wanted):
                continue
            block.gather(wanted, out[offset : offset + len(wanted)])
            offset += len(wanted)
        return out

    def _split(
        self, pieces: list[tuple[int, Any]], payload: memoryview, *, is_delta: bool
    ) -> list[Array | None]:
        """The payload as one array per block; None for a block with no rows in it."""
        values = self._values_in(payload, is_delta=is_delta)
        parts: list[Array | None] = []
        offset = 0
        for number, rows in pieces:
            count = self._spec.partition.rows_in(number) if rows is None else len(rows)
            parts.append(values[offset : offset + count] if count else None)
            offset += count
        return parts

    def _values_in(self, payload: memoryview, *, is_delta: bool) -> Array:
        model = self._spec.model
        dtype = model.delta_value_dtype if is_delta else model.dtype
        shape = model.delta_value_shape if is_delta else model.value_shape
        values: Array = np.frombuffer(payload, dtype).reshape(-1, *shape)
        return values

    # -- ownership -------------------------------------------------------------------------------

    def _find(self, request: Request, target: Target) -> _Named | None:
        """The named blocks, or None after answering that some of them are elsewhere."""
        key = (target.row_count, target.selection)
        named = self._named.get(key)
        if named is not None and named.version == self._ownership.version:
            return named
        selection = Selection.decode(target.selection, target.block_count, target.row_count)
        ownership = self._ownership
        if not (ownership.owners[selection.blocks] == self._executor).all():
            request.reply(Status.MOVED, ownership.encode())
            return None
        blocks = [self._blocks[number] for number in selection.blocks.tolist()]
        named = _Named(
            ownership.version,
            selection.blocks,
            selection.pieces(),
            blocks,
            None if selection.rows is None else len(selection.rows),
            self._bytes_of(selection) <= _SMALL_BYTES,
            self._neighbours(selection, blocks),
        )
        if len(self._named) >= _MOST_NAMED:
            self._named.clear()
        self._named[key] = named
        return named

    def _neighbours(self, selection: Selection, blocks: list[Block]) -> Neighbours | None:
        stretch = self._room.stretch_of(selection.blocks.tolist())
        if stretch is None or selection.rows is not None:
            return None
        return Neighbours(blocks, stretch, self._update)

    def _bytes_of(self, selection: Selection) -> int:
        rows = sum(self._spec.partition.rows_in(number) for number in selection.blocks.tolist())
        return rows * self._spec.model.value_bytes

    def _add_block(self, number: int, update: UpdateFunction, clock: int) -> None:
        model = self._spec.model
        values = self._room.values_of(number)
        delta_shape, delta_dtype = self._spec.delta_block_shape(number), model.delta_value_dtype
        self._blocks[number] = Block(values, update, delta_shape, delta_dtype, clock)
        self._block_clocks[number] = clock
        self._accumulators[number] = Accumulator(delta_shape, delta_dtype, self._sync.worker_count)


_NO_STEP = Step(0, 0, 1, 0, 1, 1, 0)


def _unpin(pinned: list[tuple[Block, Array]]) -> None:
    for block, values in pinned:
        block.unpin(values)
