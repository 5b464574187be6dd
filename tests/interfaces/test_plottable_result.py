"""Figures of a simulation result."""

from __future__ import annotations

import inspect
import pickle
from collections.abc import Callable

import pytest
from matplotlib.figure import Figure

from motet.interfaces.plottable_result import PlottableResult
from small_traces import QUEUE_OF_THREE, elastic_result, result_of

PLOTS = [
    name for name, _ in inspect.getmembers(PlottableResult, inspect.isfunction) if "plot_" in name
]


@pytest.mark.parametrize("name", PLOTS)
def test_every_plot_is_a_figure_with_or_without_loss_curves(name: str) -> None:
    for result in (result_of(QUEUE_OF_THREE), elastic_result("fair")):
        plot: Callable[[], Figure] = getattr(result, name)
        plot().canvas.draw()


def test_the_gantt_chart_names_the_policy() -> None:
    (axes,) = result_of(QUEUE_OF_THREE, policy="srtf").plot_gantt().axes

    assert axes.get_title("left") == "GPUs of every machine under srtf"


def test_a_result_travels_between_processes_with_its_plots() -> None:
    result = pickle.loads(pickle.dumps(result_of(QUEUE_OF_THREE)))

    assert isinstance(result, PlottableResult)
    assert result.jobs["jct"].tolist() == [100, 150, 150]
