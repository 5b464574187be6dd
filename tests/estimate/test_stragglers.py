"""Which machines are stragglers."""

from __future__ import annotations

import numpy as np
import pytest

from motet.domain.estimates import MachineSpeeds
from motet.domain.snapshot import UNKNOWN
from motet.estimate.stragglers import stragglers


def found(
    times_as_long: list[float], measured_us: list[int], ratio: float = 2.0, now_us: int = 100
) -> list[int]:
    speeds = MachineSpeeds(np.array(times_as_long), np.array(measured_us, dtype=np.int64))
    return np.flatnonzero(stragglers(speeds, now_us, ratio, 50)).tolist()


@pytest.mark.parametrize(("ratio", "slow"), [(2.0, [1, 3]), (3.0, [1]), (float("inf"), [])])
def test_a_straggler_computes_ratio_times_as_long_as_others(ratio: float, slow: list[int]) -> None:
    assert found([1.0, 4.0, 1.0, 2.0, 1.0], [100] * 5, ratio) == slow


def test_where_all_are_slow_none_is_a_straggler() -> None:
    assert found([4.0, 4.0, 4.0], [100] * 3) == []
    assert found([4.0, 4.0, 8.0], [100] * 3) == [2]


def test_an_unmeasured_machine_has_normal_speed() -> None:
    assert found([4.0, 1.0, 1.0], [100, UNKNOWN, UNKNOWN]) == [0]
    assert found([4.0, 1.0], [100, UNKNOWN]) == [0]


def test_what_was_measured_long_ago_does_not_count() -> None:
    assert found([4.0, 4.0, 1.0, 1.0], [50, 49, 100, 100]) == [0]
    assert found([4.0, 1.0, 1.0], [UNKNOWN, 100, 100], now_us=10) == []
    assert found([1.0, 1.0], [UNKNOWN, UNKNOWN]) == []
