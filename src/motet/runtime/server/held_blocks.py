"""The blocks of one table that an executor holds; requests for other blocks are redirected.

Possession counts, not the ownership table: a block is served from the arrival of its data until it
is handed over. A request for a block that the ownership table gives to this executor, but whose
data are still on their way, is queued; a request for any other block is answered MOVED.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from motet.domain.arrays import Array, RowIndices
from motet.runtime.core.table_spec import TableSpec
from motet.runtime.server.accumulator import Accumulator
from motet.runtime.server.block import Block, UpdateFunction
from motet.runtime.server.block_state import BlockState
from motet.runtime.server.block_values import MakePlace
from motet.runtime.server.contiguous_blocks import BlockMemory, ContiguousBlocks
from motet.runtime.wire.messages import ReplyStatus
from motet.runtime.wire.ownership import Ownership
from motet.runtime.wire.table_requests import Selection, Target
from motet.transport import Request

_MOST_NAMED = 4096
_SMALL_BYTES = 16 << 10
# The sums of larger shards take no memory while workers compute.
_MOST_KEPT_BYTES = 64 << 20


@dataclass(eq=False, slots=True)
class NamedBlocks:
    """The blocks that a request names, found once: workers name the same blocks repeatedly.

    `layout`: of the held blocks when they were found. `contiguous`: the blocks as one, if they lie
    side by side; `span_rows`: the wanted rows of them (None: all). `copy`: the shard's revision and
    its small values joined; one tuple, because threads replace it together.
    """

    layout: int
    numbers: NDArray[np.uint32]
    pieces: list[tuple[int, NDArray[np.uint32] | None]]
    blocks: list[Block]
    row_count: int | None
    is_small: bool
    contiguous: ContiguousBlocks | None
    span_rows: RowIndices | None
    copy: tuple[int, bytes] = (-1, b"")


class HeldBlocks:
    """Blocks by number, the ownership table, and requests that wait for blocks to arrive.

    `layout` changes whenever a block comes or goes. `lock` is held for every such change.
    """

    def __init__(
        self,
        spec: TableSpec,
        update: UpdateFunction,
        ownership: Ownership,
        executor: int,
        first_clock: int,
    ) -> None:
        """The executor's blocks by `ownership`, as zeros."""
        self.lock = threading.Lock()
        self._has_arrived = threading.Condition(self.lock)
        self.layout = 0
        self._spec = spec
        self._update = update
        self._ownership = ownership
        self._executor = executor
        self._named: dict[tuple[int, bytes], NamedBlocks] = {}
        self._as_one: dict[bytes, ContiguousBlocks | None] = {}
        self._queued: list[Request] = []
        self._arrived: dict[int, int] = {}
        self._make_place: MakePlace | None = None
        mine = ownership.blocks_of(executor)
        self._memory = BlockMemory(mine, spec)
        self._blocks = {
            number: self._new_block(number, self._memory.values_of(number), first_clock, mine)
            for number in mine
        }

    @property
    def ownership(self) -> Ownership:
        """The newest table known here."""
        return self._ownership

    @property
    def numbers(self) -> list[int]:
        """The blocks held, ascending."""
        return sorted(self._blocks)

    @property
    def value_bytes(self) -> int:
        """Of the values of all blocks, wherever they are."""
        with self.lock:
            return self._bytes_of(list(self._blocks))

    @property
    def sum_bytes(self) -> int:
        """About so many has the sum of a mini-batch; blocks with places have one at a time."""
        return 0 if self._make_place is not None else self.whole_sum_bytes

    @property
    def whole_sum_bytes(self) -> int:
        """Of a mini-batch, for all blocks at a time."""
        model = self._spec.model
        return model.key_count * model.delta_bytes * len(self._blocks) // self._spec.block_count

    def find(self, request: Request, target: Target) -> NamedBlocks | None:
        """The named blocks; None: the request was queued or redirected."""
        key = (target.row_count, target.selection)
        named = self._named.get(key)
        if named is not None and named.layout == self.layout:
            return named
        selection = Selection.decode(target.selection, target.block_count, target.row_count)
        with self.lock:
            if not all(number in self._blocks for number in selection.blocks.tolist()):
                self._turn_away(request, selection)
                return None
            named = self._name(selection)
            if len(self._named) >= _MOST_NAMED:
                self._named.clear()
                self._as_one.clear()
            self._named[key] = named
        return named

    def learn(self, ownership: Ownership) -> None:
        """Take a newer table; requests for blocks that it gives to this executor are queued."""
        with self.lock:
            if ownership.version > self._ownership.version:
                self._ownership = ownership

    def redirect(self, request: Request) -> None:
        """Answer that some blocks have moved."""
        request.reply(ReplyStatus.MOVED, self._ownership.encode())

    def let_go(self, numbers: Sequence[int], ownership: Ownership) -> dict[int, Block]:
        """Remove blocks; `ownership` has their new owner. The caller holds `lock`."""
        leaving = {number: self._blocks.pop(number) for number in numbers}
        if ownership.version > self._ownership.version:
            self._ownership = ownership
        self._forget_names()
        return leaving

    def is_new(self, number: int, version: int) -> bool:
        """Whether a block of the move to ownership table `version` has not arrived before."""
        return self._arrived.get(number, -1) < version

    def made_of(self, number: int, state: BlockState) -> Block:
        """A block with the state that it had at its former owner."""
        block = self._new_block(number, state.values, state.clock, [*self._blocks, number])
        block.arrive(state)
        if self._make_place is not None:
            block.keep_in(self._make_place())
        return block

    def take_in(self, number: int, block: Block, version: int) -> list[Request]:
        """Hold a block that has arrived; returns the queued requests, to be handled once more.

        The caller holds `lock`.
        """
        self._arrived[number] = version
        self._blocks[number] = block
        self._forget_names()
        queued, self._queued = self._queued, []
        self._has_arrived.notify_all()
        return queued

    def await_blocks(self, numbers: Sequence[int], timeout_s: float) -> bool:
        """Wait until all of these are here; False when they are not by then."""
        with self._has_arrived:
            return self._has_arrived.wait_for(
                lambda: all(number in self._blocks for number in numbers), timeout_s
            )

    def settle(self) -> None:
        """Lay all blocks side by side again; the rest of the old memory is freed.

        Each block is locked only while its own values are copied. Memory of which at least half is
        in use stays as it is when blocks have only left.
        """
        with self.lock:
            blocks = dict(sorted(self._blocks.items()))
            if self._make_place is not None:
                return
        is_in_place = all(self._memory.holds(number, it.values) for number, it in blocks.items())
        if is_in_place and 2 * len(blocks) >= self._memory.block_count:
            return
        memory = BlockMemory(list(blocks), self._spec)
        for number, block in blocks.items():
            block.resettle(memory.values_of(number))
        with self.lock:
            self._memory = memory
            self._forget_names()

    def keep_in(self, make_place: MakePlace) -> None:
        """Have the values of all blocks, also of those that will come, in places of their own.

        Their memory is freed with the last request that uses it. Raises JobFailed.
        """
        with self.lock:
            self._make_place = make_place
            blocks = dict(sorted(self._blocks.items()))
            self._memory = BlockMemory([], self._spec)
            self._forget_names()
        for block in blocks.values():
            block.keep_in(make_place())

    def bring_back(self, has_room: Callable[[int], bool]) -> bool:
        """Have the values of all blocks in memory again; False: that has no room for all of them.

        `has_room`: for so many bytes. Then they are in places as before. Raises JobFailed.
        """
        with self.lock:
            make_place, blocks = self._make_place, dict(sorted(self._blocks.items()))
        if make_place is None:
            return True
        memory = BlockMemory(list(blocks), self._spec)
        returned: list[Block] = []
        for number, block in blocks.items():
            room = memory.values_of(number)
            if not has_room(room.nbytes):
                for each in returned:
                    each.keep_in(make_place())
                return False
            block.return_to(room)
            returned.append(block)
        with self.lock:
            self._make_place, self._memory = None, memory
            late = [each for number, each in self._blocks.items() if blocks.get(number) is not each]
            self._forget_names()
        for each in late:
            each.return_to(None)
        return True

    def _forget_names(self) -> None:
        self.layout += 1
        self._named.clear()
        self._as_one.clear()

    def _turn_away(self, request: Request, selection: Selection) -> None:
        """Queue a request whose missing blocks are on their way here, redirect others.

        The caller holds `lock`.
        """
        missing = [n for n in selection.blocks.tolist() if n not in self._blocks]
        if all(int(self._ownership.owners[number]) == self._executor for number in missing):
            self._queued.append(request)
        else:
            self.redirect(request)

    def _name(self, selection: Selection) -> NamedBlocks:
        numbers = selection.blocks.tolist()
        blocks = [self._blocks[number] for number in numbers]
        span_rows = self._span_rows(selection)
        is_one = selection.rows is None or span_rows is not None
        return NamedBlocks(
            self.layout,
            selection.blocks,
            selection.pieces(),
            blocks,
            None if selection.rows is None else len(selection.rows),
            self._bytes_of(numbers) <= _SMALL_BYTES,
            self._contiguous(selection, blocks) if is_one else None,
            span_rows,
        )

    def _span_rows(self, selection: Selection) -> RowIndices | None:
        """The wanted rows if the blocks lie side by side; None: all, or some are outside."""
        if selection.rows is None or selection.counts is None:
            return None
        sizes = np.array(
            [self._spec.partition.rows_in(n) for n in selection.blocks.tolist()], np.int64
        )
        if (selection.rows >= np.repeat(sizes, selection.counts)).any():
            return None
        starts = np.cumsum(sizes) - sizes
        rows: RowIndices = np.repeat(starts, selection.counts) + selection.rows
        return rows.astype(np.uint32)

    def _contiguous(self, selection: Selection, blocks: list[Block]) -> ContiguousBlocks | None:
        """One object for all requests that name these blocks: they add to the same sum."""
        key = selection.blocks.tobytes()
        if key not in self._as_one:
            self._as_one[key] = self._made_contiguous(selection.blocks.tolist(), blocks)
        return self._as_one[key]

    def _made_contiguous(
        self, numbers: Sequence[int], blocks: Sequence[Block]
    ) -> ContiguousBlocks | None:
        span = self._memory.span_of(numbers)
        if span is None:
            return None
        model = self._spec.model
        views = [self._memory.values_of(number) for number in numbers]
        deltas = None
        if not model.exchanges_changes:
            shape = (len(span), *model.delta_value_shape)
            keeps = self._keeps_sums(self.numbers)
            deltas = Accumulator(shape, model.delta_value_dtype, keeps_memory=keeps)
        return ContiguousBlocks(blocks, views, span, self._update, deltas)

    def _bytes_of(self, numbers: Sequence[int]) -> int:
        rows = sum(self._spec.partition.rows_in(number) for number in numbers)
        return rows * self._spec.model.value_bytes

    def _keeps_sums(self, held: Sequence[int]) -> bool:
        """Whether the owner of these blocks keeps the memory for their sums."""
        return self._bytes_of(held) <= _MOST_KEPT_BYTES

    def _new_block(self, number: int, values: Array, clock: int, held: Sequence[int]) -> Block:
        """`held`: all blocks of this owner."""
        delta_dtype = self._spec.model.delta_value_dtype
        shape = self._spec.delta_block_shape(number)
        keeps_changes = self._spec.model.exchanges_changes
        keeps_sums = self._keeps_sums(held)
        return Block(values, self._update, shape, delta_dtype, clock, keeps_changes, keeps_sums)
