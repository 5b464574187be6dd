"""`from motet import simulate, load_trace`."""

from __future__ import annotations

from pathlib import Path

import pytest

from motet import BadInput, load_trace, simulate
from motet.sim.workload.workload import Workload
from small_traces import QUEUE_OF_THREE, workload_of, write_trace


def test_a_path_a_trace_and_a_workload_give_the_same_jobs(tmp_path: Path) -> None:
    path = write_trace(tmp_path / "jobs.csv", QUEUE_OF_THREE)
    settings = {"cluster": "1x2", "policy": "fifo", "placement": "count"}
    results = [simulate(path, **settings), simulate(load_trace(path), **settings)]
    made = simulate(workload_of(QUEUE_OF_THREE), **settings)

    assert results[0].jobs.equals(results[1].jobs)
    assert made.jobs["end_time"].tolist() == results[0].jobs["end_time"].tolist()
    assert results[0].runs[0].trace_sha256 == results[1].runs[0].trace_sha256


def test_a_workload_by_name_is_drawn_for_the_seed() -> None:
    one, other = (simulate("tiresias-480", policy="fifo", seed=seed) for seed in (0, 1))
    assert len(one.jobs) == len(other.jobs) == 480
    assert one.runs[0].trace_sha256 != other.runs[0].trace_sha256


def test_settings_are_python_values() -> None:
    result = simulate(
        *(workload_of(QUEUE_OF_THREE), "1x2"),
        thresholds=(10, 50),
        promote_knob=2,
        placement="count",
        preemption_cost=0,
    )

    assert result.runs[0].params["thresholds"] == (10, 50)
    assert result.runs[0].params["promote_knob"] == 2


def test_an_unknown_setting_is_named_with_those_that_are_known() -> None:
    with pytest.raises(BadInput, match=r"unknown parameter .*; known: .*placement"):
        simulate(workload_of(QUEUE_OF_THREE), "1x2", "fifo", threshold=3)


def test_a_gang_that_can_never_fit_is_refused() -> None:
    with pytest.raises(BadInput, match="needs 2 GPUs"):
        simulate(workload_of(QUEUE_OF_THREE), "1x1", "fifo")


# Jobs of 3, 3 and 2 GPUs on two machines of 4: the last is spread, and its model minds.
SPREAD = Workload.of("abc", [0, 0, 0], [100_000_000] * 3, [3, 3, 2], models=["VGG19"] * 3)


@pytest.mark.parametrize("cost", ["0", "10", "profile"])
def test_placement_count_slows_no_job(cost: str) -> None:
    counted = simulate(SPREAD, "2x4", "fifo", placement="count", preemption_cost=cost)
    assert counted.jobs["jct"].tolist() == [100, 100, 100]
    placed = simulate(SPREAD, "2x4", "fifo", preemption_cost=cost)
    assert placed.jobs["jct"].max() > 110


def test_yarn_consolidates_only_under_its_own_placement() -> None:
    insists = simulate(SPREAD, "2x4", "yarn-cs")
    assert insists.jobs["start_time"].tolist() == [0, 0, 100]
    for placement in ("count", "random", "skew"):
        counted = simulate(SPREAD, "2x4", "yarn-cs", placement=placement)
        assert counted.jobs["start_time"].tolist() == [0, 0, 0]
        assert counted.runs[0].params["consolidate"] is False


def test_the_repr_of_a_trace_and_a_result_is_one_line(tmp_path: Path) -> None:
    trace = load_trace(write_trace(tmp_path / "jobs.csv", QUEUE_OF_THREE))
    result = simulate(trace, "1x2", "fifo")
    assert repr(trace).startswith("<Trace: 3 jobs, ")
    assert repr(trace.workload).startswith("<Workload: 3 jobs, ")
    assert repr(result) == "<SimulatedRuns: fifo on 1x2; 3 of 3 jobs finished>"


def test_load_trace_reads_tables_with_other_names(tmp_path: Path) -> None:
    path = tmp_path / "site.csv"
    path.write_text("Job,GPUs,Submitted,Elapsed\na,4,2024-03-01T10:00:00,1:30:00\n")
    names = {"num_gpus": "GPUs", "submit_time": "Submitted", "duration": "Elapsed"}
    trace = load_trace(path, columns={"job_id": "Job", **names}, timezone="Europe/Berlin")

    assert trace.workload.ids == ("a",)
    assert trace.workload.duration_us.tolist() == [5_400_000_000]
