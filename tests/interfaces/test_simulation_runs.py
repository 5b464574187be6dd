"""One simulation in this process."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from numba import njit

from motet.domain.errors import JobFailed
from motet.interfaces.simulation_runs import run_one, run_output
from motet.sim.experiment import Experiment
from motet.sim.replay.outcome import Outcome
from small_traces import QUEUE_OF_THREE, result_of, scenario_of

FIFO = Experiment("fifo", {"placement": "count"})


def test_progress_ends_with_all_jobs() -> None:
    reported: list[int] = []
    run_one(FIFO, scenario_of(QUEUE_OF_THREE, 2), reported.append)

    assert reported[-1] == 3
    assert reported == sorted(reported)


def test_compilation_is_a_part_of_the_time_once(monkeypatch: pytest.MonkeyPatch) -> None:
    twice = njit(lambda number: 2 * number)
    run = Experiment.run

    def running(self: Experiment, *arguments: Any) -> Outcome:
        assert twice(1) == 2
        return run(self, *arguments)

    experiment, scenario = Experiment("fifo"), scenario_of(QUEUE_OF_THREE, 2)
    run_one(experiment, scenario)
    monkeypatch.setattr(Experiment, "run", running)
    first, second = (run_one(experiment, scenario) for _ in range(2))
    assert 0 < first.compile_s <= first.wall_s
    assert second.compile_s == 0


def test_a_swept_experiment_gives_its_parameter_and_value() -> None:
    experiment = Experiment("tiresias-las", {"promote_knob": "8"}, swept="promote_knob")
    result = run_one(experiment, scenario_of(QUEUE_OF_THREE, 2))

    assert result.summary["sweep"] == {"parameter": "promote_knob", "value": "8"}
    assert "sweep" not in result_of(QUEUE_OF_THREE).summary


def test_the_decision_log_has_an_entry_per_event(tmp_path: Path) -> None:
    log = tmp_path / "decisions.jsonl"
    run_one(FIFO, scenario_of(QUEUE_OF_THREE, 2), log=log)

    assert log.read_text().count('"event": "start"') == 3
    assert log.read_text().count('"event": "finish"') == 3


def test_a_log_that_cannot_be_written_names_its_file(tmp_path: Path) -> None:
    with pytest.raises(
        JobFailed, match=r"the decision log cannot be written .*; remove the cause, or .*TMPDIR"
    ):
        run_one(FIFO, scenario_of(QUEUE_OF_THREE, 2), log=tmp_path / "missing" / "log")


def test_the_output_of_rigid_jobs_has_no_tables_of_training() -> None:
    output = run_output("fifo", result_of(QUEUE_OF_THREE), {"seed": 0})

    assert (output.training_rows, output.quality_rows, output.decisions) == (None, None, None)
    assert [row[0] for row in output.job_rows] == ["j0", "j1", "j2"]
    assert output.document["jobs"] == 3
