"""Workers that push changes and pull those of the next mini-batch by one request."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor

import numpy as np
import pytest

from motet.domain.arrays import Array
from motet.runtime.client.remote_model import RemoteModel
from motet.runtime.core.application import ModelTable, Step, Update
from motet.runtime.core.changes import add_changes
from motet.runtime.core.schedule import BatchKeys
from motet.runtime.core.subtask import Transfer
from motet.runtime.core.sums import Place
from table_on_executors import Adding, TableOnExecutors

KEYS, WIDTH = 40, 50
WHOLE = BatchKeys(None, 4)
TIMEOUT_S = 60


class AddingChanges(Adding):
    """A table to which changes are added."""

    def apply(self, values: Array, delta: Array, step: Step) -> None:
        del step
        add_changes(values, delta)


@pytest.fixture
def table() -> Iterator[TableOnExecutors]:
    model = ModelTable(KEYS, (WIDTH,), np.dtype(np.int32), exchange="changes")
    made = TableOnExecutors(model, app=AddingChanges())
    yield made
    made.close()


@pytest.fixture
def threads() -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor() as made:
        yield made


def always() -> bool:
    return True


def workers(
    table: TableOnExecutors, count: int = 2, is_free: Callable[[], bool] = always
) -> list[RemoteModel]:
    return [
        RemoteModel(
            table.client(),
            rank,
            Place(rank, count),
            0,
            is_lockstep=True,
            pulls_with_push=is_free,
        )
        for rank in range(count)
    ]


def step(clock: int) -> Step:
    return Step(0, clock, 10, clock, 8, 80, seed=0)


def changes(*pairs: tuple[int, int]) -> Update:
    return Update(np.array(pairs, np.int64).reshape(-1, 2).T, is_changes=True)


def test_every_worker_gets_the_changes_of_all_with_the_answer_to_its_push(
    table: TableOnExecutors, threads: ThreadPoolExecutor
) -> None:
    models = workers(table)
    expected = np.zeros(KEYS * WIDTH, np.int32)
    for clock in range(3):
        pushes: list[Future[Transfer]] = []
        for rank, model in enumerate(models):
            values, _ = model.pull(WHOLE, step(clock))
            np.testing.assert_array_equal(values.ravel(), expected)
            pairs = ((rank, 1 + clock), (999, 10), (KEYS * WIDTH - 1, -rank))
            pushes.append(threads.submit(model.push, WHOLE, changes(*pairs), step(clock)))
        for push in pushes:
            push.result(TIMEOUT_S)
        for rank in range(2):
            expected[[rank, 999, KEYS * WIDTH - 1]] += [1 + clock, 10, -rank]
    for model in models:
        model.finished_clock = 3
        np.testing.assert_array_equal(model.pull_all().ravel(), expected)


def test_what_came_with_a_push_is_not_pulled_again(table: TableOnExecutors) -> None:
    (model,) = workers(table, 1)
    _, first = model.pull(WHOLE, step(0))
    model.push(WHOLE, changes((7, 2)), step(0))
    _, second = model.pull(WHOLE, step(1))
    values, third = model.pull(WHOLE, step(1))
    assert values[0, 7] == 2
    assert first.payload_bytes >= values.nbytes
    assert 0 < second.payload_bytes < values.nbytes
    assert third.payload_bytes == 0


def test_workers_pull_with_their_pushes_as_long_as_they_are_alone_on_their_machine(
    table: TableOnExecutors, threads: ThreadPoolExecutor
) -> None:
    """A job that shares its machine with others for some mini-batches."""
    shares = [False] * 2 + [True] * 2 + [False] * 2
    alone = iter([not each for each in shares for _ in range(2)])
    models, counts = workers(table, is_free=lambda: next(alone)), []
    for clock in range(len(shares)):
        pushes: list[Future[Transfer]] = []
        for model in models:
            values, _ = model.pull(WHOLE, step(clock))
            counts.append(int(values[0, 5]))
            pushes.append(threads.submit(model.push, WHOLE, changes((5, 1)), step(clock)))
        for push in pushes:
            push.result(TIMEOUT_S)
    assert counts == [2 * clock for clock in range(len(shares)) for _ in range(2)]


def test_blocks_may_move_while_a_worker_waits_for_the_others(
    table: TableOnExecutors, threads: ThreadPoolExecutor
) -> None:
    one, other = workers(table)
    for clock in range(3):
        one.pull(WHOLE, step(clock))
        other.pull(WHOLE, step(clock))
        early = threads.submit(one.push, WHOLE, changes((3, 1), (1500, 5)), step(clock))
        for block in (0, 1, 13):
            source = int(table.ownership.owners[block])
            table.move([block], source, (source + 1) % len(table.executors))
        other.push(WHOLE, changes((3, 10), (700, 1)), step(clock))
        early.result(TIMEOUT_S)
    for model in (one, other):
        values, _ = model.pull(WHOLE, step(3))
        found = {place: int(values.ravel()[place]) for place in np.flatnonzero(values).tolist()}
        assert found == {3: 33, 700: 3, 1500: 15}


def test_a_worker_without_instances_waits_and_gets_the_changes(
    table: TableOnExecutors, threads: ThreadPoolExecutor
) -> None:
    one, other = workers(table)
    idle = threads.submit(one.push, BatchKeys(None, 0), None, step(0))
    other.push(WHOLE, changes((4, 1)), step(0))
    idle.result(TIMEOUT_S)
    values, _ = one.pull(WHOLE, step(1))
    assert np.flatnonzero(values).tolist() == [4]
