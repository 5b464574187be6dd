"""What a run leaves for people: exact rows, a table, figures."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from matplotlib.figure import Figure

from motet.domain.cluster import Cluster
from motet.domain.units import exact_seconds, microseconds
from motet.interfaces.simulation_runs import Scenario, run_one
from motet.sim.experiment import Experiment
from motet.sim.results import SimulationResult
from motet.sim.workload import Workload
from small_traces import QUEUE_OF_THREE, result_of

PLOTS = [name for name in dir(SimulationResult) if name.startswith("plot_")]


def test_a_row_per_job_with_exact_seconds() -> None:
    workload = Workload.of(
        ["b", "a"],
        [microseconds("1.000001"), microseconds("0.1")],
        [microseconds("2.5"), microseconds("0.3")],
        [1, 1],
        users=["ann", "bob"],
        queues=["vc1", "vc2"],
    )
    scenario = Scenario(workload, "0" * 64, Cluster.uniform(1, 1))
    result = run_one(Experiment("fifo", {"placement": "count"}), scenario)

    assert list(result.job_rows()) == [
        ("a", "bob", "vc2", 1, "0.1", "0.1", "0.4", "0.3", "0", 0, 0, 0, "finished"),
        ("b", "ann", "vc1", 1, "1.000001", "1.000001", "3.500001", "2.5", "0", 0, 0, 0, "finished"),
    ]


@given(st.integers(-(10**15), 10**15))
def test_exact_seconds_read_back_are_the_same_time(time_us: int) -> None:
    assert microseconds(exact_seconds(time_us)) == time_us


def test_jobs_are_a_table_of_numbers() -> None:
    jobs = result_of(QUEUE_OF_THREE).jobs

    assert jobs["job_id"].tolist() == ["j0", "j1", "j2"]
    assert jobs["end_time"].tolist() == [100.0, 150.0, 160.0]
    assert jobs["queueing_delay"].mean() == pytest.approx(80)
    assert jobs["state"].tolist() == ["finished"] * 3


@pytest.mark.parametrize("name", PLOTS)
def test_every_plot_is_a_figure(name: str) -> None:
    assert isinstance(getattr(result_of(QUEUE_OF_THREE), name)(), Figure)
