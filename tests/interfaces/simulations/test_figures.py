"""Figures of simulated runs."""

from __future__ import annotations

import inspect
import pickle
from collections.abc import Callable

import pytest
from matplotlib.figure import Figure

from elastic_workloads import elastic_workload, linear
from motet import BadInput, simulate
from motet.interfaces.simulations.runs import SimulatedRuns
from motet.sim.metrics.results import SimulationResult
from small_traces import QUEUE_OF_THREE, result_of, workload_of
from soak_cases import others_in_soak

PLOTS = [
    name for name, _ in inspect.getmembers(SimulatedRuns, inspect.isfunction) if "plot_" in name
]
POLICIES = ["fifo", "srtf"]


def rigid() -> SimulatedRuns:
    return simulate(workload_of(QUEUE_OF_THREE), "1x2", POLICIES, placement="count")


def elastic() -> SimulatedRuns:
    workload = elastic_workload([linear(10 * job, 40 + job, 1, 4) for job in range(6)])
    return simulate(workload, "1x4", ["fair", "fifo"], placement="count")


@pytest.mark.parametrize("name", others_in_soak(PLOTS, ["plot_gantt", "plot_jct_cdf"]))
def test_every_plot_is_a_figure_that_a_notebook_shows(name: str) -> None:
    for result in (rigid(), elastic()):
        chosen = next(iter(result)) if name == "plot_gantt" else result
        plot: Callable[[], Figure] = getattr(chosen, name)
        assert plot()._repr_png_().startswith(b"\x89PNG")  # type: ignore[attr-defined]


def test_a_figure_of_two_policies_names_both() -> None:
    texts = [text.get_text() for text in rigid().plot_jct_cdf().legends[0].get_texts()]
    assert texts == POLICIES


def test_the_gantt_chart_names_the_policy() -> None:
    (axes,) = rigid()["srtf"].plot_gantt().axes
    assert axes.get_title("left") == "GPUs of every machine under srtf"


def test_a_gantt_chart_shows_one_run() -> None:
    with pytest.raises(BadInput, match=r"has 2; choose one: result\['fifo'\]"):
        rigid().plot_gantt()


def test_a_result_travels_between_processes() -> None:
    result = pickle.loads(pickle.dumps(result_of(QUEUE_OF_THREE)))

    assert isinstance(result, SimulationResult)
    assert result.jobs["jct"].tolist() == [100, 150, 150]
