"""One block of a table at its owner: atomic reads and updates, each update exactly once.

Readers pin the array that they send (zero-copy); a writer that finds it pinned works on a copy. So
a reader never gets half an update, and no lock is held while bytes are sent. A block whose values
have another place is in memory only while a request uses it.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, Protocol

import numpy as np

from motet.domain.arrays import Array, RowIndices
from motet.runtime.core.application import Step
from motet.runtime.core.changes import all_changes
from motet.runtime.core.sums import Place
from motet.runtime.server.accumulator import (
    Accumulator,
    ChangeAccumulator,
    Contribution,
    PartialSum,
)
from motet.runtime.server.block_state import AppliedNumbers, BlockState
from motet.runtime.server.block_values import AWAY, ValuePlace, copy_rows
from motet.runtime.server.change_log import ChangeLog
from motet.runtime.wire.changes_payload import BlockNews

UpdateFunction = Callable[[Array, Array, Step], None]


class Departed(Exception):
    """The block has left for another owner."""


class SharedSum(Protocol):
    """The sum of contributions that several blocks have in common."""

    def part_of(self, block: Block) -> PartialSum:
        """What has been summed up for one of the blocks; the caller holds its `lock`."""
        ...


class Block:
    """Values of one block and everything that moves with it.

    Changing a block that has left raises Departed; reading its last values is harmless.
    """

    def __init__(
        self,
        values: Array,
        update: UpdateFunction,
        delta_shape: tuple[int, ...] | None = None,
        delta_dtype: np.dtype[Any] | None = None,
        clock: int = 0,
        keeps_changes: bool = False,
        keeps_sums: bool = True,
    ) -> None:
        """`values: (rows, ...)`; the block takes them over. `clock`: mini-batches it contains.

        `delta_shape`, `delta_dtype`: of a whole block's delta, if they are not those of `values`.
        `keeps_changes`: whether the table exchanges changes. `keeps_sums`: allocate the memory for
        sums of deltas once; False: anew for every mini-batch.
        While no writer had to make a copy, the values are where they first were.
        `values`, `pins`, `applied_of` and `require_here` require that the caller holds `lock`.
        """
        self.values = values
        self._delta_shape = values.shape if delta_shape is None else delta_shape
        self._delta_dtype = values.dtype if delta_dtype is None else delta_dtype
        self._update = update
        self.pins = 0
        self.lock = threading.Lock()
        self._applied: dict[int, AppliedNumbers] = {}
        self._applied_clocks: dict[int, int] = {}
        self._keeps_sums = keeps_sums
        self._scratch: Array | None = None
        self._accumulator: Accumulator | None = None
        self._shared_sum: SharedSum | None = None
        self._has_departed = False
        self._place: ValuePlace | None = None
        self._is_changed = False
        self._log = ChangeLog(_log_bytes(values)) if keeps_changes else None
        self.clock = clock

    def pin(self) -> Array:
        """The present values; unchanged until `unpin`."""
        with self.lock:
            self._bring()
            self.pins += 1
            return self.values

    def unpin(self, values: Array) -> None:
        """The reader of `values` is done."""
        with self.lock:
            if values is self.values:
                self.pins -= 1
                self._put_away()

    def to_bytes(self) -> bytes:
        """A copy of the present values."""
        with self.lock:
            self._bring()
            data = self.values.tobytes()
            self._put_away()
            return data

    def news(self, revision: int) -> BlockNews:
        """What has changed since a revision, or all values."""
        with self.lock:
            assert self._log is not None, "the table does not exchange changes"
            changes, values = self._log.since(revision), b""
            if changes is None:
                self._bring()
                values = self.values.tobytes()
                self._put_away()
            return BlockNews(self._log.revision, changes, values)

    def gather(self, rows: RowIndices, out: Array) -> None:
        """Copy some rows to `out`. Raises IndexError when a row is outside the block."""
        with self.lock:
            self._bring()
            copy_rows(self.values, rows, out)
            self._put_away()

    def put(self, client: int, number: int, rows: RowIndices | None, values: Array) -> None:
        """Replace values, exactly once per (client, number)."""
        with self.lock:
            self.require_here()
            applied = self.applied_of(client)
            if not applied.has(number):
                self._writable()[slice(None) if rows is None else rows] = values
                applied.add(number)
                if self._log is not None:
                    self._log.restart()
                self._put_away()

    def update(
        self, client: int, number: int, rows: RowIndices | None, delta: Array, step: Step
    ) -> None:
        """Run the update function on these rows, exactly once per (client, number)."""
        with self.lock:
            self.require_here()
            applied = self.applied_of(client)
            if applied.has(number):
                return
            values = self._writable()
            if rows is None:
                self._update(values, delta, step)
            else:
                some = values[rows]
                self._update(some, delta, step)
                values[rows] = some
            applied.add(number)
            self._put_away()

    def contribute_now(self, rank: int, contribution: Contribution, step: Step) -> None:
        """Apply one worker's part of a mini-batch at once (SSP, async), exactly once.

        A worker's mini-batches reach a block in order, so a clock after its last one is new.
        """
        with self.lock:
            self.require_here()
            if step.clock <= self._applied_clocks.get(rank, -1):
                return
            self._apply(contribution, step)
            self._applied_clocks[rank] = step.clock
            self._put_away()

    def contribute(self, place: Place, contribution: Contribution, step: Step) -> bool:
        """Count one worker's part of a BSP mini-batch; the last one applies the sum.

        Returns whether the mini-batch is now applied to this block. Duplicates change nothing.
        """
        with self.lock:
            self.require_here()
            if step.clock < self.clock:
                return False
            accumulator = self._sums()
            accumulator.add(place, contribution)
            if not accumulator.is_complete:
                return False
            delta, statistics = accumulator.take()
            self.apply_sum(delta, replace(step, statistics=statistics))
            accumulator.reset()
            self._put_away()
            return True

    def _apply(self, contribution: Contribution, step: Step) -> None:
        """Run the update function on the whole block, with zeros for rows without a delta."""
        delta, rows = contribution.delta, contribution.rows
        if self._log is not None:
            if delta is not None:
                self._update(self._writable(), delta, step)
                self._log.add([delta.copy()])
            return
        if delta is not None and rows is None:
            self._update(self._writable(), delta, step)
            return
        if self._scratch is None:
            self._scratch = np.zeros(self._delta_shape, self._delta_dtype)
        if delta is not None:
            self._scratch[rows] = delta
        try:
            self._update(self._writable(), self._scratch, step)
        finally:
            if self._keeps_sums:
                self._scratch.fill(0)
            else:
                self._scratch = None

    # -- moving ------------------------------------------------------------------------------------

    def depart(self) -> BlockState:
        """Leave for another owner; later changes raise Departed."""
        with self.lock:
            self.require_here()
            self._bring()
            self._has_departed = True
            self._place = None
            partial = self._sums().pack()
            return BlockState(
                self.values,
                self.clock,
                self._applied,
                self._applied_clocks,
                partial,
                0 if self._log is None else self._log.revision,
            )

    def arrive(self, state: BlockState) -> None:
        """Become the block that left elsewhere; `state.values` were taken over at construction."""
        with self.lock:
            self.clock = state.clock
            self._applied, self._applied_clocks = state.applied, state.applied_clocks
            self._sums().unpack(state.partial)
            if self._log is not None:
                self._log = ChangeLog(_log_bytes(self.values), state.revision)

    def keep_in(self, place: ValuePlace) -> None:
        """Have the values there from now on while no request uses them. Raises JobFailed."""
        with self.lock:
            if self._has_departed:
                return
            self._place = place
            self._writable()  # A reader keeps what it has pinned.
            self._put_away()

    def return_to(self, room: Array | None) -> None:
        """Have the values in memory from now on, in `room` (same shape) if given; readers keep what
        they have pinned. Raises JobFailed."""
        with self.lock:
            if self._has_departed:
                return
            self._bring()
            if room is not None:
                np.copyto(room, self.values)
                self.values, self.pins = room, 0
            self._place, self._is_changed = None, False

    def resettle(self, room: Array) -> None:
        """Move the values into `room` (same shape); readers keep what they have pinned."""
        with self.lock:
            np.copyto(room, self.values)
            self.values, self.pins = room, 0

    def require_here(self) -> None:
        """Raises Departed."""
        if self._has_departed:
            raise Departed

    def shares(self, shared: SharedSum) -> bool:
        """Whether the block's contributions are summed up there; requires `lock`."""
        return self._shared_sum is shared

    def may_share(self, clock: int) -> bool:
        """Whether nothing has been summed up here and `clock` comes next; requires `lock`."""
        if self._has_departed or self._shared_sum is not None or self.clock != clock:
            return False
        return self._accumulator is None or self._accumulator.is_unused

    def share(self, shared: SharedSum) -> None:
        """Sum up there from now on; requires `lock` and `may_share`."""
        self._shared_sum, self._accumulator = shared, None

    def stop_sharing(self) -> None:
        """Continue with an accumulator of its own; requires `lock`."""
        shared, self._shared_sum = self._shared_sum, None
        if shared is not None:
            self._sums().unpack(shared.part_of(self))

    def apply_sum(self, delta: Array, step: Step) -> None:
        """Apply the sum of a mini-batch; requires `lock`."""
        self._update(self._writable(), delta, step)
        if self._log is not None:
            self._log.add([delta])
        self.clock = step.clock + 1
        self._put_away()

    def apply_changes(self, parts: Sequence[Array], kept_bytes: int, step: Step) -> None:
        """Apply the changes of all workers to a mini-batch; requires `lock`."""
        self._update(self._writable(), all_changes(parts), step)
        self.count_changes(parts, kept_bytes, step)

    def count_changes(self, parts: Sequence[Array], kept_bytes: int, step: Step) -> None:
        """The values contain these changes; requires `lock`. `kept_bytes`: see `ChangeLog.add`."""
        if self._log is not None:
            self._log.add(parts, kept_bytes)
        self.clock = step.clock + 1
        self._put_away()

    def _sums(self) -> Accumulator:
        self.stop_sharing()
        if self._accumulator is None:
            dense = self._log is None
            shape, dtype, keeps = self._delta_shape, self._delta_dtype, self._keeps_sums
            self._accumulator = (
                Accumulator(shape, dtype, keeps_memory=keeps) if dense else ChangeAccumulator()
            )
        return self._accumulator

    def applied_of(self, client: int) -> AppliedNumbers:
        applied = self._applied.get(client)
        if applied is None:
            applied = self._applied[client] = AppliedNumbers()
        return applied

    def _writable(self) -> Array:
        self._bring()
        self._is_changed = True
        if self.pins:
            self.values = self.values.copy()
            self.pins = 0
        return self.values

    def _bring(self) -> None:
        if self._place is not None and self.values is AWAY:
            self.values = self._place.load()

    def _put_away(self) -> None:
        """The end of a use: values that have another place, and room for sums, leave the memory."""
        if self._place is None or self.pins:
            return
        if self._is_changed:
            self._place.save(self.values)
            self._is_changed = False
        self.values, self._scratch = AWAY, None
        if self._accumulator is not None and self._accumulator.is_unused:
            self._accumulator = None


def _log_bytes(values: Array) -> int:
    """More changes than half of the values are not worth keeping: the values cost no more."""
    return values.nbytes // 2
