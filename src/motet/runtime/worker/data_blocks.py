"""The data blocks of one executor: those in use, and those on their way.

A change of owners has two parts. While the mini-batches before it still run, copies of the leaving
blocks are sent ahead and every worker prepares its next share (`prepare`). At the
mini-batch of the change only what the mini-batches have changed, the state columns, is brought up
to date (`change`).
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import TypeVar

from motet.domain.errors import JobFailed
from motet.runtime.core.application import Application
from motet.runtime.core.rows import Rows
from motet.runtime.core.schedule import Schedule
from motet.runtime.wire.control_messages import FROM_THE_START, LoadRows
from motet.runtime.wire.errors import StaleGeneration
from motet.runtime.wire.exchange import submit
from motet.runtime.wire.messages import ReplyStatus
from motet.runtime.wire.ownership import Ownership, WorkChange
from motet.runtime.wire.peers import ExecutorPeers
from motet.runtime.worker.block_store import (
    BlockRows,
    MakeStore,
    MemoryBlockStore,
    MemoryParking,
    Parking,
)
from motet.runtime.worker.share import DataShare
from motet.transport import Call

T = TypeVar("T")

# Under async a source may be many mini-batches behind; its loss ends these waits at once.
ARRIVE_TIMEOUT_S = 4 * 3600.0
_SEND_TIMEOUT_S = 4 * 3600.0


@dataclass(frozen=True)
class DataBlockSender:
    """Sends data blocks to other executors."""

    generation: int
    carriers: ExecutorPeers

    def send(self, number: int, occasion: int, rows: Rows, owner: int) -> Call:
        """`occasion`: the change that the receiver awaits the block for."""
        message = LoadRows(self.generation, number, occasion, rows)
        return submit(self.carriers.connection(owner), message)


class DataBlocks:
    """Receives blocks on any thread; the share is for the worker's thread only."""

    def __init__(
        self,
        app: Application,
        schedule: Schedule,
        executor: int,
        sender: DataBlockSender,
        make_store: MakeStore = MemoryBlockStore,
        parking: Parking | None = None,
    ) -> None:
        """`make_store`: makes the store of each share; `parking`: keeps blocks that have arrived;
        None: in memory."""
        self._app = app
        self._schedule = schedule
        self._executor = executor
        self._sender = sender
        self._parking = parking or MemoryParking()
        self._arrived: dict[tuple[int, int], BlockRows] = {}
        self._states: dict[tuple[int, int], Rows] = {}
        self._changed = threading.Condition()
        self._has_begun = False
        self._has_ended = False
        self._prepared: tuple[int, DataShare] | None = None
        self._make_store = make_store
        self._replacing = threading.Lock()
        self.share = self._share_of({})

    def put(self, number: int, occasion: int, rows: Rows) -> None:
        """A block has come: FROM_THE_START, a copy sent ahead, or its state at a change."""
        if occasion >= 0:  # The clock of a change.
            with self._changed:
                self._states[number, occasion] = rows
                self._changed.notify_all()
            return
        block = self._parking.park(rows)
        with self._changed:
            self._arrived[number, occasion] = block
            self._changed.notify_all()

    def begin(self) -> None:
        """Make a share of what has come before the first mini-batch."""
        with self._changed:
            first = [key for key in self._arrived if key[1] == FROM_THE_START]
            blocks = {key[0]: self._arrived.pop(key) for key in first}
        self._replace_share(self._share_of(blocks))
        self._parking.clear()
        with self._changed:
            self._has_begun = True
            self._changed.notify_all()

    def prepare(self, number: int, data: Ownership) -> int:
        """Send copies ahead and build the share of change `number`; the bytes sent."""
        self._wait(lambda: self._has_begun, "the first mini-batch")
        old, occasion = self.share, -1 - number
        leaving, incoming = self._differences(data)
        copies = old.blocks(leaving)
        calls = self._send(copies, occasion, data)
        kept = sorted(set(old.block_numbers) - set(leaving))
        blocks = {one: self._parking.park(old.block(one)) for one in kept}
        blocks |= {one: self._await(self._arrived, one, occasion) for one in incoming}
        if self._prepared is not None:
            self._prepared[1].close()
        self._prepared = (number, self._share_of(blocks))
        self._parking.clear()
        _finish(calls)
        return sum(rows.nbytes for rows in copies.values())

    def change(self, change: WorkChange) -> bool:
        """Compute with the prepared share from now on; whether that is another one."""
        leaving, incoming = self._differences(change.data)
        if not leaving and not incoming:
            return False
        if self._prepared is None or self._prepared[0] != change.number:
            raise JobFailed(f"change {change.number} of the data was not prepared")
        old, new = self.share, self._prepared[1]
        columns = self._app.state_columns
        if columns:
            calls = self._send(old.blocks(leaving, columns), change.clock, change.data)
            kept = set(old.block_numbers) - set(leaving)
            for number, rows in old.blocks(kept, columns).items():
                new.overwrite(number, rows)
            for number in incoming:
                new.overwrite(number, self._await(self._states, number, change.clock))
            _finish(calls)
        self._prepared = None
        self._replace_share(new)
        return True

    def select(self, columns: Collection[str]) -> Rows:
        """All instances with only these columns, as copies; may be called on any thread."""
        with self._replacing:
            return self.share.select(columns)

    def end(self) -> None:
        """Wake all threads that wait for a block."""
        with self._changed:
            self._has_ended = True
            self._changed.notify_all()

    def _share_of(self, blocks: Mapping[int, BlockRows]) -> DataShare:
        return DataShare(self._app, self._schedule, blocks, self._make_store)

    def _replace_share(self, new: DataShare) -> None:
        """Use another share and release the store of the present one."""
        with self._replacing:
            old, self.share = self.share, new
            old.close()

    def _differences(self, data: Ownership) -> tuple[list[int], list[int]]:
        """The blocks that leave and those that come."""
        held, wanted = set(self.share.block_numbers), set(data.blocks_of(self._executor))
        return sorted(held - wanted), sorted(wanted - held)

    def _send(self, blocks: Mapping[int, Rows], occasion: int, data: Ownership) -> list[Call]:
        return [
            self._sender.send(number, occasion, rows, int(data.owners[number]))
            for number, rows in blocks.items()
        ]

    def _await(self, arriving: dict[tuple[int, int], T], number: int, occasion: int) -> T:
        key = (number, occasion)
        self._wait(lambda: key in arriving, f"data block {number}")
        return arriving.pop(key)

    def _wait(self, is_here: Callable[[], bool], what: str) -> None:
        with self._changed:
            self._changed.wait_for(lambda: self._has_ended or is_here(), ARRIVE_TIMEOUT_S)
            if self._has_ended:
                raise StaleGeneration("the generation was ended")
            if not is_here():
                raise JobFailed(
                    f"executor {self._executor} waited {ARRIVE_TIMEOUT_S:.0f} s for {what}"
                )


def _finish(calls: Iterable[Call]) -> None:
    for call in calls:
        if call.wait(_SEND_TIMEOUT_S).status != ReplyStatus.OK:
            raise StaleGeneration("the job was reset while data moved")
