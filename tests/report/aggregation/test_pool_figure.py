"""The figure of a simulated pool can be drawn for every run."""

from __future__ import annotations

import numpy as np
import pytest

from motet.report.aggregation.pool_figure import PoolColumns, pool_figure


def columns(steps: int, minutes: int) -> PoolColumns:
    at_s = 10.0 * np.arange(steps)
    servers = np.arange(steps) % 7 + 1.0
    ratios = np.linspace(0.3, 1.4, minutes)
    return PoolColumns(
        "jobs", "saved", at_s, servers, servers / 2, servers / 99, servers / 90, ratios, 0.1
    )


@pytest.mark.parametrize(("steps", "minutes"), [(2, 0), (2, 1), (5_000, 9_000)])
def test_every_run_has_a_figure(steps: int, minutes: int) -> None:
    figure = pool_figure(columns(steps, minutes))
    figure.draw_without_rendering()
    assert [axes.get_title(loc="left") for axes in figure.axes] == [
        "CPU servers for aggregation",
        "Aggregators / servers",
        "Predicted loss of speed",
    ]


def test_the_panel_of_ratios_ends_with_all_minutes() -> None:
    ratios = pool_figure(columns(9, 50)).axes[1]
    line = ratios.get_lines()[0]
    assert np.asarray(line.get_ydata())[-1] == 1
    assert ratios.get_xlim()[1] > 1.4
