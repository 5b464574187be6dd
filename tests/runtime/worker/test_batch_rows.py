"""Instances of several sections are read and written as if they lay in one."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from motet.runtime.core.rows import Rows
from motet.runtime.worker.batch_rows import BatchRows


def rows(first: int, count: int) -> Rows:
    return Rows(np.arange(first, first + count), {"state": np.zeros(count)})


def in_parts(sizes: list[int]) -> BatchRows:
    firsts = np.cumsum([0, *sizes]).tolist()
    return BatchRows([rows(first, size) for first, size in zip(firsts, sizes, strict=False)])


@settings(deadline=None)
@given(sizes=st.lists(st.integers(0, 5), max_size=6).filter(any), data=st.data())
def test_a_slice_has_the_instances_of_the_whole_in_order(
    sizes: list[int], data: st.DataObject
) -> None:
    whole = in_parts(sizes)
    low = data.draw(st.integers(0, len(whole) - 1))
    high = data.draw(st.integers(low + 1, len(whole)))
    assert whole.slice(low, high).ids.tolist() == list(range(low, high))


def test_what_is_written_is_found_in_every_part() -> None:
    whole = in_parts([3, 2, 4])
    whole.put(2, Rows(np.arange(2, 7), {"state": np.arange(2.0, 7.0)}))
    assert whole.slice(0, 9)["state"].tolist() == [0, 0, 2, 3, 4, 5, 6, 0, 0]


def test_a_slice_of_one_part_is_a_view_of_it() -> None:
    part = rows(0, 4)
    BatchRows([part, rows(4, 2)]).slice(1, 3)["state"][:] = 7.0
    assert part["state"].tolist() == [0, 7, 7, 0]


def test_its_size_is_that_of_all_parts() -> None:
    whole = in_parts([3, 2])
    assert (len(whole), whole.nbytes) == (5, 5 * 16)
