"""What futures that were simulated within a budget say of a start."""

from __future__ import annotations

from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any

import pytest

from motet.domain.units import NEVER_US
from motet.interfaces.forecasts.draws.future import CutFuture
from motet.interfaces.forecasts.expected_starts import SimulatedFutures, start_in_group

NEW = 7
PRESENT: Any = SimpleNamespace(never_start={}, obstacle="", unknown=[], closed="")


def simulated(complete: list[int], cut: CutFuture | None) -> SimulatedFutures:
    starts = [{NEW: at_us} for at_us in complete]
    return SimulatedFutures(("never",), {"never": starts}, {"never": []}, NEVER_US, cut, fewest=3)


def start_of(starts: Mapping[int, int]) -> int | None:
    return starts.get(NEW)


@pytest.mark.parametrize(
    ("cut", "high_us"),
    [
        (None, 30),
        (CutFuture({}, 30), 30),
        (CutFuture({}, 31), None),
        (CutFuture({NEW: 40}, 50), 30),
    ],
)
def test_a_future_that_was_cut_after_the_range_leaves_none(
    cut: CutFuture | None, high_us: int | None
) -> None:
    found = start_in_group(PRESENT, frozenset({NEW}), simulated([10, 20, 30], cut), start_of)
    assert found.high_us == high_us
    assert found.later_than_us == (10 if high_us is None else None)


def test_a_cut_future_cannot_deny_what_the_usual_number_says() -> None:
    futures = simulated(list(range(19)), CutFuture({}, 100))
    assert start_in_group(PRESENT, frozenset({NEW}), futures, start_of).high_us == 18


@pytest.mark.parametrize(
    ("complete", "cut", "least_us"),
    [
        ([], CutFuture({}, 15), 15),
        ([], CutFuture({NEW: 12}, 15), 12),
        ([20], CutFuture({}, 15), 20),
        ([20], CutFuture({NEW: 12}, 15), 12),
        ([20], None, 20),
    ],
)
def test_too_few_futures_tell_the_earliest_start_in_any_of_them(
    complete: list[int], cut: CutFuture | None, least_us: int
) -> None:
    found = start_in_group(PRESENT, frozenset({NEW}), simulated(complete, cut), start_of)
    assert (found.high_us, found.later_than_us) == (None, least_us)
