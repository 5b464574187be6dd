"""What a run leaves for people: exact rows and a table."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from motet.domain.cluster import ClusterSpec
from motet.domain.units import exact_seconds, microseconds
from motet.interfaces.simulation_runs import Scenario, run_one
from motet.sim.experiment import Experiment
from motet.sim.workload.workload import Workload
from small_traces import QUEUE_OF_THREE, result_of


def test_a_row_per_job_with_exact_seconds() -> None:
    workload = Workload.of(
        ["b", "a"],
        [microseconds("1.000001"), microseconds("0.1")],
        [microseconds("2.5"), microseconds("0.3")],
        [1, 1],
        users=["ann", "bob"],
        queues=["vc1", "vc2"],
    )
    scenario = Scenario(workload, "0" * 64, ClusterSpec.uniform(1, 1))
    result = run_one(Experiment("fifo", {"placement": "count"}), scenario)

    assert list(result.job_rows()) == [
        ("a", "bob", "vc2", 1, "0.1", "0.1", "0.4", "0.3", "0", 0, 0, 0, "finished"),
        ("b", "ann", "vc1", 1, "1.000001", "1.000001", "3.500001", "2.5", "0", 0, 0, 0, "finished"),
    ]


GIVES_UP = """\
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from motet.domain.decision import Decision, Reasons
from motet.domain.wait import Wait

@dataclass(frozen=True)
class GivesUp:
    memory_columns: ClassVar[dict[str, int]] = {}

    def decide(self, snapshot):
        gpus, nothing = snapshot.jobs.gpus, np.zeros_like(snapshot.jobs.gpus)
        if snapshot.now_us < 10_000_000:
            running = np.where(snapshot.jobs.number == 0, gpus, 0)
            reasons = Reasons(np.where(running, 0, int(Wait.ORDER)), nothing, nothing)
            return Decision(running, reasons, recheck_at_us=10_000_000)
        return Decision(nothing, Reasons(nothing + int(Wait.ORDER), nothing, nothing))

POLICIES = {"gives-up": GivesUp}
"""


def test_of_jobs_that_never_finish_what_is_known_is_told(tmp_path: Path) -> None:
    mine = tmp_path / "mine.py"
    mine.write_text(GIVES_UP)
    result = result_of([(0, 50, 1), (0, 50, 1)], policy=str(mine))

    assert list(result.job_rows()) == [
        ("j0", "", "default", 1, "0", "0", "", "", "", 1, 0, 0, "waiting"),
        ("j1", "", "default", 1, "0", "", "", "", "", 0, 0, 0, "waiting"),
    ]
    assert result.jobs["start_time"].tolist() == [0, pytest.approx(np.nan, nan_ok=True)]
    assert result.jobs["queueing_delay"].isna().all()
    assert result.summary["delay_causes_s"] == dict.fromkeys(result.summary["delay_causes_s"], 0)
    assert list(result.placement_rows()) == [("j0", "m0", 1, "0", "10", "")]
    assert list(result.fairness_rows()) == []


@given(st.integers(-(10**15), 10**15))
def test_exact_seconds_read_back_are_the_same_time(time_us: int) -> None:
    assert microseconds(exact_seconds(time_us)) == time_us


def test_jobs_are_a_table_of_numbers() -> None:
    jobs = result_of(QUEUE_OF_THREE).jobs

    assert jobs["job_id"].tolist() == ["j0", "j1", "j2"]
    assert jobs["end_time"].tolist() == [100.0, 150.0, 160.0]
    assert jobs["queueing_delay"].mean() == pytest.approx(80)
    assert jobs["state"].tolist() == ["finished"] * 3
