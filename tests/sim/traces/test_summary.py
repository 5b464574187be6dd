"""What a trace's figures mean."""

from __future__ import annotations

import pytest

from motet.sim.traces import Trace
from motet.sim.traces.summary import SizeClass, demand, summarise
from motet.sim.workload.workload import Workload

HOUR_US = 3_600_000_000
JOBS = Workload.of(
    ["a", "b", "c"], [0, HOUR_US, 2 * HOUR_US], [2 * HOUR_US, HOUR_US, HOUR_US], [1, 4, 1]
)
TRACE = Trace(JOBS, "motet", "")


def test_sizes_carry_jobs_and_gpu_hours() -> None:
    summary = summarise(TRACE)

    assert summary.sizes == (SizeClass(1, 2, 3.0), SizeClass(4, 1, 4.0))
    assert (summary.jobs, summary.gpu_hours, summary.span_s) == (3, 7.0, 7200.0)
    assert summary.duration_s["median"] == 3600.0


def test_demand_is_what_would_run_if_nothing_waited() -> None:
    times_us, busy = demand(JOBS)

    assert [time_us // HOUR_US for time_us in times_us.tolist()] == [0, 1, 2, 3]
    assert busy.tolist() == [1, 5, 1, 0]
    assert summarise(TRACE).demand_gpus == {"mean": pytest.approx(7 / 3), "peak": 5.0}


def test_load_is_gpu_time_asked_for_over_gpu_time_there_is_while_jobs_arrive() -> None:
    load = summarise(TRACE, (2, 4)).cluster

    assert load is not None
    assert load.load == pytest.approx(7 / (4 * 2))
    assert load.shortest_makespan_s == pytest.approx(7 * 3600 / 4)


def test_even_gaps_have_no_variation_and_jobs_at_once_no_load() -> None:
    at_once = Trace(Workload.of(["a", "b"], [0, 0], [1, 1], [1, 1]), "motet", "")
    summary = summarise(at_once, (1, 2))

    assert summarise(TRACE).interarrival_s["cv"] == 0.0
    assert summary.interarrival_s["cv"] is None
    assert summary.cluster is not None
    assert summary.cluster.load is None
