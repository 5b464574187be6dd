"""Numbers of a policy over its seeds."""

from __future__ import annotations

import math

import pytest

from motet.report.rendering.confidence import confidence_half_width
from motet.report.simulation.group_estimates import Estimate, GroupEstimates, nested, number, ratio

LOW, HIGH = {"a": {"b": 2}}, {"a": {"b": 6}}
KEYS = ("a", "b")


def test_ratios_are_of_pairs_and_then_averaged() -> None:
    group = GroupEstimates("two", [HIGH, HIGH], [(LOW, HIGH), (HIGH, HIGH)])

    assert group.estimate(KEYS) == Estimate(6, None)
    assert group.relative(KEYS) == (2, pytest.approx(confidence_half_width([3, 1])))


def test_seeds_that_change_nothing_are_one_result_without_an_interval() -> None:
    same = [{**LOW, "seed": seed, "wall_s": seed / 10, "loss": math.nan} for seed in range(3)]
    group = GroupEstimates("one", same, [(each, each) for each in same])
    assert group.result_count == 1
    assert group.estimate(KEYS).half_width is None
    assert group.relative(KEYS) == (1, None)
    varied = GroupEstimates("two", [*same, HIGH], [(LOW, each) for each in [*same, HIGH]])
    assert varied.result_count == 4
    assert varied.estimate(KEYS).half_width
    assert varied.relative(KEYS).half_width


@pytest.mark.parametrize("document", [{}, {"a": None}, {"a": {}}, {"a": 1}, {"a": {"b": None}}])
def test_what_a_document_does_not_say_is_not_a_number(document: dict[str, object]) -> None:
    assert math.isnan(number(document, KEYS))
    assert math.isnan(GroupEstimates("one", [LOW, document]).estimate(KEYS).mean)
    assert math.isnan(ratio(document, HIGH, KEYS))


def test_nothing_is_no_multiple_of_nothing() -> None:
    assert math.isnan(ratio({"a": {"b": 0}}, HIGH, KEYS))
    assert math.isnan(GroupEstimates("alone", [LOW]).relative(KEYS).mean)


def test_numbers_are_nested_by_their_keys() -> None:
    assert nested({("a",): 1, ("b", "c"): 2, ("b", "d"): 3}) == {"a": 1, "b": {"c": 2, "d": 3}}
