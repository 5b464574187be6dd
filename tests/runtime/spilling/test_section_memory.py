"""Sections are read in the order of their uses, for all of an epoch."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pytest

from motet.domain.arrays import Array
from motet.runtime.core.application import Batch, Step, Update
from motet.runtime.core.rows import Rows
from motet.runtime.core.schedule import BatchKeys, Schedule, deal_blocks
from motet.runtime.core.subtask import SubtaskLog, Transfer, monotonic_us
from motet.runtime.spilling.disk_share import FixedShare
from motet.runtime.spilling.section_image import SpillBuffer
from motet.runtime.spilling.section_memory import SECTIONS_AHEAD
from motet.runtime.spilling.spilling_store import SpillingBlockStore
from motet.runtime.spilling.targets.spill_file import SpillFile
from motet.runtime.worker.local_training import LocalModel
from motet.runtime.worker.runners.batch_runner import BatchRunner
from motet.runtime.worker.runners.pipelined_batch_runner import PipelinedBatchRunner
from motet.runtime.worker.runners.plain_batch_runner import PlainBatchRunner
from motet.runtime.worker.share import DataShare
from motet.runtime.worker.worker import Worker
from toy_app import ToyRegression
from waiting import wait_until

DISK, TIMEOUT_S = Path("/var/tmp"), 60.0
EPOCHS = 3
ONE_SECTION, SEVERAL_SECTIONS = 20, 60
"""Sizes of mini-batches that have so many."""


class CountingFile(SpillFile):
    reads = 0

    def read(self, place: int, data: SpillBuffer) -> None:
        self.reads += 1
        super().read(place, data)


class Reader(ToyRegression):
    """Calls `used` in each use of a section by COMP and by the evaluation."""

    def __init__(self, features: int, batch_size: int) -> None:
        super().__init__(features, batch_size)
        self.used: Callable[[], None] = lambda: None

    def compute(self, batch: Batch, model: Array, step: Step) -> Update:
        self.used()
        return super().compute(batch, model, step)

    def evaluate(self, rows: Rows, model: Array) -> Array:
        self.used()
        return super().evaluate(rows, model)


class CopiedModel(LocalModel):
    """Values that a PUSH beside COMP does not change."""

    def pull(self, part: BatchKeys, step: Step) -> tuple[Array, Transfer]:
        values, transfer = super().pull(part, step)
        return values.copy(), transfer


class SpilledWorker:
    """A worker with all instances, all on disk. In each use of a section it waits until the next
    ones are in memory."""

    def __init__(self, batch_size: int, overlaps: bool) -> None:
        self.app = Reader(10, batch_size)
        rows = self.app.prepare(None, seed=1)
        self.schedule = Schedule.of(len(rows), batch_size, 8, seed=0)
        self.file = CountingFile(DISK)
        blocks = deal_blocks(rows, self.schedule)
        self.share = DataShare(self.app, self.schedule, blocks, self._made_store, section_bytes=1)
        self.sections = len(self.store.memory._sections)
        self.per_batch = self.sections // self.schedule.batch_count
        model = CopiedModel(self.app, self.app.initial_model(rows, 0))
        self.runner: BatchRunner = PlainBatchRunner(self.app, model)
        if overlaps:
            self.runner = PipelinedBatchRunner(self.app, model, self.schedule)
        self._worker = Worker(
            self.app, self.schedule, lambda clock: self.share, model, self.runner, monotonic_us
        )
        self.app.used = self._wait_for_the_next
        self._left: list[int] = []

    def train(self, epoch: int) -> None:
        """An epoch and its evaluation."""
        self._left = self._order(epoch) + self._order(epoch + 1)
        self._worker.run_epoch(epoch)
        self._worker.evaluate(self.share, SubtaskLog())
        assert self._left == self._order(epoch + 1)

    def _order(self, epoch: int) -> list[int]:
        """The sections that an epoch and its evaluation use; they are numbered by mini-batches."""
        starts = [number * self.per_batch for number in self.schedule.order(epoch).tolist()]
        trained = [start + place for start in starts for place in range(self.per_batch)]
        return [*trained, *range(self.sections)]

    def close(self) -> None:
        self.runner.close()
        self.share.close()

    def _made_store(self, make_batch: Callable[[Rows], Batch]) -> SpillingBlockStore:
        columns = self.app.state_columns
        self.store = SpillingBlockStore(make_batch, columns, lambda: self.file, FixedShare(1.0))
        return self.store

    def _wait_for_the_next(self) -> None:
        del self._left[0]
        wait_until(lambda: ahead(self._left) <= in_memory(self.store), TIMEOUT_S)


def ahead(order: Sequence[int]) -> set[int]:
    """The sections that are read before their use."""
    return set(list(dict.fromkeys(order))[:SECTIONS_AHEAD])


def in_memory(store: SpillingBlockStore) -> set[int]:
    sections = store.memory._sections
    return {number for number, each in enumerate(sections) if each.buffer is not None}


@pytest.mark.parametrize("overlaps", [False, True])
@pytest.mark.parametrize("batch_size", [ONE_SECTION, SEVERAL_SECTIONS])
def test_the_next_sections_are_in_memory_in_every_use(batch_size: int, overlaps: bool) -> None:
    """In the first epoch several sections are read once more for the keys of their mini-batch."""
    worker = SpilledWorker(batch_size, overlaps)
    assert (worker.per_batch > 1) == (batch_size == SEVERAL_SECTIONS)
    for epoch in range(EPOCHS):
        worker.train(epoch)
    uses = 2 * EPOCHS + (worker.per_batch > 1)
    assert worker.file.reads <= uses * worker.sections + SECTIONS_AHEAD
    worker.close()


def test_uses_inside_another_one_of_a_section_are_none_of_the_order() -> None:
    rows = [Rows(np.arange(50) + 50 * number, {"x": np.zeros(50)}) for number in range(4)]
    store = SpillingBlockStore(Batch, [], lambda: SpillFile(DISK), FixedShare(1.0))
    store.will_hold(len(rows), 0)
    for each in rows:
        store.add(each)
    store.will_read([0, 0, 1, 2, 3, 0, 1])
    for left in ([0, 1, 2, 3, 0, 1], [1, 2, 3, 0, 1]):
        with store.using(0), store.using(0):
            assert list(store.memory._upcoming) == left
    store.close()
