"""When a server answers a PULL: at once, or when the mini-batch that it names may begin.

The gate implements the barrier of the mini-batch loop, which costs no message of its own. Under
BSP a block commits mini-batch k when every worker has contributed to it, and a PULL of mini-batch
k + 1 is parked until all blocks that it names have committed. Under SSP a PULL is parked until no
worker is more than `staleness` mini-batches behind; under async it never is.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from motet.runtime.core.consistency import Synchronisation
from motet.runtime.core.subtask import monotonic_us
from motet.runtime.server.held_blocks import HeldBlocks, NamedBlocks
from motet.runtime.wire.table_requests import ANY_CLOCK, Target
from motet.transport import Request


@dataclass(frozen=True, eq=False)
class ParkedPull:
    """A PULL of a mini-batch that may not begin yet."""

    target: Target
    named: NamedBlocks
    request: Request
    since_us: int


class PullGate:
    """Parks and releases the pulls of one table; the consistency mode decides which are due.

    `held.lock` protects the clocks and the parked pulls, so that no pull is parked for a block
    that leaves or commits meanwhile.
    """

    def __init__(
        self, held: HeldBlocks, block_count: int, sync: Synchronisation, first_clock: int
    ) -> None:
        """`first_clock`: the next mini-batch of every block and worker."""
        self._held = held
        self._lock = held.lock
        self._consistency = sync.consistency
        self._worker_clocks = dict.fromkeys(sync.workers, first_clock)
        self._block_clocks = np.full(block_count, first_clock, dtype=np.int64)
        self._parked: list[ParkedPull] = []

    @property
    def worker_clocks(self) -> dict[int, int]:
        """How many mini-batches every worker has finished (SSP)."""
        with self._lock:
            return dict(self._worker_clocks)

    def is_due(self, target: Target, named: NamedBlocks) -> bool:
        """Whether a pull may be answered now."""
        return target.clock == ANY_CLOCK or self._consistency.may_pull(
            target.clock, self._block_clocks[named.numbers], self._worker_clocks
        )

    def park(self, request: Request, target: Target, named: NamedBlocks) -> bool:
        """Keep a pull until it is due; False when it is by now, or when blocks came or went."""
        with self._lock:
            if named.layout != self._held.layout or self.is_due(target, named):
                return False
            self._parked.append(ParkedPull(target, named, request, monotonic_us()))
            return True

    def take_due(self) -> list[ParkedPull]:
        """Remove and return the parked pulls that are due."""
        with self._lock:
            due: list[ParkedPull] = []
            waiting: list[ParkedPull] = []
            for entry in self._parked:
                (due if self.is_due(entry.target, entry.named) else waiting).append(entry)
            self._parked = waiting
        return due

    # -- clocks ----------------------------------------------------------------------------------

    def commit(self, blocks: int | NDArray[np.uint32], clock: int) -> None:
        """Blocks contain every mini-batch before `clock`.

        A block that has left and come back meanwhile may contain more.
        """
        with self._lock:
            self._block_clocks[blocks] = np.maximum(clock, self._block_clocks[blocks])

    def finish(self, worker: int, clock: int) -> bool:
        """A worker has finished every mini-batch before `clock`; whether that was not counted yet.

        A former worker is ignored.
        """
        with self._lock:
            if self._worker_clocks.get(worker, clock) >= clock:
                return False
            self._worker_clocks[worker] = clock
            return True

    def set_workers(self, workers: Sequence[int], clock: int) -> None:
        """Set the workers from now on; a new one begins with mini-batch `clock`."""
        with self._lock:
            known = self._worker_clocks
            self._worker_clocks = {worker: known.get(worker, clock) for worker in workers}

    # -- moves; the caller holds `held.lock` -----------------------------------------------------

    def add_block(self, block: int, clock: int, worker_clocks: Mapping[int, int]) -> None:
        """A block arrives that contains the mini-batches before `clock`.

        `worker_clocks`: those of its former owner, which may be ahead.
        """
        for worker in self._worker_clocks.keys() & worker_clocks.keys():
            clock_there = worker_clocks[worker]
            self._worker_clocks[worker] = max(self._worker_clocks[worker], clock_there)
        self._block_clocks[block] = clock

    def remove_blocks(self, blocks: Iterable[int]) -> list[Request]:
        """Remove and return the parked pulls that name one of these blocks."""
        leaving = set(blocks)
        stranded: list[Request] = []
        waiting: list[ParkedPull] = []
        for entry in self._parked:
            if leaving.isdisjoint(entry.named.numbers.tolist()):
                waiting.append(entry)
            else:
                stranded.append(entry.request)
        self._parked = waiting
        return stranded
