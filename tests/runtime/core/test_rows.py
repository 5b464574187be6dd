"""Instances as columns."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from motet.runtime.core.rows import Ragged, Rows


@st.composite
def row_sets(draw: st.DrawFn) -> Rows:
    lengths = draw(st.lists(st.integers(0, 4), min_size=1, max_size=12))
    offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    count = len(lengths)
    return Rows(
        np.arange(count) + 100,
        {
            "x": np.arange(count * 3, dtype=np.float64).reshape(count, 3),
            "words": Ragged(offsets, np.arange(offsets[-1], dtype=np.int32)),
        },
    )


def as_lists(rows: Rows) -> list[tuple[int, list[float], list[int]]]:
    words = rows.ragged("words")
    return [
        (
            int(rows.ids[i]),
            rows["x"][i].tolist(),
            words.values[words.offsets[i] : words.offsets[i + 1]].tolist(),
        )
        for i in range(len(rows))
    ]


@given(row_sets(), st.data())
def test_take_picks_whole_instances_in_the_given_order(rows: Rows, data: st.DataObject) -> None:
    wanted = data.draw(st.lists(st.integers(0, len(rows) - 1), max_size=20))
    everything = as_lists(rows)
    assert as_lists(rows.take(np.array(wanted, dtype=np.int64))) == [everything[i] for i in wanted]


@given(row_sets(), st.data())
def test_slices_put_together_are_the_whole(rows: Rows, data: st.DataObject) -> None:
    cut = data.draw(st.integers(0, len(rows)))
    parts = [rows.slice(0, cut), rows.slice(cut, len(rows))]
    assert as_lists(Rows.concatenate(parts)) == as_lists(rows)


def test_writing_to_a_slice_writes_to_the_whole() -> None:
    rows = Rows(np.arange(3), {"z": Ragged(np.array([0, 1, 3, 4]), np.zeros(4))})
    rows.slice(1, 2).ragged("z").values[:] = 7
    assert rows.ragged("z").values.tolist() == [0, 7, 7, 0]


def test_asking_for_the_wrong_kind_of_column_says_how_to_ask() -> None:
    rows = Rows(np.arange(1), {"x": np.zeros(1), "z": Ragged(np.array([0, 1]), np.zeros(1))})
    with pytest.raises(TypeError, match=r"rows\.ragged\('z'\)"):
        rows["z"]
    with pytest.raises(TypeError, match=r"rows\['x'\]"):
        rows.ragged("x")


def test_what_is_put_into_rows_is_what_they_hold() -> None:
    lengths = np.array([2, 0, 3, 1])
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    rows = Rows(np.arange(4), {"x": np.zeros(4), "z": Ragged(offsets, np.zeros(6))})
    some = rows.take(np.array([2, 0]))
    new = Rows(
        some.ids,
        {"x": np.array([7.0, 8.0]), "z": Ragged(some.ragged("z").offsets, np.arange(1.0, 6))},
    )
    rows.put(np.array([2, 0]), new)
    assert rows["x"].tolist() == [8, 0, 7, 0]
    assert rows.ragged("z").values.tolist() == [4, 5, 1, 2, 3, 0]


def test_rows_are_copied_only_to_bring_them_into_the_order_of_their_ids() -> None:
    ordered = Rows(np.array([1, 4, 9]), {"x": np.array([0.1, 0.4, 0.9])})
    assert ordered.seen_by_id() is ordered
    turned = ordered.take(np.array([2, 0, 1])).seen_by_id()
    assert (turned.ids.tolist(), turned["x"].tolist()) == ([1, 4, 9], [0.1, 0.4, 0.9])
