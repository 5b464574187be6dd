"""Traces, clusters and seeds as arguments: DataFrames, names, and what is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from motet import BadInput, load_trace, simulate
from motet.sim.traces.writing import motet_csv
from small_traces import QUEUE_OF_THREE, workload_of

JOBS = pd.DataFrame(
    {
        "job_id": ["j0", "j1", "j2"],
        "submit_time": [0, 0, 10],
        "num_gpus": [2, 2, 1],
        "duration": [100, 50, 10],
    }
)


def ends(trace: Any) -> list[float]:
    found: list[float] = simulate(trace, "1x2", "fifo", placement="count").jobs["end_time"].tolist()
    return found


def test_a_frame_simulates_like_the_same_file(tmp_path: Path) -> None:
    file = tmp_path / "jobs.csv"
    file.write_text(motet_csv(workload_of(QUEUE_OF_THREE)), encoding="utf-8")
    assert ends(JOBS) == ends(file) == ends(pd.read_csv(file)) == [100, 150, 160]


def test_an_index_with_the_name_of_a_column_counts_as_one() -> None:
    assert ends(JOBS.set_index("job_id")) == [100, 150, 160]


@pytest.mark.parametrize("zone", [None, "UTC", "Asia/Seoul"])
def test_dates_and_timedeltas_are_seconds(zone: str | None) -> None:
    began = pd.Timestamp("2026-03-01 12:00:00.25", tz=zone)
    dated = JOBS.assign(
        submit_time=began + pd.to_timedelta(JOBS["submit_time"], unit="s"),
        duration=pd.to_timedelta(JOBS["duration"], unit="s"),
    )
    assert ends(dated) == [100, 150, 160]


def test_dates_count_from_the_first_submission_as_those_of_a_file() -> None:
    began = pd.Timestamp("2026-03-01 12:00:00")
    dated = JOBS.assign(submit_time=began + pd.to_timedelta([10, 0, 3], unit="s"))
    jobs = simulate(dated, "1x4", "fifo", placement="count").jobs
    assert sorted(jobs["submit_time"]) == [0, 3, 10]


def test_durations_of_logs_are_read_as_text() -> None:
    durations = ["00:01:40", "0-00:00:50", "10"]
    assert ends(JOBS.assign(duration=durations)) == [100, 150, 160]
    with pytest.raises(BadInput, match="row 2: duration is 'long', which is not a number"):
        ends(JOBS.assign(duration=["00:01:40", "50", "long"]))


def test_counts_that_pandas_made_floats_are_counts() -> None:
    assert ends(JOBS.astype({"num_gpus": float})) == [100, 150, 160]


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ({"num_gpus": [2, "x", 1]}, "trace: row 1: num_gpus is 'x', which is not a number"),
        ({"duration": [100, -1, None]}, "and 1 more bad row: unparsable duration 1 (row 2)"),
        ({"submit_time": [0, None, 10]}, "trace: row 1: submit_time is empty"),
    ],
)
def test_a_bad_row_of_a_frame_is_named_by_its_index(
    change: dict[str, list[Any]], complaint: str
) -> None:
    with pytest.raises(BadInput) as raised:
        ends(JOBS.assign(**change))
    assert complaint in str(raised.value)
    assert "--" not in str(raised.value)


def test_rows_are_named_by_their_own_labels() -> None:
    with pytest.raises(BadInput, match="trace: row 'second': the job requests 0 GPUs"):
        ends(JOBS.assign(num_gpus=[1, 0, 0]).set_index(pd.Index(["first", "second", "third"])))


def test_rows_with_the_same_label_are_named_by_position_too() -> None:
    with pytest.raises(BadInput) as raised:
        ends(pd.concat([JOBS, JOBS]))
    assert str(raised.value).startswith(
        "trace: row 3 (label 0): job id 'j0' is already used in row 0 (label 0)"
    )


def test_a_missing_column_is_named_with_the_one_that_may_hold_it() -> None:
    with pytest.raises(BadInput, match="no column 'duration'; the DataFrame has job_id, submit"):
        ends(JOBS.drop(columns="duration"))
    with pytest.raises(BadInput, match="no column 'num_gpus'") as raised:
        ends(JOBS.rename(columns={"num_gpus": "GPUs Used"}))
    assert "jobs.rename(columns={'GPUs Used': 'num_gpus'})" in str(raised.value)
    with pytest.raises(BadInput, match="the DataFrame has no rows"):
        ends(JOBS.iloc[:0])


def test_columns_of_a_frame_without_jobs_are_listed_by_whole_names() -> None:
    names = [f"measured property {number}" for number in range(30)]
    with pytest.raises(BadInput) as raised:
        ends(pd.DataFrame(0.0, index=range(2), columns=names))
    assert "property 10, measured property 11, ... (30 in all); add it" in str(raised.value)


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        ({"trace": 5}, "trace=5: give a path, the name of a built-in workload"),
        ({"trace": "tiresias"}, "trace='tiresias': neither a file nor a built-in workload"),
        ({"trace": "nowhere.csv"}, "nowhere.csv: no such file"),
        ({"cluster": 15}, "cluster=15: give 'MACHINESxGPUS', for example '15x4', or the path"),
        ({"cluster": "15"}, "cluster=15: write MACHINESxGPUS"),
        ({"cluster": pd.DataFrame({"gpus": [2]})}, "cluster=   gpus 0     2: give 'MACHINESxGPUS'"),
        (
            {"clutser": "1x4"},
            "unknown parameter of tiresias-las 'clutser'; did you mean 'cluster'?",
        ),
        ({"seeds": 3}, "unknown parameter of tiresias-las 'seeds'; did you mean 'seed'?"),
        ({"cluster": "nowhere.csv"}, "cluster='nowhere.csv': cannot be read"),
        ({"seed": -1}, "seed=-1: give a whole number of at least 0"),
        ({"seed": 1.5}, "seed=1.5: give a whole number"),
        ({"seed": True}, "seed=True: give a whole number"),
        ({"seed": [1, 1]}, "seed=[1, 1]: give a whole number of at least 0, or different ones"),
        ({"seed": []}, "seed=[]: give a whole number"),
        ({"processes": 0}, "processes=0: must be a whole number of at least 1"),
        ({"machine_events": 3}, "machine_events=3: give the path of a CSV file"),
        ({"machine_events": "nowhere.csv"}, "machine_events='nowhere.csv': cannot be read"),
        ({"cluster": "1x1"}, "job j0 needs 2 GPUs"),
        ({"placement": "counts"}, "unknown placement 'counts'; did you mean 'count'?"),
        ({"thresholds": "many"}, "thresholds=many: give numbers"),
    ],
)
def test_wrong_arguments_are_one_clear_error(arguments: dict[str, Any], complaint: str) -> None:
    with pytest.raises(BadInput) as raised:
        simulate(**{"trace": JOBS, "cluster": "1x2", **arguments})
    message = str(raised.value)
    assert complaint in message
    assert "--" not in message
    assert "\n" not in message
    assert len(message) < 500


def test_a_trace_is_loaded_from_a_path() -> None:
    with pytest.raises(BadInput, match="path=5: give the path of a log of jobs"):
        load_trace(5)  # type: ignore[arg-type]
    with pytest.raises(BadInput, match="path="):
        load_trace(JOBS)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "dates",
    [
        ["2026-03-01 12:00:00", "2026-03-01 12:00:00", "2026-03-01 12:00:10"],
        ["2026-03-01T12:00:00Z", "2026-03-01T13:00:00+01:00", "2026-03-01T12:00:10.0Z"],
        [pd.Timestamp(f"2026-03-01 12:00:{second:02}").to_pydatetime() for second in (0, 0, 10)],
    ],
)
def test_dates_as_text_count_from_the_first_submission(dates: list[Any]) -> None:
    frame = JOBS.assign(submit_time=pd.Series(dates, dtype="object"))
    assert ends(frame) == [100, 150, 160]
    assert ends(frame.assign(submit_time=pd.Series(dates, dtype="str"))) == [100, 150, 160]


def test_text_that_is_no_date_is_refused_with_its_row() -> None:
    dates = ["2026-03-01 12:00:00", "yesterday", "2026-03-01 12:00:10"]
    with pytest.raises(BadInput) as caught:
        ends(JOBS.assign(submit_time=dates).set_axis(["x", "y", "z"]))
    assert str(caught.value) == (
        "trace: row 'y': submit_time is 'yesterday', which is not a time like 2017-10-09 07:01:55; "
        "correct it"
    )
