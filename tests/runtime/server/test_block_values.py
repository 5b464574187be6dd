"""Rows are copied as by indexing, without a second copy of them in memory."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest

from motet.runtime.server.block_values import copy_rows

VALUES = np.random.default_rng(0).random((20_000, 16))


def test_rows_are_copied_without_a_buffer_of_their_size() -> None:
    rows = np.arange(0, len(VALUES), 2, dtype=np.uint32)[::-1].copy()
    out = np.empty((len(rows), 16))
    tracemalloc.start()
    copy_rows(VALUES, rows, out)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    np.testing.assert_array_equal(out, VALUES[rows])
    assert peak < out.nbytes / 4


def test_a_row_outside_is_refused_with_nothing_copied() -> None:
    out = np.zeros((2, 16))
    with pytest.raises(IndexError, match="row 20000 is outside of 20000 rows"):
        copy_rows(VALUES, np.array([0, 20_000], np.uint32), out)
    assert not out.any()


def test_no_rows_are_nothing() -> None:
    copy_rows(VALUES, np.empty(0, np.uint32), np.empty((0, 16)))
