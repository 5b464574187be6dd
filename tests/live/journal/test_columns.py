"""Columns of a record come back as they were; what follows a rule takes few bytes."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from example_count import examples
from motet.domain.log_entry import OtherJobs
from motet.live.journal.columns import are_one_value, column_of, numbers_of, steps_of, values_of

numbers = st.integers(-(2**63), 2**63 - 1)
repeating = st.lists(st.sampled_from([0, 1, 1, 1, 7]), max_size=60)
values = st.one_of(
    st.lists(numbers, max_size=30),
    repeating,
    st.lists(st.sampled_from([0.0, -0.0, 1.5, float("inf")]), max_size=30),
    st.lists(st.sampled_from(["OutBid", "TooFewGpus"]), max_size=30),
)


def from_json(value: Any) -> Any:
    return json.loads(json.dumps(value))


@settings(max_examples=examples(200))
@given(st.one_of(st.lists(numbers, max_size=30), repeating))
def test_numbers_come_back_from_their_steps(given_numbers: list[int]) -> None:
    assert numbers_of(from_json(steps_of(given_numbers))) == given_numbers


@settings(max_examples=examples(200))
@given(values)
def test_a_column_comes_back(column: list[Any]) -> None:
    assert repr(values_of(from_json(column_of(column)))) == repr(column)


@pytest.mark.parametrize(
    ("column", "form"),
    [
        ([*range(5, 1005)], {"steps": [5, [1, 999]]}),
        ([1, 2] * 50, {"at": [[1, [0, [2, 49]]], [2, [1, [2, 49]]]]}),
        ([3, 1, 4, 1, 5], {"each": [3, 1, 4, 1, 5]}),
        ([0.5] * 9, {"at": [[0.5, [0, [1, 8]]]]}),
        ([OtherJobs(((3, 1),), 1)] * 9, {"at": [[OtherJobs(((3, 1),), 1), [0, [1, 8]]]]}),
    ],
)
def test_a_rule_takes_the_place_of_the_values(column: list[Any], form: dict[str, Any]) -> None:
    assert column_of(column) == form


def test_zeros_of_different_signs_are_not_the_same() -> None:
    assert are_one_value([0.0, 0.0])
    assert not are_one_value([0.0, -0.0])
    assert not are_one_value([1, True])
