"""Ids as whole numbers or text, and where some are among others."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from motet.datasets.kinds.ids import as_ids, id_positions
from motet.domain.errors import BadInput

NUMBERS = st.lists(st.integers(-(2**63), 2**63 - 1), max_size=20)
# NumPy's text ends at its last character that is not NUL.
TEXTS = st.lists(
    st.text(st.characters(exclude_characters="\0"), min_size=1, max_size=5), max_size=20
)


@given(
    st.one_of(
        st.tuples(st.just(np.int64), NUMBERS, NUMBERS), st.tuples(st.just(np.str_), TEXTS, TEXTS)
    )
)
def test_a_position_is_where_the_id_is(columns: tuple[Any, list[Any], list[Any]]) -> None:
    kind, some, others = columns
    ids, known = np.array(some, kind), np.unique(np.array(others, kind))
    found = id_positions(ids, known)
    for id_, position in zip(ids, found, strict=True):
        assert (known[position] == id_) if position >= 0 else id_ not in known


@given(st.lists(st.integers(0, 200), min_size=1), st.lists(st.integers(0, 200)))
def test_numbers_are_found_among_text(known: list[int], ids: list[int]) -> None:
    numbers = np.unique(known)
    as_text = np.array([str(each) for each in ids], dtype=np.str_)
    np.testing.assert_array_equal(
        id_positions(as_text, numbers), id_positions(np.array(ids, np.int64), numbers)
    )


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        ([3, 1], "i"),
        ([3.0, 1.0], "i"),
        (["b", "a"], "U"),
        (pd.Series(["b", "a"], dtype="category"), "U"),
        (np.array([1, 2], dtype=object), "i"),
        (np.array([1, "b"], dtype=object), "U"),
    ],
)
def test_whole_numbers_stay_numbers_and_the_rest_is_text(values: Any, kind: str) -> None:
    assert as_ids(values, "users").dtype.kind == kind


@pytest.mark.parametrize("wrong", [[1.5], [np.nan], ["a", None], ["a", ""], [["a"], ["b"]]])
def test_what_is_no_id_is_refused(wrong: Any) -> None:
    with pytest.raises(BadInput, match=r"^users"):
        as_ids(wrong, "users")
