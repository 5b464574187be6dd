"""What users did to their jobs, in a trace."""

from __future__ import annotations

from pathlib import Path

import pytest

from motet.domain.errors import BadInput
from motet.domain.events import Cancelled, Resumed, Suspended
from motet.sim.traces import read_trace
from motet.sim.traces.writing import motet_csv

HEADER = "job_id,submit_time,num_gpus,duration,cancel_time,suspend_time,resume_time"


def trace_of(tmp_path: Path, *rows: str, name: str = "jobs.csv") -> Path:
    path = tmp_path / name
    path.write_text("\n".join([HEADER, *rows]) + "\n")
    return path


def test_they_are_events_in_the_order_of_time(tmp_path: Path) -> None:
    path = trace_of(tmp_path, "b,5,1,5,9,,", "a,0,1,5,,2.5,7", "c,6,1,5,,,")
    workload = read_trace(path).workload
    assert workload.ids == ("a", "b", "c")
    assert workload.interventions is not None
    assert workload.interventions.timeline() == [
        (2_500_000, Suspended(0)),
        (7_000_000, Resumed(0)),
        (9_000_000, Cancelled(1)),
    ]


def test_empty_columns_are_none(tmp_path: Path) -> None:
    assert read_trace(trace_of(tmp_path, "a,0,1,5,,,")).workload.interventions is None


def test_what_is_written_reads_back_as_the_same(tmp_path: Path) -> None:
    workload = read_trace(trace_of(tmp_path, "a,0,1,5,,2.5,7", "b,5,1,5,9,,")).workload
    again = tmp_path / "again.csv"
    again.write_text(motet_csv(workload))
    found = read_trace(again).workload.interventions
    assert found is not None
    assert workload.interventions is not None
    assert found.timeline() == workload.interventions.timeline()


@pytest.mark.parametrize(
    ("row", "said"),
    [
        ("a,10,1,5,9,,", "cancel_time is 9 s, before the job is submitted"),
        ("a,10,1,5,,9,11", "suspend_time is 9 s, before the job is submitted"),
        ("a,10,1,5,,11,11", "resume_time is 11 s, it must be after suspend_time"),
        ("a,10,1,5,,,11", "resume_time without suspend_time"),
        ("a,10,1,5,soon,,", "cancel_time is 'soon', which is not a number"),
    ],
)
def test_times_that_cannot_be_are_one_clear_error(tmp_path: Path, row: str, said: str) -> None:
    with pytest.raises(BadInput, match=f"jobs.csv:2: {said}"):
        read_trace(trace_of(tmp_path, row))
