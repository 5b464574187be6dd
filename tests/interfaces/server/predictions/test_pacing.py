"""Pauses between rounds of predictions."""

from __future__ import annotations

import pytest

from motet.interfaces.server.predictions.pacing import Pacing


@pytest.mark.parametrize(
    ("cpu_s", "pause_s"), [(0.01, 2.0), (0.5, 10.0), (6.0, 120.0), (9.0, 120.0)]
)
def test_a_round_is_followed_by_twenty_times_its_time(cpu_s: float, pause_s: float) -> None:
    assert Pacing().succeeded(cpu_s) == pause_s


def test_rounds_that_fail_are_tried_less_and_less_often() -> None:
    pacing = Pacing()
    assert [pacing.failed(0.1) for _ in range(6)] == [5.0, 10.0, 20.0, 40.0, 80.0, 120.0]
    pacing.succeeded(0.1)
    assert pacing.failed(0.1) == 5.0


def test_a_failed_round_takes_a_twentieth_of_a_core_too() -> None:
    assert Pacing().failed(15.0) == 300.0
