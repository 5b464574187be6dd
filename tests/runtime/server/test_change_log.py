"""The log of a block's changes: complete since a revision, or not at all."""

from __future__ import annotations

import weakref

import numpy as np

from motet.domain.arrays import Array
from motet.runtime.core.changes import all_changes
from motet.runtime.server.change_log import ChangeLog


def change(position: int, amount: int = 1) -> Array:
    return np.array([[position], [amount]], np.int32)


def since(log: ChangeLog, revision: int) -> list[list[int]] | None:
    found = log.since(revision)
    return None if found is None else all_changes(found).tolist()


def test_changes_since_a_revision_are_in_order() -> None:
    log = ChangeLog(1000)
    for position in (4, 2, 9):
        log.add([change(position)])
    assert log.revision == 3
    assert since(log, 1) == [[2, 9], [1, 1]]
    assert since(log, 3) == [[], []]


def test_unknown_revisions_have_no_changes() -> None:
    log = ChangeLog(1000, revision=5)
    log.add([change(1)])
    assert [since(log, revision) for revision in (-1, 4, 7)] == [None, None, None]
    assert since(log, 5) == [[1], [1]]


def test_the_oldest_changes_are_dropped_beyond_the_limit() -> None:
    log = ChangeLog(1000)
    wide = np.zeros((2, 50), np.int32)
    for position in range(3):
        log.add([wide, change(position)])
    assert since(log, 0) is None
    assert since(log, 2) == [[0] * 50 + [2], [0] * 50 + [1]]


def test_a_log_of_a_block_that_never_changes_does_not_grow_without_limit() -> None:
    log = ChangeLog(1000)
    for _ in range(3000):
        log.add([np.zeros((2, 0), np.int32)])
    assert since(log, 2999) == [[], []]
    assert since(log, 0) is None


def test_few_changes_do_not_keep_those_of_other_blocks_in_memory() -> None:
    of_all = np.arange(2000, dtype=np.int32).reshape(2, 1000)
    released = weakref.ref(of_all)
    log = ChangeLog(4000)
    log.add([of_all[:, 3:5]], kept_bytes=of_all.nbytes // 4)
    del of_all
    assert released() is None
    assert since(log, 0) == [[3, 4], [1003, 1004]]


def test_views_count_as_the_memory_that_they_keep() -> None:
    of_all = np.zeros((2, 100), np.int32)
    log = ChangeLog(of_all.nbytes)
    log.add([of_all[:, :60]], kept_bytes=of_all.nbytes + 8)
    assert since(log, 0) is None


def test_no_reader_is_up_to_date_after_a_restart() -> None:
    log = ChangeLog(1000)
    log.add([change(1)])
    log.restart()
    assert since(log, 1) is None
    assert since(log, 2) == [[], []]
