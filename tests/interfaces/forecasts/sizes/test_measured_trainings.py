"""What trainings reported of COMP and COMM, and how far reports are apart."""

from __future__ import annotations

import pytest

from motet.domain.events import SubtasksMeasured
from motet.interfaces.forecasts.sizes.measured_trainings import LEAST_SPREAD, MeasuredTrainings


def reported(*times: tuple[int, float, float]) -> MeasuredTrainings:
    found = MeasuredTrainings()
    for machines, comp_s, comm_s in times:
        found.add(SubtasksMeasured(1, machines, comp_s, comm_s, None, 1000))
    return found


def test_reports_are_those_of_the_policy() -> None:
    known = reported((1, 0.4, 0.2), (2, 0.2, 0.2)).of[1]
    assert known.profile is not None
    assert known.profile.at(4) == pytest.approx((0.1, 0.2, 0.0))
    assert known.memory == {1: (1000, 1000), 2: (1000, 1000)}


def test_equal_reports_have_the_least_spread() -> None:
    assert MeasuredTrainings().spread == LEAST_SPREAD
    assert reported((1, 0.4, 0.2), (2, 0.2, 0.2), (4, 0.1, 0.2)).spread == LEAST_SPREAD


def test_the_spread_is_that_of_the_mean_of_most_reports() -> None:
    """Of 21 reports, each a third above or below the mean, one is ten times as long."""
    steady = [(1, 0.4 * factor, 0.2 * factor) for factor in (4 / 3, 2 / 3) * 10]
    spread = reported(*steady, (1, 4.0, 2.0)).spread
    assert spread == pytest.approx(0.5 / 20**0.5, abs=0.03)
