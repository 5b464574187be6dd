"""COMM of two mini-batches beside COMP of the one between them, on real servers."""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest

from motet.domain.arrays import Array
from motet.domain.errors import Unreachable
from motet.runtime.client.remote_model import RemoteModel
from motet.runtime.core.application import Batch, ModelTable, Step, Update
from motet.runtime.core.consistency import Async
from motet.runtime.core.schedule import BatchKeys, Schedule, deal_blocks
from motet.runtime.core.subtask import SubtaskKind, Transfer, monotonic_us
from motet.runtime.core.sums import Place
from motet.runtime.worker.runners.pipelined_batch_runner import PipelinedBatchRunner
from motet.runtime.worker.share import DataShare
from motet.runtime.worker.subtask_gate import OPEN_GATE, SubtaskGate
from motet.runtime.worker.worker import Worker
from table_on_executors import TIMEOUT_S, TableOnExecutors
from toy_app import CountingInstances

BATCHES, INSTANCES, FEATURES = 11, 203, 40
SECOND = "communication"


@pytest.fixture
def table() -> Iterator[TableOnExecutors]:
    model = ModelTable(FEATURES, (1,), np.dtype(np.float64))
    made = TableOnExecutors(model, app=CountingInstances(), consistency=Async())
    yield made
    made.close()


class Ones(CountingInstances):
    """Adds one in each mini-batch; writes down what it computes from, or does something else."""

    def __init__(self, sparse: bool = False) -> None:
        super().__init__(sparse=sparse)
        self.seen: list[float] = []
        self.during: Callable[[int], None] = lambda clock: None

    def compute(self, batch: Batch, model: Any, step: Step) -> Update:
        self.during(step.clock)
        super().compute(batch, model, step)
        self.seen.append(float(model[0, 0]))
        return Update(np.ones(model.shape), (1.0,))


class Watched(RemoteModel):
    """Tells which mini-batches have been pulled for and pushed.

    `held`: which ones were pushed while the values of the last pull before were in use.
    """

    def __init__(self, table: TableOnExecutors) -> None:
        super().__init__(table.client(retry_for_s=0.1), 0, Place(0, 1), 0, pulls_ahead=True)
        self.pulled = [threading.Event() for _ in range(2 * BATCHES)]
        self.pushed = [threading.Event() for _ in range(2 * BATCHES)]
        self.held: list[int] = []
        self._last: weakref.ref[Array] | None = None

    def pull(self, part: BatchKeys, step: Step) -> tuple[Array, Transfer]:
        values, transfer = super().pull(part, step)
        own = values[:]
        self._last = weakref.ref(own)
        self.pulled[step.clock].set()
        return own, transfer

    def push(self, part: BatchKeys, update: Update | None, step: Step) -> Transfer:
        if self._last is not None and self._last() is not None:
            self.held.append(step.clock)
        transfer = super().push(part, update, step)
        self.pushed[step.clock].set()
        return transfer


class OneWorker:
    """A worker of a table with a part of the data, another one of all `parts` in each mini-batch.

    `before`: called before each.
    """

    def __init__(
        self,
        table: TableOnExecutors,
        app: Ones,
        gate: SubtaskGate = OPEN_GATE,
        parts: int = 1,
    ) -> None:
        rows = app.prepare(None, seed=1)
        self.schedule = schedule = Schedule.of(len(rows), app.batch_size, 8, seed=0)
        blocks = deal_blocks(rows, schedule)
        self._shares = [
            DataShare(app, schedule, {n: blocks[n] for n in range(part, 8, parts)})
            for part in range(parts)
        ]
        self.before: Callable[[int], None] = lambda clock: None
        self.app, self.model = app, Watched(table)
        self.runner = PipelinedBatchRunner(app, self.model, schedule)
        self.run_epoch = Worker(
            app,
            schedule,
            self.share_at,
            self.model,
            self.runner,
            monotonic_us,
            gate=gate,
        ).run_epoch

    def share_at(self, clock: int) -> DataShare:
        self.before(clock)
        return self._shares[clock % len(self._shares)]


@pytest.fixture
def worker(table: TableOnExecutors) -> Iterator[OneWorker]:
    made = OneWorker(table, Ones())
    yield made
    made.runner.close()


def values_of(table: TableOnExecutors) -> list[float]:
    return np.unique(table.client().multi_get()).tolist()


def test_a_mini_batch_lacks_only_the_update_of_the_one_before(
    table: TableOnExecutors, worker: OneWorker
) -> None:
    worker.run_epoch(0)
    assert worker.app.seen == [0, *range(BATCHES - 1)]
    assert values_of(table) == [BATCHES], "an epoch ends with all updates"
    worker.run_epoch(1)
    assert worker.app.seen[BATCHES:] == [BATCHES, *range(BATCHES, 2 * BATCHES - 1)]


def test_comp_runs_while_its_neighbours_are_communicated(worker: OneWorker) -> None:
    model, waited = worker.model, []

    def during(clock: int) -> None:
        if 0 < clock < BATCHES - 1:
            waited.append(model.pushed[clock - 1].wait(TIMEOUT_S))
            waited.append(model.pulled[clock + 1].wait(TIMEOUT_S))

    worker.app.during = during
    worker.run_epoch(0)
    assert waited == [True] * 2 * (BATCHES - 2)


def test_values_stay_the_same_while_the_next_ones_arrive(worker: OneWorker) -> None:
    """Else the first value would change between its use and the end of COMP."""
    seen: list[tuple[float, float]] = []

    class Reading(Ones):
        def compute(self, batch: Batch, model: Any, step: Step) -> Update:
            before = float(model[0, 0])
            update = super().compute(batch, model, step)
            if step.clock < BATCHES - 1:
                worker.model.pulled[step.clock + 1].wait(TIMEOUT_S)
            seen.append((before, float(model[0, 0])))
            return update

    worker.app.__class__ = Reading
    worker.run_epoch(0)
    assert [before for before, after in seen] == [after for before, after in seen]


def test_the_last_push_may_free_the_values(worker: OneWorker) -> None:
    """Those before it run beside COMP, which uses them."""
    worker.run_epoch(0)
    assert worker.model.held == list(range(BATCHES - 1))


def test_every_subtask_is_logged_once(worker: OneWorker) -> None:
    log = worker.run_epoch(0)
    moved = BATCHES * FEATURES * 8
    assert log.payload_bytes[SubtaskKind.PULL] == log.payload_bytes[SubtaskKind.PUSH] == moved
    assert (log.instances, len(log.batch_us)) == (INSTANCES, BATCHES)
    assert log.comm_times[SubtaskKind.PULL].count == BATCHES
    assert log.comm_times[SubtaskKind.PUSH].count == BATCHES
    assert min(log.busy_us.values()) > 0


class Tokens:
    """A gate that writes down which thread enters it, and when a mini-batch begins."""

    is_free = False

    def __init__(self) -> None:
        self.begun = 0
        self.entered: dict[SubtaskKind, list[str]] = {kind: [] for kind in SubtaskKind}

    def begin(self) -> None:
        self.begun += 1

    @contextmanager
    def enter(self, kind: SubtaskKind) -> Iterator[bool]:
        self.entered[kind].append(threading.current_thread().name)
        yield False


def test_a_token_is_taken_by_the_thread_of_its_subtask(table: TableOnExecutors) -> None:
    gate, own = Tokens(), threading.current_thread().name
    worker = OneWorker(table, Ones(), gate)
    log = worker.run_epoch(0)
    assert gate.begun == BATCHES
    assert gate.entered == {
        SubtaskKind.PULL: [own, *[SECOND] * (BATCHES - 1)],
        SubtaskKind.COMP: [own] * BATCHES,
        SubtaskKind.PUSH: [*[SECOND] * (BATCHES - 1), own],
    }
    assert log.gate_us > 0
    worker.runner.close()


def test_another_share_is_computed_from_values_of_its_own_keys(table: TableOnExecutors) -> None:
    worker = OneWorker(table, Ones(sparse=True), parts=2)
    worker.run_epoch(0)
    worker.runner.close()
    expected = np.zeros(FEATURES)
    for clock, number in enumerate(worker.schedule.order(0).tolist()):
        expected[worker.share_at(clock).part(number).keys.keys] += 1
    np.testing.assert_array_equal(table.client().multi_get()[:, 0], expected)


def test_nothing_runs_after_an_error_of_the_application(
    table: TableOnExecutors, worker: OneWorker
) -> None:
    def during(clock: int) -> None:
        if clock == 4:
            raise ZeroDivisionError

    worker.app.during = during
    with pytest.raises(ZeroDivisionError):
        worker.run_epoch(0)
    assert worker.model.pulled[5].is_set()
    assert values_of(table) == [4], "all updates that were computed"


def test_the_death_of_the_servers_ends_the_mini_batch(
    table: TableOnExecutors, worker: OneWorker
) -> None:
    def during(clock: int) -> None:
        if clock == 4:
            for executor in table.executors:
                executor.close()

    worker.app.during = during
    with pytest.raises(Unreachable):
        worker.run_epoch(0)
    assert not worker.model.pulled[7].is_set()


def test_between_two_mini_batches_one_update_is_left(
    table: TableOnExecutors, worker: OneWorker
) -> None:
    there: list[list[float]] = []

    def before(clock: int) -> None:
        if clock == 4:
            there.append(values_of(table))
            worker.runner.flush()
            there.append(values_of(table))
            worker.runner.flush()

    worker.before = before
    worker.run_epoch(0)
    assert there == [[3], [4]]
    assert worker.app.seen == [0, *range(BATCHES - 1)], "the values were there before"
    assert values_of(table) == [BATCHES]
