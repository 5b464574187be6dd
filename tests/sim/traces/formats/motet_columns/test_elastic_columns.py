"""Elastic jobs in Motet's CSV."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from motet.domain.errors import BadInput
from motet.sim.generate.elastic import ELASTIC_RECIPES, generate_elastic
from motet.sim.traces import read_trace
from motet.sim.traces.formats.motet_columns.elastic_columns import WORK_COLUMNS
from motet.sim.traces.formats.motet_columns.subtask_columns import SUBTASK_COLUMNS
from motet.sim.traces.writing import COLUMNS, motet_csv
from motet.sim.workload.workload import Workload

HEADER = (
    "job_id,submit_time,num_gpus,duration,steps,max_workers,servers,speed,speed_t0,curve,"
    "target_loss"
)
GOOD = "a,0,4,,100,8,,sync,2.5,svm-sgd-a9a,"


def written(folder: Path, *rows: str, header: str = HEADER) -> Path:
    path = folder / "jobs.csv"
    path.write_text("\n".join([header, *rows]) + "\n", encoding="utf-8")
    return path


def test_a_row_with_steps_is_elastic_and_the_others_are_rigid(tmp_path: Path) -> None:
    jobs = read_trace(written(tmp_path, GOOD, "b,1,2,30,,,,,,,")).workload
    assert jobs.work is not None
    assert jobs.work.is_modelled.tolist() == [True, False]
    assert jobs.duration_us.tolist() == [62_500_000, 30_000_000]
    assert jobs.gpus.tolist() == [4, 2]
    assert (jobs.work.min_workers[0], jobs.work.workers[0], jobs.work.max_workers[0]) == (1, 4, 8)
    assert jobs.work.loss(0, [0, 100]).tolist() == [0.6331426, 0.3537564]


def test_a_trace_without_steps_has_no_work_models(tmp_path: Path) -> None:
    jobs = read_trace(written(tmp_path, "b,1,2,30,,,,,,,")).workload
    assert jobs.work is None
    assert motet_csv(jobs).splitlines()[0] == ",".join(COLUMNS)


def test_a_job_with_a_target_ends_where_its_curve_reaches_it(tmp_path: Path) -> None:
    jobs = read_trace(written(tmp_path, GOOD + "0.4")).workload
    assert jobs.work is not None
    last = int(jobs.work.steps[0])
    assert jobs.work.loss(0, last) <= 0.4 < jobs.work.loss(0, last - 1)
    assert jobs.work.planned_steps[0] == 100


@pytest.mark.parametrize(
    ("row", "said"),
    [
        ("a,0,4,,ten,8,,sync,1,,", "steps is 'ten', which is not a number"),
        ("a,0,4,,0,8,,sync,1,,", "steps is '0', it must be at least 1"),
        ("a,0,4,,9,8,,both,1,,", "speed is 'both', it must be sync or async"),
        ("a,0,4,,9,8,,,1,,", "the job has no speed, it must be sync or async"),
        ("a,0,4,,9,8,,sync,-1,,", "speed_t0 is '-1', it must be within 0 and 1e"),
        (
            "a,0,4,,9,8,,sync,0,,",
            "with 1 worker and 0 servers its steps take no time; give a speed_t0",
        ),
        ("a,0,4,,1000000000,8,,sync,900000,,", "1000000000 steps at 1.11111e-06 per second take"),
        ("a,0,4,,9,3,,sync,1,,", "min_workers, workers and max_workers are 1, 4 and 3, they must"),
        (
            "a,0,4,,9,8,,sync,1,svm,",
            "curve is 'svm', unknown loss curve; did you mean 'svm-sgd-a9a'? known",
        ),
        ("a,0,4,,9,8,,sync,1,svm-sgd-a9a,x", "target_loss is 'x', which is not a number"),
        ("a,0,4,,9,8,,sync,1,svm-sgd-a9a,0.1", "target_loss is 0.1, its curve never falls below"),
        (
            "a,0,4,,9,8,,sync,1,svm-sgd-a9a,2",
            "target_loss is 2, its curve begins at 0.633143; give",
        ),
        ("a,0,4,,9,8,,sync,1,svm-sgd-a9a,0.6331426", "target_loss is 0.633143, its curve begins"),
        ("a,0,4,,9,8,,sync,1,,0.1", "target_loss is 0.1, but the job has no curve"),
    ],
)
def test_a_bad_cell_is_one_clear_error(tmp_path: Path, row: str, said: str) -> None:
    path = written(tmp_path, GOOD.replace("a,", "z,", 1), row)
    with pytest.raises(BadInput) as raised:
        read_trace(path)
    assert f"{path}:3: {said}" in str(raised.value)
    assert read_trace(path, skip_bad_rows=True).workload.ids == ("z",)


def test_an_elastic_job_must_fit_with_its_full_request(tmp_path: Path) -> None:
    said = "the job requests 4 GPUs, the cluster has 3; the full request of an elastic job must fit"
    with pytest.raises(BadInput, match=said):
        read_trace(written(tmp_path, GOOD), largest_gang=3)


@pytest.mark.parametrize("name", ELASTIC_RECIPES)
def test_what_is_written_reads_back_as_the_same(tmp_path: Path, name: str) -> None:
    jobs = generate_elastic(ELASTIC_RECIPES[name], np.random.default_rng(3))
    path = tmp_path / "jobs.csv"
    path.write_text(motet_csv(jobs), encoding="utf-8")
    again = read_trace(path).workload
    assert motet_csv(again) == motet_csv(jobs)
    _assert_equal(again, jobs)
    wanted = [name for name in WORK_COLUMNS if name not in SUBTASK_COLUMNS]
    assert path.read_text().splitlines()[0].endswith(",".join(wanted))


def _assert_equal(one: Workload, other: Workload) -> None:
    assert one.work is not None
    assert other.work is not None
    np.testing.assert_array_equal(one.duration_us, other.duration_us)
    np.testing.assert_array_equal(one.work.steps, other.work.steps)
    np.testing.assert_array_equal(one.work.speeds.parameters, other.work.speeds.parameters)
    np.testing.assert_array_equal(one.work.target_loss, other.work.target_loss)
    for job in range(len(one)):
        mine, yours = one.work.curve_of(job), other.work.curve_of(job)
        assert (mine and mine.name) == (yours and yours.name)
