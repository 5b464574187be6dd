"""`motet simulate --machine-events FILE`, and traces in which users cancel and suspend jobs."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest

from marked_process import run_motet
from motet import simulate

JOBS = """job_id,submit_time,num_gpus,duration,cancel_time,suspend_time,resume_time
a,0,4,1000,,,
b,0,4,1000,600,,
c,10,4,500,,700,900
"""
EVENTS = "time,machine,event\n100,m0,drains\n400,m0,leaves\n1500,m0,comes\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "jobs.csv").write_text(JOBS, encoding="utf-8")
    (tmp_path / "machines.csv").write_text(EVENTS, encoding="utf-8")
    return tmp_path


def test_explain_shows_machine_events_and_interventions(folder: Path) -> None:
    out = folder / "out"
    ended = run_motet(
        *("simulate", "--trace", folder / "jobs.csv", "--cluster", "2x4", "--policy", "fifo"),
        *("--machine-events", folder / "machines.csv", "--log-decisions", "--out", out),
        *("--set", "preemption_cost=0"),
    )
    assert ended.code == 0, ended.err
    assert "1 of 3 jobs did not finish: 1 cancelled" in ended.err
    with (out / "jobs.csv").open(newline="") as file:
        found = {row["job_id"]: (row["state"], row["end_time"]) for row in csv.DictReader(file)}
    assert found == {"a": ("finished", "1200"), "b": ("cancelled", ""), "c": ("finished", "1700")}
    said = {}
    for job in "abc":
        explained = run_motet("explain", "--run", out, job, "--json")
        assert explained.code == 0, explained.err
        chapters = json.loads(explained.out)["chapters"]
        said[job] = {each["event"]: each["sentence"] for each in chapters}
    assert said["a"]["evict"] == "lost m0 (4 GPUs): a machine left the cluster"
    assert said["b"]["cancel"] == "cancelled by its user"
    assert said["c"]["suspend"] == "waited 3 min 20 s: suspended by its user"
    assert "unsuspend" in said["c"]


def test_from_python_it_is_the_same(folder: Path) -> None:
    jobs, events = folder / "jobs.csv", folder / "machines.csv"
    result = simulate(jobs, "2x4", "fifo", machine_events=events)
    assert result.jobs["state"].tolist() == ["finished", "cancelled", "finished"]


def test_a_machine_that_is_not_there_is_a_usage_error(folder: Path) -> None:
    (folder / "machines.csv").write_text(EVENTS + "5,m9,leaves\n", encoding="utf-8")
    ended = run_motet(
        *("simulate", "--trace", folder / "jobs.csv", "--cluster", "2x4", "--policy", "fifo"),
        *("--machine-events", folder / "machines.csv"),
    )
    assert ended.code == 2
    assert "machines.csv:5: the cluster has no machine 'm9'" in ended.err
