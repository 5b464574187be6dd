"""Pictures of traces can be drawn, however odd the trace."""

from __future__ import annotations

import numpy as np
import pytest

from motet.report.figures.traces import MOST_STEPS, TraceColumns, trace_figure
from soak_cases import others_in_soak


def picture(jobs: int, gap_s: float, duration_s: float) -> TraceColumns:
    at = np.arange(jobs) * gap_s
    return TraceColumns("odd", np.ones(jobs), at, np.full(jobs, duration_s), at, np.ones(jobs), 4)


@pytest.mark.parametrize(
    ("jobs", "gap_s", "duration_s"),
    others_in_soak(
        [(1, 1, 5), (3, 0, 0), (40_000, 600, 1e7), (5, 1e-6, 1e-6)],
        [(3, 0, 0), (40_000, 600, 1e7)],
    ),
)
def test_every_trace_has_a_picture(jobs: int, gap_s: float, duration_s: float) -> None:
    figure = trace_figure(picture(jobs, gap_s, duration_s))
    figure.draw_without_rendering()

    assert [axes.get_title(loc="left") for axes in figure.axes] == [
        "Sizes",
        "Durations",
        "Arrivals",
        "Demand",
    ]


def test_a_long_trace_keeps_its_peak() -> None:
    at = np.arange(50_000.0)
    demand = np.zeros(50_000)
    demand[12_345] = 7
    ones = np.ones(50_000)
    figure = trace_figure(TraceColumns("long", ones, at, ones, at, demand))
    (line,) = figure.axes[3].get_lines()
    shown = np.asarray(line.get_ydata())

    assert shown.max() == 7
    assert len(shown) <= MOST_STEPS + 2
