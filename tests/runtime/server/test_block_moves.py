"""Model blocks that move while clients read and write them."""

from __future__ import annotations

import itertools
import random
import threading
from collections.abc import Callable, Iterator
from functools import partial

import numpy as np
import pytest

from motet.domain.arrays import Array
from motet.runtime.client.table_client import TableClient
from motet.runtime.core.application import ModelTable
from motet.runtime.core.table_spec import MODEL_TABLE
from motet.runtime.server import block_migration
from motet.transport import Call
from soak_cases import others_in_soak
from table_on_executors import TableOnExecutors

KEYS = 64
CLIENTS = 4
EVERYBODY = CLIENTS
"""A column that all clients add to; each has another one of its own."""


@pytest.fixture(params=others_in_soak(["range", "hash"], ["hash"]))
def table(request: pytest.FixtureRequest) -> Iterator[TableOnExecutors]:
    made = TableOnExecutors(
        ModelTable(KEYS, (CLIENTS + 1,), np.dtype(np.float64), partition=request.param)
    )
    yield made
    made.close()


def in_threads(*tasks: Callable[[], None]) -> None:
    """Run tasks at once; the first failure of any is raised."""
    failures: list[BaseException] = []

    def guarded(task: Callable[[], None]) -> None:
        try:
            task()
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=guarded, args=(task,)) for task in tasks]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=500)
        assert not thread.is_alive(), "a client or a move does not end"
    if failures:
        raise failures[0]


def test_moved_blocks_keep_their_values(table: TableOnExecutors) -> None:
    client = table.client()
    values = np.random.default_rng(0).random((KEYS, CLIENTS + 1))
    client.multi_put(None, values)
    table.move(table.ownership.blocks_of(0), 0, 1)
    np.testing.assert_array_equal(client.multi_get(), values)
    assert table.executors[0]._context is not None
    assert table.executors[0]._context.tables[MODEL_TABLE].block_numbers == []
    client.multi_update(None, np.ones((KEYS, CLIENTS + 1)))
    table.move(table.ownership.blocks_of(1), 1, 0)
    np.testing.assert_array_equal(client.multi_get(), values + 1)


def test_a_move_waits_for_the_arrival_of_every_block(
    table: TableOnExecutors, monkeypatch: pytest.MonkeyPatch
) -> None:
    finished: list[Call] = []
    finish = block_migration._finish

    def watched(call: Call) -> None:
        finish(call)
        finished.append(call)

    monkeypatch.setattr(block_migration, "_finish", watched)
    blocks = table.ownership.blocks_of(0)
    table.move(blocks, 0, 1)
    the_owners = 1
    assert len(finished) == the_owners + len(blocks)


def test_an_executor_frees_the_memory_of_blocks_that_have_left(table: TableOnExecutors) -> None:
    table.move(table.ownership.blocks_of(0), 0, 1)
    context = table.executors[0]._context
    assert context is not None
    assert context.tables[MODEL_TABLE]._held._memory.block_count == 0


def test_a_client_that_never_hears_of_moves_finds_every_block(table: TableOnExecutors) -> None:
    old = table.ownership
    for _ in range(2):
        blocks = table.ownership.blocks_of(0)[:2]
        table.move(blocks, 0, 2)
    client = table.client(old)
    client.multi_put(None, np.ones((KEYS, CLIENTS + 1)))
    assert client.ownership.version == table.ownership.version
    assert client.multi_get().sum() == (CLIENTS + 1) * KEYS


class Wanderer:
    """Moves a partition of the blocks of its own about, again and again."""

    def __init__(self, table: TableOnExecutors, blocks: list[int], seed: int) -> None:
        self._table = table
        self._blocks = blocks
        self._random = random.Random(seed)

    def wander(self, moves: int) -> None:
        for _ in range(moves):
            owners = self._table.ownership.owners
            source = int(owners[self._random.choice(self._blocks)])
            mine = [block for block in self._blocks if owners[block] == source]
            some = self._random.sample(mine, self._random.randint(1, len(mine)))
            others = [e.number for e in self._table.executors if e.number != source]
            self._table.move(some, source, self._random.choice(others))


def count(client: TableClient, number: int, rounds: int, sums: Array, lock: threading.Lock) -> None:
    """Update random counters; what this client has added, all of it, it must read again at once."""
    rng = np.random.default_rng(number)
    own = np.zeros(KEYS)
    for _ in range(rounds):
        keys = rng.choice(KEYS, size=int(rng.integers(1, 20)), replace=False)
        amounts = rng.integers(1, 9, size=len(keys)).astype(float)
        deltas = np.zeros((len(keys), CLIENTS + 1))
        deltas[:, number] = deltas[:, EVERYBODY] = amounts
        client.multi_update(keys, deltas)
        own[keys] += amounts
        seen = client.multi_get(keys)
        assert (seen[:, :CLIENTS].sum(axis=1) == seen[:, EVERYBODY]).all(), "half an update"
        assert (seen[:, number] == own[keys]).all(), "an update of my own is missing or doubled"
    with lock:
        sums += own


def hammer(table: TableOnExecutors, rounds: int, moves: int) -> None:
    sums, lock = np.zeros(KEYS), threading.Lock()
    clients = [table.client() for _ in range(CLIENTS)]
    blocks = range(table.spec.block_count)
    wanderers = [Wanderer(table, list(blocks[half::2]), half) for half in range(2)]
    in_threads(
        *(partial(count, client, i, rounds, sums, lock) for i, client in enumerate(clients)),
        *(partial(wanderer.wander, moves) for wanderer in wanderers),
    )
    values = table.client().multi_get()
    np.testing.assert_array_equal(values[:, EVERYBODY], sums)


def test_counters_are_exact_while_blocks_move(table: TableOnExecutors) -> None:
    hammer(table, rounds=80, moves=40)


@pytest.mark.soak
@pytest.mark.timeout(600)
def test_counters_are_exact_while_blocks_move_for_long(table: TableOnExecutors) -> None:
    hammer(table, rounds=4000, moves=2500)


def test_a_large_block_table_moves_and_moves_back() -> None:
    table = TableOnExecutors(ModelTable(200_000, (10,), np.dtype(np.float32)))
    try:
        client = table.client()
        values = np.random.default_rng(0).random((200_000, 10), dtype=np.float32)
        client.multi_put(None, values)
        for source, destination in itertools.pairwise([0, 1, 2, 0]):
            table.move(table.ownership.blocks_of(source), source, destination)
            np.testing.assert_array_equal(client.multi_get(), values)
    finally:
        table.close()
