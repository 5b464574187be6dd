"""`motet simulate` with elastic jobs, from a generated trace to its story."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import pytest

from marked_process import run_motet
from motet.report.cluster_run.columns import TRAINING_COLUMNS
from motet.report.cluster_run.quality import QUALITY_COLUMNS

JOBS, CORES = 12, "2x32"


@pytest.fixture(scope="module")
def trace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("elastic") / "jobs.csv"
    ended = run_motet("trace", "generate", path, "--mix", "slaq-160", "--jobs", JOBS)
    assert ended.code == 0, ended.err
    return path


@pytest.fixture(scope="module")
def out(trace: Path) -> Path:
    folder = trace.parent / "out"
    ended = run_motet(
        *("simulate", "--trace", trace, "--cluster", CORES, "--policy", "fair,fifo", "-q"),
        *("--jobs", "1"),
        *("--set", "rescale_cost=1", "--log-decisions", "--out", folder),
    )
    assert ended.code == 0, ended.err
    return folder


def runs_in(folder: Path) -> dict[str, Any]:
    document = json.loads((folder / "summary.json").read_text())
    return {run["policy"]: run for run in document["runs"]}


def test_a_fair_share_brings_losses_down_sooner_than_a_queue(out: Path) -> None:
    fair, fifo = (runs_in(out)[name] for name in ("fair", "fifo"))
    assert fair["finished"] == fifo["finished"] == JOBS
    assert fair["quality"]["rescales"] > 0
    assert fifo["quality"]["rescales"] == 0
    assert fair["quality"]["time_to_90_s"] < fifo["quality"]["time_to_90_s"]
    assert 0 < fair["quality"]["average_normalised_loss"] < 1
    assert fair["params"]["rescale_cost"] == "1"


def test_how_jobs_trained_is_in_a_file(out: Path) -> None:
    with (out / "fair" / "training.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert tuple(rows[0]) == TRAINING_COLUMNS
    last = {row["job_id"]: row for row in rows}
    first = {row["job_id"]: row for row in reversed(rows)}
    assert len(last) == JOBS
    for job, row in first.items():
        assert float(row["first_step"]) == 0
        assert float(last[job]["last_loss"]) < float(row["first_loss"])


def test_losses_and_gpu_shares_over_time_are_in_a_file(out: Path) -> None:
    with (out / "fair" / "quality.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    groups = [name for name in rows[0] if name.endswith("_gpus")]
    assert tuple(rows[0]) == QUALITY_COLUMNS
    assert len(groups) == 3
    assert float(rows[0]["average_normalised_loss"]) == 1
    assert rows[-1]["average_normalised_loss"] == ""
    assert all(sum(int(row[name]) for name in groups) <= 64 for row in rows)
    assert {"average_loss.png", "gpus_by_loss.png"} <= {path.name for path in out.iterdir()}


def test_explain_shows_resizes(out: Path) -> None:
    ended = run_motet("explain", "--run", out / "fair", "0", "--json")
    assert ended.code == 0, ended.err
    document = json.loads(ended.out)
    resized = [each for each in document["chapters"] if each["event"] == "resize"]
    assert document["totals"]["resizes"] == len(resized) > 0
    assert resized[0]["sentence"].startswith("ran ")
    first = resized[0]
    change = f"resized from {first['before']['workers']} workers to {first['workers']}, on m0"
    assert change in first["sentence"]
    assert first["before"]["workers"] != first["workers"]
    assert first["taken_by"][0]["job"] == "1"


def test_an_unknown_division_is_a_one_line_error(trace: Path) -> None:
    ended = run_motet(
        *("simulate", "--trace", trace, "--cluster", CORES, "--policy", "fair"),
        *("--set", "server_balance=mxnett"),
    )
    assert ended.code == 2
    assert "mxnett" in ended.err
    assert "mxnet" in ended.err.replace("mxnett", "")


def test_a_rescale_cost_that_cannot_be_is_one_line(trace: Path) -> None:
    ended = run_motet(
        *("simulate", "--trace", trace, "--cluster", CORES, "--policy", "fair"),
        *("--set", "rescale_cost=-1"),
    )
    assert ended.code == 2
    assert "rescale_cost=-1: give profile, preemption or seconds from 0 to" in ended.err


def test_a_trace_of_rigid_jobs_has_neither_quality_nor_training(tmp_path: Path) -> None:
    jobs = tmp_path / "jobs.csv"
    jobs.write_text("job_id,submit_time,num_gpus,duration\na,0,1,60\n", encoding="utf-8")
    out = tmp_path / "out"
    ended = run_motet(
        *("simulate", "--trace", jobs, "--cluster", "1x1", "--policy", "fair", "--out", out)
    )
    assert ended.code == 0, ended.err
    (run,) = json.loads((out / "summary.json").read_text())["runs"]
    assert "quality" not in run
    assert "rescale_cost" not in run["params"]
    assert not (out / "training.csv").exists()
    assert not (out / "quality.csv").exists()
