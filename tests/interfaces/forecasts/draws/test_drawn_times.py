"""Run times of one possible future: those of a job do not depend on the jobs beside it."""

from __future__ import annotations

from motet.estimate.run_times import ObservedRunTime, RunTimeForecast, RunTimePredictor
from motet.interfaces.forecasts.draws.drawn_times import DrawnTimes
from motet.interfaces.forecasts.draws.start_up_times import StartUpTimes
from motet.interfaces.forecasts.remaining_work import MeasuredRuns

GROUPS = ("ann", "all")


def drawn_times(future: int = 1) -> DrawnTimes:
    return DrawnTimes(MeasuredRuns(0, 0), StartUpTimes({}), 7, future)


def forecasts(undeclared: int, declared: int) -> tuple[RunTimeForecast, RunTimeForecast]:
    """Of a job without and of one with a declared time, after so many of each."""
    runs = [ObservedRunTime(GROUPS, 1.0 + number) for number in range(undeclared)]
    runs += [ObservedRunTime(GROUPS, 1.0 + number, True, 1.0) for number in range(declared)]
    predictor = RunTimePredictor(runs)
    found = predictor.forecast(GROUPS), predictor.forecast(GROUPS, 0.0, 1.0)
    assert found[0] is not None
    assert found[1] is not None
    return found[0], found[1]


def test_a_job_draws_the_same_beside_jobs_of_declared_run_times() -> None:
    both = forecasts(12, 9)
    together = drawn_times()
    assert [together.drawn_us(each, 0.5) for each in both] == [
        drawn_times().drawn_us(each, 0.5) for each in both
    ]


def test_declared_and_undeclared_run_times_have_weights_of_their_own() -> None:
    """The ratios are the run times here: with the same weights both would be equal."""
    plain, ratio = forecasts(0, 9)
    assert plain.sample.times.tolist() == ratio.sample.times.tolist()
    assert drawn_times().drawn_us(plain, 0.5) != drawn_times().drawn_us(ratio, 0.5)
