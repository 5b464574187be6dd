"""Speeds of a job at sizes where they are known, and at others."""

from __future__ import annotations

import pytest

from motet.sim.workload.size_speeds import SizeSpeeds


def test_known_sizes_have_their_speeds() -> None:
    speeds = SizeSpeeds({(1, 1): 2.0, (2, 1): 3.0, (1, 2): 2.5})
    assert [speeds.at(1, 1), speeds.at(2, 1), speeds.at(1, 2)] == [2.0, 3.0, 2.5]


def test_speeds_between_known_sizes_are_linear_in_the_processes() -> None:
    speeds = SizeSpeeds({(1, 1): 2.0, (5, 1): 6.0})
    assert speeds.at(3, 1) == pytest.approx(4.0)
    assert speeds.at(2, 2) == pytest.approx(4.0)


def test_more_processes_than_were_known_raise_no_speed_and_fewer_lower_it() -> None:
    speeds = SizeSpeeds({(2, 2): 4.0, (4, 2): 5.0})
    assert speeds.at(8, 2) == 5.0
    assert speeds.at(1, 1) == 2.0
