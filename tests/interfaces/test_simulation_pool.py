"""Several runs at once give what one after the other gives."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from motet.domain.errors import BadInput, MotetError
from motet.interfaces.simulation_pool import run_all
from motet.interfaces.simulation_runs import SimulationTask
from motet.sim.experiment import Experiment
from small_traces import QUEUE_OF_THREE, scenario_of

SCENARIO = scenario_of(QUEUE_OF_THREE, 2)
RUNS = [SimulationTask(Experiment(policy), SCENARIO) for policy in ("fifo", "srtf", "tiresias-las")]

BROKEN_POLICY = """\
from dataclasses import dataclass
from typing import ClassVar

@dataclass(frozen=True)
class Broken:
    memory_columns: ClassVar[dict[str, int]] = {}

    def decide(self, snapshot):
        return snapshot.jobz

POLICIES = {"broken": Broken}
"""


def test_processes_change_nothing_but_the_time_that_it_takes(tmp_path: Path) -> None:
    mine = tmp_path / "mine.py"
    mine.write_text("from motet.policies.fifo import Fifo\nPOLICIES = {'my-fifo': Fifo}\n")
    runs = [*RUNS, SimulationTask(Experiment(str(mine)), SCENARIO)]
    reports: list[tuple[int, int]] = []
    alone = run_all(runs, processes=1)
    together = run_all(runs, 2, lambda *report: reports.append(report))

    assert dict(reports) == dict.fromkeys(range(4), 3)
    assert [run.policy for run in together] == ["fifo", "srtf", "tiresias-las", "my-fifo"]
    np.testing.assert_array_equal(together[3].outcome.jct_us, together[0].outcome.jct_us)
    for one, other in zip(alone, together, strict=True):
        assert list(one.job_rows()) == list(other.job_rows())
        own = {"wall_s": 0, "compile_s": 0}
        assert {**one.summary, **own} == {**other.summary, **own}


def test_progress_ends_with_all_jobs_finished() -> None:
    reports: list[tuple[int, int]] = []
    run_all(RUNS[:2], 1, lambda *report: reports.append(report))

    assert dict(reports) == {0: 3, 1: 3}


@pytest.mark.parametrize("processes", [1, 2])
def test_the_first_failure_ends_all(processes: int) -> None:
    too_small = scenario_of(QUEUE_OF_THREE, 1)
    runs = [
        SimulationTask(Experiment("fifo"), too_small),
        SimulationTask(Experiment("srtf"), too_small),
    ]

    with pytest.raises(BadInput, match="j0 needs 2 GPUs, the cluster has 1"):
        run_all(runs, processes)


@pytest.mark.parametrize("processes", [1, pytest.param(2, marks=pytest.mark.soak)])
def test_an_error_in_a_policy_of_ones_own_names_its_line(tmp_path: Path, processes: int) -> None:
    mine = tmp_path / "mine.py"
    mine.write_text(BROKEN_POLICY)

    with pytest.raises(MotetError, match=r"mine.py:9 in decide: AttributeError: .*'jobz'"):
        run_all([SimulationTask(Experiment(str(mine)), SCENARIO), RUNS[0]], processes)
