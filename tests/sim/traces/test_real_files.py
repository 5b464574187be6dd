"""Real traces: every row of every file."""

from __future__ import annotations

import csv
import gzip
import time
from collections.abc import Callable
from datetime import datetime
from pathlib import Path

import pytest

from motet.sim.traces import read_trace


@pytest.mark.parametrize(
    ("name", "format", "jobs"),
    [
        ("tiresias_60_job.csv", "tiresias", 60),
        pytest.param("philly.csv.gz", "philly", 82_247, marks=pytest.mark.soak),
        ("muri_trace1.csv", "muri", 1_494),
        ("muri_trace2.csv", "muri", 5_755),
        ("muri_trace3.csv", "muri", 992),
        ("muri_cluster_trace.csv", "muri", 400),
        ("gavel_msr_2869ce.trace", "gavel", 533),
    ],
)
def test_every_row_is_read(name: str, format: str, jobs: int, shared_traces: Path) -> None:
    trace = read_trace(shared_traces / name)

    assert (trace.format, len(trace.workload), trace.skipped) == (format, jobs, {})


@pytest.mark.soak
def test_philly_agrees_row_by_row_with_the_file(shared_traces: Path) -> None:
    jobs = read_trace(shared_traces / "philly.csv.gz").workload
    with gzip.open(shared_traces / "philly.csv.gz", "rt") as file:
        rows = list(csv.DictReader(file))
    times = [datetime.fromisoformat(row["timestamp"]) for row in rows]
    first = min(times)

    for number, submit_us, duration_us, gpus in zip(
        map(int, jobs.ids),
        jobs.submit_us.tolist(),
        jobs.duration_us.tolist(),
        jobs.gpus.tolist(),
        strict=True,
    ):
        row = rows[number]
        assert submit_us == int((times[number] - first).total_seconds()) * 1_000_000
        assert (duration_us, gpus) == (float(row["duration"]) * 1e6, int(row["num_gpus"]))


@pytest.mark.soak
def test_reading_philly_takes_a_small_multiple_of_the_csv_module(shared_traces: Path) -> None:
    """Six times, as measured: it is the checks, not a walk over all jobs for each job."""
    path = shared_traces / "philly.csv.gz"

    def cpu_s(read: Callable[[], object]) -> float:
        began_s = time.process_time()
        read()
        return time.process_time() - began_s

    def rows() -> list[dict[str, str]]:
        with gzip.open(path, "rt") as file:
            return list(csv.DictReader(file))

    assert min(cpu_s(lambda: read_trace(path)) / cpu_s(rows) for _ in range(2)) < 15
