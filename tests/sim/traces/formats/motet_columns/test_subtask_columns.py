"""COMP and COMM times of jobs in Motet's CSV."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from motet.domain.errors import BadInput
from motet.estimate.colocation.group_time import SubtaskTimes
from motet.sim.traces import read_trace
from motet.sim.traces.writing import motet_csv

HEADER = "job_id,submit_time,num_gpus,duration,steps,max_workers,speed,comp_s,comm_s,input_gb"
GOOD = "a,0,4,,100,8,,30,2.5,12.5"


def written(folder: Path, *rows: str) -> Path:
    path = folder / "jobs.csv"
    path.write_text("\n".join([HEADER, *rows]) + "\n", encoding="utf-8")
    return path


def test_comp_is_divided_by_the_workers_and_comm_is_not(tmp_path: Path) -> None:
    jobs = read_trace(written(tmp_path, GOOD, "b,1,2,30,,,,,,")).workload
    assert jobs.work is not None
    assert jobs.work.subtasks is not None
    assert jobs.work.subtasks.is_known.tolist() == [True, False]
    assert jobs.work.subtasks.input_bytes.tolist() == [12_500_000_000, 0]
    assert jobs.duration_us.tolist() == [1_000_000_000, 30_000_000]
    speeds = jobs.work.speeds.steps_per_s([1, 1], 0)
    assert speeds[0] == pytest.approx(1 / 32.5)
    assert jobs.work.subtasks.times(0, 10) == SubtaskTimes(3.0, 2.5, 0.0)


def test_what_is_written_reads_back_the_same(tmp_path: Path) -> None:
    first = read_trace(written(tmp_path, GOOD, "b,1,2,30,,,,,,")).workload
    text = motet_csv(first)
    path = tmp_path / "again.csv"
    path.write_text(text, encoding="utf-8")
    again = read_trace(path).workload
    assert motet_csv(again) == text
    assert first.work is not None
    assert again.work is not None
    assert again.work.subtasks is not None
    np.testing.assert_array_equal(again.work.subtasks.comp_s, [30.0, np.nan])
    np.testing.assert_array_equal(again.work.speeds.parameters, first.work.speeds.parameters)


ASYNC = f"{HEADER},asynchronous,async_efficiency"


def async_trace(folder: Path, *rows: str) -> Path:
    path = folder / "jobs.csv"
    path.write_text("\n".join([ASYNC, *rows]) + "\n", encoding="utf-8")
    return path


def test_jobs_tell_whether_they_train_asynchronously(tmp_path: Path) -> None:
    rows = [f"{GOOD},allowed,0.9", "b,0,4,,100,8,,8,4,,always,", "c,0,4,,100,8,,8,4,,never,"]
    first = read_trace(async_trace(tmp_path, *rows, "d,0,4,,100,8,,8,4,,,")).workload
    assert first.work is not None
    assert first.work.subtasks is not None
    assert first.work.subtasks.overlap.tolist() == [1, 2, 0, 0]
    assert first.work.subtasks.async_efficiency.tolist() == [0.9, 1.0, 1.0, 1.0]
    # COMP of 8 / 4 s beside or before COMM of 4 s.
    assert first.duration_us.tolist()[1:] == pytest.approx([4e8, 6e8, 6e8])
    path = tmp_path / "again.csv"
    path.write_text(motet_csv(first), encoding="utf-8")
    assert motet_csv(read_trace(path).workload) == motet_csv(first)
    without = read_trace(written(tmp_path, GOOD)).workload
    assert "async" not in motet_csv(without)


@pytest.mark.parametrize(
    ("cells", "said"),
    [
        ("sometimes,", "asynchronous is 'sometimes', it must be never, allowed, always"),
        ("allowed,0", "async_efficiency is 0, it must be above 0, at most 1"),
        ("allowed,1.5", "async_efficiency is 1.5, it must be above 0, at most 1"),
    ],
)
def test_asynchronous_training_without_meaning_is_refused(
    tmp_path: Path, cells: str, said: str
) -> None:
    with pytest.raises(BadInput, match=said):
        read_trace(async_trace(tmp_path, f"{GOOD},{cells}"))


@pytest.mark.parametrize(
    ("row", "said"),
    [
        ("a,0,4,,100,8,,x,2.5,", "comp_s is 'x', which is not a number"),
        ("a,0,4,,100,8,,0,2.5,", "comp_s is 0, it must be within 1e-06 and 1e"),
        ("a,0,4,,100,8,,1,-1,", "comm_s is -1, it must be within 0 and 1e"),
        ("a,0,4,,100,8,,1,,", "comp_s is given, but comm_s is empty"),
        ("a,0,4,,100,8,sync,,1,", "comm_s is 1, but comp_s is empty"),
        ("a,0,4,,100,8,sync,1,1,", "speed is 'sync', but the speed follows from comp_s and comm"),
        ("a,0,4,3,,,,1,1,", "comp_s is '1', but steps is empty, and only jobs with steps are el"),
    ],
)
def test_a_row_that_cannot_be_run_is_refused(tmp_path: Path, row: str, said: str) -> None:
    with pytest.raises(BadInput, match=said.replace("(", r"\(")):
        read_trace(written(tmp_path, row))
