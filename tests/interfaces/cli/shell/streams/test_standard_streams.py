"""Closed and full standard streams lose no result silently."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from soak_cases import others_in_soak

TRACE = "job_id,submit_time,duration,num_gpus\na,0,10,1\nb,0,10,1\n"
SIMULATE = "simulate --trace t.csv --cluster 1x2 --policy fifo,srtf --out results"
IN_ONE_PROCESS = f"{SIMULATE} --jobs 1"
DESCRIBE = "trace describe t.csv"
MISSING = "trace describe missing.csv"
SOAK = pytest.mark.soak
WITHOUT_DEV_FULL = not Path("/dev/full").exists()
pytestmark = pytest.mark.skipif(WITHOUT_DEV_FULL, reason="needs /dev/full")


def motet(folder: Path, command: str, streams: str) -> subprocess.CompletedProcess[str]:
    (folder / "t.csv").write_text(TRACE)
    line = f"'{sys.executable}' -m motet.interfaces.cli {command} {streams}"
    return subprocess.run(
        ["/bin/sh", "-c", line], cwd=folder, capture_output=True, text=True, check=False
    )


@pytest.mark.parametrize(
    "streams", others_in_soak([">&-", ">/dev/full", "<&- >&-"], [">/dev/full"])
)
def test_a_result_that_stdout_cannot_take_is_an_error(tmp_path: Path, streams: str) -> None:
    done = motet(tmp_path, DESCRIBE, streams)
    assert done.returncode == 1
    assert done.stderr.startswith("motet: error: cannot write to standard output (")
    assert done.stderr.count("\n") == 1


@pytest.mark.soak
@pytest.mark.parametrize("streams", others_in_soak(["2>&-", "2>/dev/full"], ["2>&-"]))
def test_a_result_on_stdout_is_complete_without_stderr(tmp_path: Path, streams: str) -> None:
    expected = motet(tmp_path, DESCRIBE, "").stdout
    done = motet(tmp_path, DESCRIBE, streams)
    assert (done.returncode, done.stdout, done.stderr) == (0, expected, "")
    assert expected.count("\n") > 3


@pytest.mark.parametrize(
    ("command", "streams", "code"),
    [
        pytest.param(IN_ONE_PROCESS, ">&-", 1, marks=SOAK),
        pytest.param(IN_ONE_PROCESS, "2>&-", 0, marks=SOAK),
        pytest.param(IN_ONE_PROCESS, ">/dev/full", 1, marks=SOAK),
        pytest.param(IN_ONE_PROCESS, "2>/dev/full", 0, marks=SOAK),
        pytest.param(IN_ONE_PROCESS, "<&- >&- 2>&-", 1, marks=SOAK),
        pytest.param(SIMULATE, "<&- >&- 2>&-", 1, marks=SOAK),
    ],
)
def test_files_are_written_whatever_the_streams_are(
    tmp_path: Path, command: str, streams: str, code: int
) -> None:
    assert motet(tmp_path, command, streams).returncode == code
    for name in ("fifo", "srtf"):
        assert (tmp_path / "results" / name / "jobs.csv").read_text().count("\n") == 3
    assert (tmp_path / "results" / "summary.json").stat().st_size > 100


@pytest.mark.soak
@pytest.mark.parametrize(
    "streams",
    others_in_soak(["2>&-", ">&- 2>&-", "", ">&-", "2>/dev/full"], [">&- 2>&-"]),
)
def test_an_error_keeps_its_exit_code(tmp_path: Path, streams: str) -> None:
    assert motet(tmp_path, MISSING, streams).returncode == 2


@pytest.mark.soak
@pytest.mark.cluster
@pytest.mark.parametrize(
    ("streams", "code"),
    [
        pytest.param(">&-", 1, marks=SOAK),
        ("2>&-", 0),
        ("<&- >&- 2>&-", 1),
    ],
)
def test_a_model_is_trained_and_written_whatever_the_streams_are(
    tmp_path: Path, streams: str, code: int
) -> None:
    train = "train mlr --data iris --epochs 2 --out run"
    assert motet(tmp_path, train, streams).returncode == code
    assert (tmp_path / "run" / "model.npz").stat().st_size > 100
