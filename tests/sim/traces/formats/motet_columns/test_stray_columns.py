"""Columns of Motet's CSV with a name like a known one, and elastic ones of rows without steps."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from motet.domain.errors import BadInput
from motet.sim.traces import read_trace

FileOf = Callable[..., Path]
RIGID = "job_id,submit_time,num_gpus,duration"
ELASTIC = f"{RIGID},steps,max_workers,speed,speed_t0"
GOOD = "z,0,4,,100,8,sync,2.5"


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("experiments", "experiment"),
        ("Memory", "memory_gb"),
        ("cpus", "num_cpus"),
        ("step", "steps"),
        ("n_steps", "steps"),
        ("model_name", "model"),
        ("max_worker", "max_workers"),
    ],
)
def test_a_column_with_nearly_a_known_name_is_told(file_of: FileOf, name: str, meant: str) -> None:
    trace = read_trace(file_of(f"{RIGID},{name}\na,0,1,5,3\n"))
    said = f"column {name.lower()!r} is unknown and not read; did you mean {meant!r}?"
    assert trace.notices == (said,)


@pytest.mark.parametrize("name", ["colour", "remark", "state", "num_nodes", "wait_time", ""])
def test_other_further_columns_are_read_past_in_silence(file_of: FileOf, name: str) -> None:
    assert read_trace(file_of(f"{RIGID},{name}\na,0,1,5,3\n")).notices == ()


def test_a_column_is_not_taken_for_one_that_the_file_has(file_of: FileOf) -> None:
    assert read_trace(file_of(f"{RIGID},model,models\na,0,1,5,vgg,3\n")).notices == ()


@pytest.mark.parametrize(
    ("row", "said"),
    [
        ("a,0,4,9,,8,,", "max_workers is '8', but steps is empty, and only jobs with steps are"),
        ("a,0,4,9,,,sync,", "speed is 'sync', but steps is empty, and only jobs with steps"),
        ("a,0,4,9, ,,,2", "speed_t0 is '2', but steps is empty"),
    ],
)
def test_elastic_cells_of_a_row_without_steps_are_one_clear_error(
    file_of: FileOf, row: str, said: str
) -> None:
    path = file_of(f"{ELASTIC}\n{GOOD}\n{row}\n")
    with pytest.raises(BadInput) as raised:
        read_trace(path)
    assert f"{path}:3: {said}" in str(raised.value)
    assert "give steps or no" in str(raised.value)
    left = read_trace(path, skip_bad_rows=True)
    assert (left.workload.ids, left.skipped) == (("z",), {"no work model": 1})


def test_the_error_names_a_similar_column_for_missing_steps(file_of: FileOf) -> None:
    path = file_of(f"{RIGID},step,speed,speed_t0\na,0,4,9,100,sync,2\n")
    said = r"speed is 'sync', but there is no column steps \(did you mean it by 'step'\?\), and"
    with pytest.raises(BadInput, match=said):
        read_trace(path)
