"""A worker's view of a model on executors, over real sockets."""

from __future__ import annotations

import threading
import weakref
from collections.abc import Iterator

import numpy as np
import pytest

from freed_memory import anonymous_bytes, arrays_between_freed_ones
from motet.runtime.client import remote_model
from motet.runtime.client.remote_model import RemoteModel
from motet.runtime.core.application import ModelTable, Step, Update
from motet.runtime.core.partial_updates import PartialUpdate
from motet.runtime.core.schedule import BatchKeys
from motet.runtime.core.sums import Place
from table_on_executors import TableOnExecutors

KEYS = 50


@pytest.fixture
def table() -> Iterator[TableOnExecutors]:
    made = TableOnExecutors(ModelTable(KEYS, (2,), np.dtype(np.float64)))
    yield made
    made.close()


def workers(table: TableOnExecutors) -> list[RemoteModel]:
    """Two workers of one job."""
    return [RemoteModel(table.client(), rank, Place(rank, 2), 0) for rank in range(2)]


def step(clock: int) -> Step:
    return Step(0, clock, 10, clock, 8, 80, seed=0)


def batch(keys: list[int] | None, instances: int = 4) -> BatchKeys:
    return BatchKeys(None if keys is None else np.array(keys, np.int64), instances)


def update(count: int, value: float) -> Update:
    return Update(np.full((count, 2), value), (value,))


def test_a_pull_sees_the_contributions_of_all_workers_to_the_mini_batches_before(
    table: TableOnExecutors,
) -> None:
    one, other = workers(table)
    some = batch([3, 9])
    one.push(some, update(2, 1.0), step(0))
    other.push(batch(None), update(KEYS, 10.0), step(0))
    values, _ = one.pull(some, step(1))
    np.testing.assert_array_equal(values, np.full((2, 2), 11.0))


def test_the_start_is_awaited_until_every_worker_has_pushed_and_the_pull_does_not_wait(
    table: TableOnExecutors,
) -> None:
    one, other = workers(table)
    some, has_begun = batch([3, 9]), threading.Event()
    one.push(some, update(2, 1.0), step(0))

    def wait_and_pull() -> None:
        one.await_start(step(1))
        has_begun.set()

    waiting = threading.Thread(target=wait_and_pull)
    waiting.start()
    for executor in table.executors:
        other.pull(batch([0, 20, 49]), step(0))  # the servers answer meanwhile
        assert not has_begun.is_set(), executor.number
    other.push(some, update(2, 1.0), step(0))
    waiting.join(timeout=60)
    assert has_begun.is_set()
    _, transfer = one.pull(some, step(1))
    assert transfer.wait_us == 0


def test_the_start_of_the_first_mini_batch_is_not_waited_for(table: TableOnExecutors) -> None:
    one, _ = workers(table)
    assert one.await_start(step(0)).wait_us == 0


def test_zeros_instead_of_values_come_without_a_payload(
    table: TableOnExecutors, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(remote_model, "_LARGE_BYTES", 1)
    required: list[int] = []
    worker = RemoteModel(table.client(), 0, Place(0, 1), 0, require=required.append)
    everything = batch(None)
    worker.push(everything, update(KEYS, 1.0), step(0))
    for keys, count in ((everything, KEYS), (batch([4, 7]), 2)):
        values, transfer = worker.pull_zeros(keys, step(1))
        assert values.tolist() == [[0.0, 0.0]] * count
        assert (transfer.payload_bytes, required.pop()) == (0, count * 2 * 8)
    assert worker.pull(batch([4]), step(1))[0].tolist() == [[1.0, 1.0]]


def test_a_worker_without_instances_contributes_nothing_but_counts(
    table: TableOnExecutors,
) -> None:
    one, other = workers(table)
    nothing = batch([], instances=0)
    one.push(nothing, None, step(0))
    other.push(batch(None), update(KEYS, 2.0), step(0))
    assert one.pull(nothing, step(1))[0].shape == (0, 2)
    one.finished_clock = 1
    np.testing.assert_array_equal(one.pull_all(), np.full((KEYS, 2), 2.0))


def test_sums_at_other_keys_than_the_batch_are_contributed(table: TableOnExecutors) -> None:
    one, other = workers(table)
    sums = PartialUpdate(np.array([1, 2, 48]), update(3, 5.0))
    one.push_at(sums, 4, step(0))
    other.push_at(None, 0, step(0))
    one.finished_clock = 1
    assert np.flatnonzero(one.pull_all()[:, 0]).tolist() == [1, 2, 48]


def test_values_are_fetched_beside_those_that_were_pulled(table: TableOnExecutors) -> None:
    one, _ = workers(table)
    table.client().multi_put(None, np.arange(2.0 * KEYS).reshape(KEYS, 2))
    pulled, _ = one.pull(batch([4]), step(0))
    fetched, _ = one.fetch(np.array([7, 30]), step(0))
    assert pulled.tolist() == [[8.0, 9.0]]
    assert fetched.tolist() == [[14.0, 15.0], [60.0, 61.0]]


def test_large_values_take_no_memory_once_the_worker_pushes(
    table: TableOnExecutors, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(remote_model, "MOST_KEPT_BYTES", 0)
    worker, everything = RemoteModel(table.client(), 0, Place(0, 1), 0), batch(None)
    for clock in range(3):
        values, _ = worker.pull(everything, step(clock))
        np.testing.assert_array_equal(values, np.full((KEYS, 2), float(clock)))
        memory = weakref.ref(values.base)
        del values
        worker.push(everything, update(KEYS, 1.0), step(clock))
        assert memory() is None


def test_freed_memory_goes_back_to_the_system_before_a_large_model_is_pulled(
    table: TableOnExecutors, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(remote_model, "MOST_KEPT_BYTES", 0)
    worker = RemoteModel(table.client(), 0, Place(0, 1), 0)
    worker.pull_all()
    stay, freed_bytes = arrays_between_freed_ones()
    before = anonymous_bytes()
    worker.pull_all()
    assert before - anonymous_bytes() > freed_bytes / 2
    assert all(each.sum() == len(each) for each in stay)
