"""What an executor stores its input and its part of the model with when some of it is spilled."""

from __future__ import annotations

import threading
import weakref
from collections.abc import Collection
from contextlib import suppress

from motet.domain.errors import JobFailed
from motet.runtime.core.rows import Rows
from motet.runtime.spilling.disk_share import FixedShare, TunedShare
from motet.runtime.spilling.machine_memory import MachineMemory
from motet.runtime.spilling.memory_watch import MemoryWatch
from motet.runtime.spilling.model.memory_room import MemoryRoom
from motet.runtime.spilling.model.model_on_disk import ModelOnDisk, PlacedModel
from motet.runtime.spilling.parked_rows import ParkedRows
from motet.runtime.spilling.share_board import ShareBoard
from motet.runtime.spilling.spilling_store import SpillingBlockStore
from motet.runtime.spilling.targets.spill_target import SpillTarget
from motet.runtime.spilling.targets.spill_targets import SpillTargets
from motet.runtime.worker.block_store import MakeBatch


class SpilledParking:
    """A Parking on a target that is opened for the first block."""

    def __init__(self, targets: SpillTargets) -> None:
        self._targets = targets
        self._lock = threading.Lock()
        self._target: SpillTarget | None = None

    def park(self, rows: Rows) -> ParkedRows:
        """See Parking."""
        with self._lock:
            if self._target is None:
                self._target = self._targets.open()
            target = self._target
        return ParkedRows(target, rows)

    def clear(self) -> None:
        """See Parking; the target is closed with the last block that is still used."""
        with self._lock:
            self._target = None


class SpillingStores:
    """Makes the stores of one worker's shares, each with a target of its own."""

    def __init__(self, targets: SpillTargets, state_columns: Collection[str]) -> None:
        self._targets, self._state_columns = targets, state_columns
        self._made: weakref.WeakSet[SpillingBlockStore] = weakref.WeakSet()
        self.model: ModelOnDisk | None = None
        """Of the same executor; returns to memory before this input does."""

    def __call__(self, make_batch: MakeBatch) -> SpillingBlockStore:
        """A MakeStore."""
        fixed = self._targets.options.share
        share = self._tuned_share() if fixed is None else FixedShare(fixed)
        store = SpillingBlockStore(make_batch, self._state_columns, self._targets.open, share)
        self._made.add(store)
        return store

    def make_room(self, nbytes: int) -> bool:
        """See SpillableInput."""
        return any(store.make_room(nbytes) for store in list(self._made))

    def _tuned_share(self) -> TunedShare:
        memory = MachineMemory()
        watch = MemoryWatch(memory)
        watch.start()
        return TunedShare(
            watch,
            absent_bytes=lambda: 0 if self.model is None else self.model.absent_bytes,
            board=ShareBoard(self._targets.options.folder, memory.limited_by()),
        )


class ModelSpilling:
    """Of one executor: its blocks of the model, and what has them spilled."""

    def __init__(
        self,
        targets: SpillTargets,
        data: SpillingStores,
        model: PlacedModel,
        *,
        when_short: bool,
    ) -> None:
        """Spills the model at once if the options say so. `data`: the executor's input.
        `when_short`: whether the model is spilled when memory runs short; input is in any case."""
        options = targets.options
        self.blocks = data.model = ModelOnDisk(model, targets.open)
        self.room: MemoryRoom | None = None
        if options.share is None:
            self.room = MemoryRoom(MachineMemory(), data, self.blocks, spills_model=when_short)
        if options.model:
            self.blocks.spill()

    def require(self, nbytes: int) -> None:
        """Make room for so many bytes that the worker is about to take, if that is possible."""
        if self.room is not None:
            self.room.require(nbytes)

    def before_request(self, nbytes: int) -> None:
        """See MemoryRoom."""
        if self.room is not None:
            self.room.before_request(nbytes)

    def after_epoch(self) -> None:
        """Have the model in memory again, on a thread, if there is room."""
        if self.room is not None and self.room.may_return():
            threading.Thread(target=self._bring_back, args=(self.room,), daemon=True).start()

    def close(self) -> None:
        """End what looks at the memory."""
        if self.room is not None:
            self.room.close()

    def _bring_back(self, room: MemoryRoom) -> None:
        with suppress(JobFailed):  # The next request for such a block raises it, too.
            room.bring_back()
