"""How long starts take, by what attempts took before."""

from __future__ import annotations

import numpy as np
import pytest

from motet.domain.snapshot import Placement
from motet.domain.units import SECOND_US
from motet.interfaces.forecasts.draws.start_up_times import StartUpTimes
from motet.live.jobs.attempt import Attempt
from motet.live.jobs.job import LiveJob
from timed_master import spec_of

NOW_US = 1_700_000_000 * SECOND_US


def job(number: int, processes: int, *took_s: float | None) -> LiveJob:
    """With attempts whose start took so long, long ago; None: it began two seconds ago."""
    found = LiveJob(number, spec_of(processes), "ann", 0)
    for place, each in enumerate(took_s, 1):
        requested_us = NOW_US - (2 if each is None else 100 - place) * SECOND_US
        running_us = None if each is None else requested_us + round(each * SECOND_US)
        placement = Placement((0,), (processes,))
        found.attempts.append(Attempt(place, placement, requested_us, running_us=running_us))
    return found


def median_s(times: StartUpTimes, processes: int, *, is_first: bool = True) -> float:
    found = times.forecast(processes, is_first=is_first)
    assert found is not None
    return found.median_s


def test_without_a_start_nothing_is_known() -> None:
    times = StartUpTimes.of([job(1, 1, None)], NOW_US)
    assert times.forecast(1, is_first=True) is None
    assert not times.take_time


def test_starts_within_a_millisecond_take_no_time() -> None:
    times = StartUpTimes.of([job(1, 1, 0.0), job(2, 1, 0.0002)], NOW_US)
    assert times.forecast(1, is_first=True) is None
    assert not times.take_time


def test_jobs_that_still_run_are_known_by_their_starts() -> None:
    times = StartUpTimes.of([job(1, 1, 0.2), job(2, 1, 0.4)], NOW_US)
    found = times.forecast(1, is_first=True)
    assert found is not None
    np.testing.assert_allclose(found.quantile([0.0, 1 / 3, 2 / 3]), [0.1, 0.2, 0.4])


def test_starts_of_as_many_processes_count_where_there_are_some() -> None:
    jobs = [job(number, 1, 0.1) for number in range(1, 9)]
    jobs += [job(number, 8, 1.0) for number in (9, 10)]
    times = StartUpTimes.of(jobs, NOW_US)
    assert median_s(times, 8) == pytest.approx(1.0)
    assert median_s(times, 1) == pytest.approx(0.1)
    assert median_s(times, 4) == pytest.approx(0.1)  # Of all.


def test_further_starts_are_another_group() -> None:
    times = StartUpTimes.of([job(1, 1, 0.1, 3.0), job(2, 1, 0.1, 3.0)], NOW_US)
    assert median_s(times, 1) == pytest.approx(0.1)
    assert median_s(times, 1, is_first=False) == pytest.approx(3.0)


def test_a_start_that_lasts_already_goes_on() -> None:
    times = StartUpTimes.of([job(1, 1, 0.1), job(2, 1, 0.1), job(3, 1, None)], NOW_US)
    found = times.forecast(1, is_first=True, took_us=2 * SECOND_US)
    assert found is not None
    assert (found.quantile([0.0, 0.5, 0.9]) >= 2.0 - 1e-9).all()
