"""The log of a block's changes: complete since a revision, or not at all."""

from __future__ import annotations

import numpy as np

from motet.domain.arrays import Array
from motet.runtime.server.change_log import ChangeLog


def change(position: int, amount: int = 1) -> Array:
    return np.array([[position], [amount]], np.int32)


def since(log: ChangeLog, revision: int) -> list[list[int]] | None:
    found = log.since(revision)
    return None if found is None else found.tolist()


def test_changes_since_a_revision_are_in_order() -> None:
    log = ChangeLog(1000)
    for position in (4, 2, 9):
        log.add(change(position))
    assert log.revision == 3
    assert since(log, 1) == [[2, 9], [1, 1]]
    assert since(log, 3) == [[], []]


def test_unknown_revisions_have_no_changes() -> None:
    log = ChangeLog(1000, revision=5)
    log.add(change(1))
    assert [since(log, revision) for revision in (-1, 4, 7)] == [None, None, None]
    assert since(log, 5) == [[1], [1]]


def test_the_oldest_changes_are_dropped_beyond_the_limit() -> None:
    log = ChangeLog(2 * change(0).nbytes)
    for position in range(3):
        log.add(change(position))
    assert since(log, 0) is None
    assert since(log, 1) == [[1, 2], [1, 1]]


def test_no_reader_is_up_to_date_after_a_restart() -> None:
    log = ChangeLog(1000)
    log.add(change(1))
    log.restart()
    assert since(log, 1) is None
    assert since(log, 2) == [[], []]
