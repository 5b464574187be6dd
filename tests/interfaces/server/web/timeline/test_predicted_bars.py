"""What is drawn of the future is what is predicted; what is unknown is not drawn."""

from __future__ import annotations

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from motet.interfaces.server.web.timeline.predicted_bars import (
    PredictedBar,
    Range,
    Span,
    end_range,
    expected_range,
    predicted_bar,
)

AXIS = Range(1000, 1100)
times = st.floats(900, 1300)
ranges = st.tuples(times, times).map(lambda pair: Range(min(pair), max(pair)))


@given(ranges, ranges)
def test_bars_lie_on_the_axis_and_the_sure_part_in_the_likely_one(start: Range, end: Range) -> None:
    assume(start.low <= end.low)
    assert end.high is not None
    assume((start.high or 0) <= end.high)
    bar = predicted_bar(start, end, AXIS)
    for span in filter(None, (bar.likely, bar.sure)):
        assert span.x >= 0
        assert span.x + span.width <= 100.01
    if bar.sure:
        assert bar.likely is not None
        assert bar.likely.x <= bar.sure.x + 0.01
        assert bar.sure.x + bar.sure.width <= bar.likely.x + bar.likely.width + 0.01
    assert (bar.likely is not None) == (start.low < 1100 and end.high > 1000) or end.low == end.high


def test_a_bar_has_the_length_of_its_times() -> None:
    bar = predicted_bar(Range(1010, 1020), Range(1050, 1080), AXIS)
    assert bar.likely == Span(10, 70)
    assert bar.sure == Span(20, 30)


def test_a_job_that_runs_is_drawn_from_now_on() -> None:
    bar = predicted_bar(Range(1040, 1040), Range(1050, 1060), AXIS, runs=True)
    assert (bar.likely, bar.sure, bar.start) == (Span(40, 20), Span(40, 10), "")


@pytest.mark.parametrize("runs", [True, False])
def test_what_is_unknown_is_not_drawn(runs: bool) -> None:
    start = Range(1040, 1040) if runs else None
    bar = predicted_bar(start, None, AXIS, because="nothing is known", runs=runs)
    told = "" if runs else "unknown: nothing is known"
    assert bar == PredictedBar(None, None, told, "unknown")


def test_of_a_job_without_a_known_end_the_range_of_its_start_is_drawn() -> None:
    bar = predicted_bar(Range(1010, 1030), None, AXIS)
    assert (bar.likely, bar.sure, bar.end) == (Span(10, 20), None, "unknown")


def test_the_range_of_a_start_is_drawn_also_where_the_latest_end_is_not_known() -> None:
    bar = predicted_bar(Range(1010, 1070), Range(1050, None), AXIS)
    assert (bar.likely, bar.sure) == (Span(10, 60), None)


def test_an_end_later_than_what_was_simulated_is_drawn_up_to_its_earliest_time() -> None:
    bar = predicted_bar(Range(1010, 1010), end_range([1050, None, None], 1000), AXIS)
    assert bar.likely == bar.sure == Span(10, 40)
    assert bar.end.endswith(" or later")


def test_times_that_have_passed_are_now() -> None:
    assert end_range([990, 1000, 1020], 1010) == Range(1010, 1020)
    assert end_range([990, 995, 1000], 1010) == Range(1010, 1010)
    assert expected_range({"low_s": 2, "median_s": 3, "high_s": 5}, 1000) == Range(1002, 1005)
    assert expected_range({"low_s": None, "median_s": None, "high_s": None}, 1000) is None
