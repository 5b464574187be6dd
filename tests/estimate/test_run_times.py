"""Forecasts of run times: calibrated, conditional on the time so far, or unknown."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.random import Generator

from example_count import examples
from motet.estimate.run_times import (
    FEWEST_JOBS,
    ObservedRunTime,
    RunTimeForecast,
    RunTimePredictor,
)
from soak_cases import others_in_soak

GROUPS = ("ann", "all")
times = st.floats(1e-3, 1e7)


def observed(
    *runs: float, has_ended: bool = True, groups: tuple[str, ...] = GROUPS
) -> list[ObservedRunTime]:
    return [ObservedRunTime(groups, run, has_ended) for run in runs]


@settings(max_examples=examples(100))
@given(runs=st.lists(times, min_size=FEWEST_JOBS, max_size=40), ran=st.just(0.0) | times)
def test_quantiles_ascend_from_the_time_that_the_job_has_run(runs: list[float], ran: float) -> None:
    forecast = RunTimePredictor(observed(*runs)).forecast(GROUPS, ran)
    assert forecast is not None
    found = forecast.quantile(np.linspace(0, 0.99, 50))
    assert np.isfinite(found).all()
    assert (np.diff(found) >= -1e-6 * found[1:]).all()
    assert (found >= ran * (1 - 1e-9)).all()


@settings(max_examples=examples(100))
@given(runs=st.lists(times, min_size=FEWEST_JOBS, max_size=20), factor=st.floats(0.1, 100))
def test_the_unit_of_time_does_not_matter(runs: list[float], factor: float) -> None:
    shares = np.array([0.1, 0.5, 0.9, 0.99])
    one = RunTimePredictor(observed(*runs)).forecast(GROUPS, runs[0] / 2)
    other = RunTimePredictor(observed(*(run * factor for run in runs))).forecast(
        GROUPS, runs[0] / 2 * factor
    )
    assert one is not None
    assert other is not None
    np.testing.assert_allclose(other.quantile(shares), factor * one.quantile(shares), rtol=1e-6)


def test_every_interval_between_run_times_is_equally_probable() -> None:
    runs = [float(number) for number in range(1, 10)]
    forecast = RunTimePredictor(observed(*runs)).forecast(GROUPS)
    assert forecast is not None
    np.testing.assert_allclose(forecast.quantile(np.arange(1, 10) / 10), runs)


@pytest.mark.parametrize("draw", ["exponential", "lognormal", "uniform"])
@pytest.mark.parametrize("ran_for", others_in_soak([0.0, 1.0], [1.0]))
def test_eight_of_ten_jobs_end_between_the_first_and_the_ninth_decile(
    draw: str, ran_for: float
) -> None:
    """Of any distribution, also of jobs that have run for some time; a third is still running."""
    generator = np.random.default_rng(7)
    inside = []
    for _ in range(600):
        runs = _drawn(generator, draw, 60)
        looked_s = _drawn(generator, draw, 60) * 1.5
        seen = [
            ObservedRunTime(GROUPS, min(run, looked), bool(run <= looked))
            for run, looked in zip(runs, looked_s, strict=True)
        ]
        forecast = RunTimePredictor(seen).forecast(GROUPS, ran_for)
        drawn = _drawn(generator, draw, 100)
        truth = drawn[drawn > ran_for][0]
        assert forecast is not None
        low, high = forecast.quantile([0.1, 0.9])
        inside.append(low <= truth <= high)
    assert 0.75 <= np.mean(inside) <= 0.87


def _drawn(generator: Generator, draw: str, count: int) -> np.ndarray:
    match draw:
        case "exponential":
            return generator.exponential(2.0, count)
        case "lognormal":
            return generator.lognormal(0.0, 1.5, count)
        case _:
            return generator.uniform(0.5, 4.0, count)


def test_jobs_that_still_run_are_not_left_out() -> None:
    short, long = observed(*[1.0] * 10), observed(*[100.0] * 10, has_ended=False)
    without = RunTimePredictor(short).forecast(GROUPS)
    with_them = RunTimePredictor([*short, *long]).forecast(GROUPS)
    assert without is not None
    assert with_them is not None
    assert without.median_s == 1
    assert with_them.quantile(0.6) > 1


def test_the_narrowest_group_with_enough_jobs_counts() -> None:
    own = observed(*[5.0] * (FEWEST_JOBS - 1))
    others = observed(*[50.0] * 20, groups=("bob", "all"))
    wide = RunTimePredictor([*own, *others]).forecast(GROUPS)
    narrow = RunTimePredictor([*own, *observed(5.0), *others]).forecast(GROUPS)
    assert wide is not None
    assert narrow is not None
    assert (wide.basis, wide.sample.ended) == ("all", 20 + FEWEST_JOBS - 1)
    assert wide.median_s == pytest.approx(50)
    assert (narrow.basis, narrow.sample.ended) == ("ann", FEWEST_JOBS)
    assert narrow.median_s == pytest.approx(5)


def test_with_too_few_ended_jobs_nothing_is_known() -> None:
    few = [*observed(*[5.0] * (FEWEST_JOBS - 1)), *observed(*[5.0] * 9, has_ended=False)]
    assert RunTimePredictor(few).forecast(GROUPS) is None
    assert RunTimePredictor([]).forecast(GROUPS, 100.0) is None


def test_a_declared_time_is_between_a_half_and_twice_while_no_job_has_ended() -> None:
    forecast = RunTimePredictor([]).forecast(GROUPS, 0.0, declared_s=10.0)
    assert forecast is not None
    assert not forecast.is_exact
    np.testing.assert_allclose(forecast.quantile([0.0, 0.5, 1 - 1e-12]), [5.0, 10.0, 20.0])


def test_a_declared_time_says_nothing_once_it_has_passed_twice() -> None:
    predictor = RunTimePredictor([])
    late = predictor.forecast(GROUPS, 19.0, declared_s=10.0)
    assert late is not None
    assert (late.quantile([0.0, 0.5, 0.99]) >= 19.0 - 1e-9).all()
    assert predictor.forecast(GROUPS, 20.0, declared_s=10.0) is None


@pytest.mark.parametrize("ended", range(1, FEWEST_JOBS))
def test_every_ended_job_narrows_a_declared_time(ended: int) -> None:
    """The intervals between n ended jobs, and to the bounds, are equally probable."""
    seen = [ObservedRunTime(GROUPS, 10.0 + place, True, 10.0) for place in range(ended)]
    forecast = RunTimePredictor(seen).forecast(GROUPS, 0.0, declared_s=100.0)
    assert forecast is not None
    shares = np.arange(1, ended + 1) / (ended + 1)
    np.testing.assert_allclose(forecast.quantile(shares), 100.0 + 10.0 * np.arange(ended))
    assert forecast.quantile(0.0) == pytest.approx(50.0)


@pytest.mark.parametrize("ended", others_in_soak([0, 1, 4, 20], [0, 4]))
def test_eight_of_ten_declared_times_are_between_their_deciles(ended: int) -> None:
    """Of users whose run times are between a half and twice of what they declare."""
    generator = np.random.default_rng(ended)
    inside = []
    for _ in range(1500):
        ratios = 2 ** generator.uniform(-1, 1, ended + 1)
        seen = [ObservedRunTime(GROUPS, ratio * 7.0, True, 7.0) for ratio in ratios[1:]]
        forecast = RunTimePredictor(seen).forecast(GROUPS, 0.0, declared_s=3.0)
        assert forecast is not None
        low, high = forecast.quantile([0.1, 0.9])
        inside.append(low <= 3.0 * ratios[0] <= high)
    assert 0.76 <= np.mean(inside) <= 0.84


def test_jobs_that_kept_closely_to_their_times_give_narrow_ranges() -> None:
    """Below the shortest as above the longest of them."""
    seen = [ObservedRunTime(GROUPS, 10.0 + place / 100, True, 10.0) for place in range(10)]
    forecast = RunTimePredictor(seen).forecast(GROUPS, 0.0, declared_s=10.0)
    assert forecast is not None
    low, high = forecast.quantile([0.005, 0.995])
    tail = (1 / 11 / 0.005) ** (1 / 20)  # Beyond the outer one of eleven intervals.
    assert high == pytest.approx(10.09 * tail)
    assert low == pytest.approx(10.0 / tail)


def test_a_known_run_time_is_exact() -> None:
    forecast = RunTimeForecast.exactly(10.0)
    assert forecast.is_exact
    np.testing.assert_array_equal(forecast.quantile([0.0, 0.5, 0.99]), 10.0)


def test_declared_times_are_corrected_by_how_jobs_kept_to_them() -> None:
    late = [ObservedRunTime(GROUPS, 2.0 * declared, True, declared) for declared in range(1, 20)]
    forecast = RunTimePredictor(late).forecast(GROUPS, 0.0, declared_s=100.0)
    assert forecast is not None
    np.testing.assert_allclose(forecast.quantile([0.5, 0.9]), 200.0)


def test_a_job_that_outlived_all_others_is_expected_to_run_on() -> None:
    forecast = RunTimePredictor(observed(*range(1, 20))).forecast(GROUPS, 40.0)
    assert forecast is not None
    assert forecast.median_s == pytest.approx(80.0)
