"""Who may bid."""

from __future__ import annotations

import math

import pytest

from motet.allocation.auction.participants import participants
from motet.domain.errors import BadInput


def test_the_fifth_with_the_worst_rho_bids() -> None:
    rho = [1.0, 3.0, 2.0, math.inf, 0.5, 1.5, 1.2, 1.1, 0.9, 0.8]
    assert participants(rho).tolist() == [3, 1]


@pytest.mark.parametrize(("fairness", "count"), [(0, 10), (0.7, 3), (0.71, 3), (0.95, 1), (1, 1)])
def test_the_part_that_bids_is_rounded_up(fairness: float, count: int) -> None:
    assert len(participants(range(10), fairness)) == count


def test_among_equals_the_first_bid() -> None:
    assert participants([2.0, math.inf, math.inf, 2.0], 0.5).tolist() == [1, 2]


def test_without_experiments_there_are_no_participants() -> None:
    assert participants([]).tolist() == []


def test_a_filter_outside_0_to_1_is_refused() -> None:
    with pytest.raises(BadInput, match=r"fairness=1\.5: the filter's f is 0"):
        participants([1.0], 1.5)
