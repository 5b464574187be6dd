"""What a store in memory keeps, and for how long."""

from __future__ import annotations

import weakref

import numpy as np
import pytest

from motet.runtime.core.application import Batch
from motet.runtime.core.rows import Rows
from motet.runtime.worker.block_store import MemoryBlockStore


class Counted:
    """An application's `make_batch` that counts its calls."""

    def __init__(self) -> None:
        self.calls = 0

    def __call__(self, rows: Rows) -> Batch:
        self.calls += 1
        return Batch(rows)


def filled(make: Counted) -> MemoryBlockStore:
    store = MemoryBlockStore(make)
    for number in range(2):
        assert store.add(Rows(np.arange(4) + 10 * number, {"state": np.zeros(4)})) == number
    return store


def test_a_batch_is_made_once_and_a_view_of_its_section() -> None:
    make = Counted()
    store = filled(make)
    batch = store.batch(1, 1, 3)
    assert store.batch(1, 1, 3) is batch
    assert make.calls == 1
    batch.rows["state"][:] = 5.0
    assert batch.rows.ids.tolist() == [11, 12]
    assert store.rows(1)["state"].tolist() == [0, 5, 5, 0]
    assert not store.rows(0)["state"].any()


def test_the_number_of_pieces_that_are_kept_is_limited() -> None:
    make = Counted()
    store = MemoryBlockStore(make)
    store.add(Rows(np.arange(1_000), {}))
    first = store.piece(0, 0, 1)
    assert store.piece(0, 0, 1) is first
    for low in range(1, 600):
        store.piece(0, low, low + 1)
    assert store.piece(0, 0, 1) is not first
    assert make.calls == 601


def test_a_closed_store_keeps_neither_sections_nor_batches() -> None:
    store = filled(Counted())
    section = weakref.ref(store.rows(0))
    store.batch(0, 0, 4)
    store.piece(0, 1, 2)
    store.close()
    assert section() is None
    with pytest.raises(IndexError):
        store.rows(0)
