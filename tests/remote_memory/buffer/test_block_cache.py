"""The cache against a plain array, on a store in memory that counts its requests."""

from __future__ import annotations

import errno
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from motet.remote_memory.borrower.store_operation import StoreOperation
from motet.remote_memory.buffer.block_cache import LEAST_BLOCKS, READ_AHEAD, BlockCache

BLOCK, BLOCKS = 64, 20
SIZE = BLOCK * BLOCKS - 24


class Finished:
    def __init__(self, store: ArrayStore) -> None:
        self._store = store

    def finish(self) -> None:
        self._store.in_flight -= 1


class ArrayStore:
    """A PageStore. Reads fill the memory only when they are finished."""

    def __init__(self) -> None:
        self.content = bytearray(SIZE)
        self.reads = self.writes = self.in_flight = 0

    @property
    def size_bytes(self) -> int:
        return SIZE

    def begin_read(self, offset: int, into: memoryview) -> StoreOperation:
        self.reads += 1
        self.in_flight += 1
        into[:] = self.content[offset : offset + len(into)]
        return Finished(self)

    def begin_write(self, offset: int, data: memoryview) -> StoreOperation:
        self.writes += 1
        self.in_flight += 1
        self.content[offset : offset + len(data)] = data
        return Finished(self)

    def forget(self, offset: int, length: int) -> None:
        raise AssertionError((offset, length))

    def flush(self) -> None:
        raise AssertionError


class Failing:
    def __init__(self, store: FailingStore) -> None:
        self._store = store

    def finish(self) -> None:
        self._store.in_flight -= 1
        raise OSError(errno.EIO, "the disk fails")


class FailingStore(ArrayStore):
    """Blocks in `bad` can be neither read nor written."""

    def __init__(self) -> None:
        super().__init__()
        self.bad = set[int]()

    def begin_read(self, offset: int, into: memoryview) -> StoreOperation:
        if offset // BLOCK not in self.bad:
            return super().begin_read(offset, into)
        self.in_flight += 1
        return Failing(self)

    def begin_write(self, offset: int, data: memoryview) -> StoreOperation:
        if offset // BLOCK not in self.bad:
            return super().begin_write(offset, data)
        self.in_flight += 1
        return Failing(self)


def cache_on(
    store: ArrayStore, blocks: int = LEAST_BLOCKS, *, prefetch: bool = False
) -> BlockCache:
    return BlockCache(store, blocks, BLOCK, prefetch=prefetch)


def get(cache: BlockCache, offset: int, length: int) -> bytes:
    into = bytearray(length)
    cache.read(offset, memoryview(into))
    return bytes(into)


PLACES = st.integers(0, SIZE - 1).flatmap(
    lambda offset: st.tuples(st.just(offset), st.integers(1, min(3 * BLOCK, SIZE - offset)))
)


@given(st.lists(st.tuples(st.booleans(), PLACES), max_size=40), st.integers(0, 9), st.booleans())
def test_reads_see_all_writes_and_the_store_has_them_after_flush(
    steps: list[tuple[bool, tuple[int, int]]], seed: int, prefetch: bool
) -> None:
    store, expected, numbers = ArrayStore(), bytearray(SIZE), random.Random(seed)
    cache = cache_on(store, prefetch=prefetch)
    for is_write, (offset, length) in steps:
        if is_write:
            data = numbers.randbytes(length)
            expected[offset : offset + length] = data
            cache.write(offset, memoryview(data))
        else:
            assert get(cache, offset, length) == expected[offset : offset + length]
    cache.flush()
    cache.drop()
    assert store.content == expected
    assert store.in_flight == 0


def test_neighbours_are_read_ahead_of_a_sequential_reader() -> None:
    store = ArrayStore()
    cache = cache_on(store)
    get(cache, 0, BLOCK)
    get(cache, BLOCK, BLOCK)
    assert store.reads == 2 + READ_AHEAD
    get(cache, 2 * BLOCK, BLOCK)
    assert (cache.hits, cache.misses) == (1, 2)


def test_a_random_reader_reads_nothing_ahead() -> None:
    store = ArrayStore()
    cache = cache_on(store)
    for block in (9, 3, 14, 1):
        get(cache, block * BLOCK, BLOCK)
    assert (store.reads, cache.read_ahead) == (4, 0)


def test_a_block_that_is_overwritten_is_not_read_first() -> None:
    store = ArrayStore()
    cache_on(store).write(2 * BLOCK, memoryview(bytes(2 * BLOCK)))
    assert store.reads == 0


def test_only_blocks_that_changed_are_written() -> None:
    store = ArrayStore()
    cache = cache_on(store)
    for block in range(0, BLOCKS, 2):
        get(cache, block * BLOCK, 1)
    assert store.writes == 0
    cache.write(0, memoryview(b"x"))
    cache.flush()
    cache.flush()
    assert store.writes == 1


@pytest.mark.parametrize("blocks", [0, LEAST_BLOCKS, 2 * BLOCKS])
def test_any_amount_of_memory_suffices(blocks: int) -> None:
    store = ArrayStore()
    cache = cache_on(store, blocks)
    cache.write(0, memoryview(bytes(range(200)) * 6))
    assert get(cache, 0, 1200) == bytes(range(200)) * 6


@pytest.mark.parametrize("stride", [-1, 2])
def test_blocks_with_a_stride_are_read_ahead_with_prefetch_alone(stride: int) -> None:
    blocks = list(range(BLOCKS))[::stride]
    plain, ahead = (cache_on(ArrayStore(), 12, prefetch=prefetch) for prefetch in (False, True))
    for block in blocks:
        get(plain, block * BLOCK, 8)
        get(ahead, block * BLOCK, 8)
    assert plain.hits == 0
    assert ahead.hits >= len(blocks) / 2


def test_a_block_that_could_not_be_read_is_read_again() -> None:
    store = FailingStore()
    store.content = bytearray(random.Random(1).randbytes(SIZE))
    cache = cache_on(store)
    store.bad = {1}
    get(cache, 0, BLOCK)
    for _ in range(2):
        with pytest.raises(OSError, match="the disk fails"):
            get(cache, BLOCK, BLOCK)
    store.bad = set()
    assert get(cache, BLOCK, BLOCK) == store.content[BLOCK : 2 * BLOCK]


def test_a_block_that_was_read_ahead_in_vain_disturbs_no_other_one() -> None:
    store = FailingStore()
    cache = cache_on(store)
    store.bad = {2}
    get(cache, 0, BLOCK)
    get(cache, BLOCK, BLOCK)
    for block in range(8, BLOCKS - 1):
        get(cache, block * BLOCK, BLOCK)
    cache.drop()
    assert store.in_flight == 0


def test_writes_of_which_one_fails_are_all_finished_and_tried_again() -> None:
    store = FailingStore()
    cache = cache_on(store)
    cache.write(0, memoryview(b"x" * (3 * BLOCK)))
    store.bad = {0}
    with pytest.raises(OSError, match="the disk fails"):
        cache.flush()
    assert store.in_flight == 0
    store.bad = set()
    cache.flush()
    assert store.content[: 3 * BLOCK] == b"x" * (3 * BLOCK)
