"""What an interruption would write, at every moment of a run."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path

import pytest

from motet.apps.lasso import Lasso
from motet.cruise.decision import TuningDecision, TuningReason
from motet.datasets import open_dataset
from motet.datasets.facts import DatasetFacts
from motet.domain.reconfiguration import RoleCounts
from motet.interfaces.cli.train.interrupted_run import InterruptedRun
from motet.interfaces.cli.train.request import TrainRequest
from motet.report.training.folder import RunFolder
from motet.report.training.record import RunRecord
from motet.runtime.autotune.history import TuningHistory, TuningRecord
from motet.runtime.controller.job_plan import plan_job
from motet.runtime.core.options import TrainOptions
from motet.runtime.core.reporting.reports import EpochReport, ReconfigurationReport, Recovery

BEFORE, AFTER = RoleCounts(1, 2), RoleCounts(2, 1)
CHANGE = ReconfigurationReport(1, BEFORE, AFTER, None, 0.5, 2, 1000, 0.1)


class Watched:
    """A run whose clock and prepared files a test sees."""

    def __init__(self, path: Path) -> None:
        self.path, self.now_s, self.fails = path, 100.0, False
        self.files: Mapping[Path, str] = {}
        dataset = open_dataset("diabetes")
        app = Lasso()
        options = TrainOptions(machines=2, epochs=9, workers=2, servers=1, spent_s=7.0)
        training = TrainRequest(
            app,
            options,
            DatasetFacts.of(dataset, with_sha256=False),
            None,
            app.prepared(dataset, 0),
            None,
        )
        plan = plan_job(app, training.rows, options)
        record = RunRecord.of(
            "interrupted", ["motet"], datetime.now(UTC), plan, options, training.data
        )
        self.run = InterruptedRun(
            RunFolder(path), training, record, self._prepare, lambda: self.now_s
        )

    def _prepare(self, files: Mapping[Path, str]) -> None:
        if self.fails:
            raise OSError("no space left")
        self.files = files

    @property
    def document(self) -> dict[str, object]:
        found = json.loads(self.files[self.path / "run.json"])
        assert isinstance(found, dict)
        return found

    def epoch(self, number: int) -> None:
        self.run.epoch_done(
            EpochReport(number, 1 / (number + 1), {"objective": 2.0}, 1, 1, 1, 1, 1, 1, 1)
        )


@pytest.fixture
def watched(tmp_path: Path) -> Watched:
    return Watched(tmp_path)


def test_a_run_without_epochs_leaves_its_inputs_and_an_empty_document(watched: Watched) -> None:
    document = watched.document
    assert document["state"] == "interrupted"
    assert (document["app"], document["data"], document["workers"]) == ("lasso", "diabetes", 2)
    assert (document["loss"], document["final_loss"], document["wall_s"]) == ([], None, 7.0)
    assert {"model_sha256", "convergence", "auto"} & set(document) == set()


def test_losses_changes_and_recoveries_until_then_are_left(watched: Watched) -> None:
    for number in range(3):
        watched.epoch(number)
    watched.run.reconfigured(CHANGE)
    watched.run.recovering(Recovery(3, 2, "executor 1 died"))
    watched.now_s += 3600
    watched.run.batch_done(2, 0, 10)
    document = watched.document
    assert (document["loss"], document["epochs"]) == ([1.0, 0.5], 2)
    assert document["metrics"] == {"objective": 2.0}
    assert document["wall_s"] == 3607.0
    assert document["recoveries"] == [
        {"at_epoch": 3, "resumed_from_epoch": 2, "cause": "executor 1 died"}
    ]
    (change,) = document["reconfigurations"]  # type: ignore[misc]
    assert (change["from"], change["to"]) == (vars(BEFORE), vars(AFTER))  # type: ignore[has-type]


def test_many_short_epochs_are_not_written_one_by_one(watched: Watched) -> None:
    watched.epoch(0)
    assert watched.document["epochs"] == 0
    watched.now_s += 1.0
    watched.epoch(1)
    assert watched.document["epochs"] == 2


def test_a_full_temporary_folder_does_not_end_the_run(watched: Watched) -> None:
    watched.now_s += 1.0
    watched.fails = True
    watched.epoch(0)
    watched.fails, watched.now_s = False, watched.now_s + 1.0
    watched.epoch(1)
    assert watched.document["epochs"] == 2


def test_the_autotuner_s_decisions_are_left_as_tables_too(watched: Watched, tmp_path: Path) -> None:
    history = TuningHistory()
    watched.run.tuned(history)
    history.decisions.append(
        TuningRecord(1, 2.5, TuningDecision(TuningReason.GAIN, BEFORE, AFTER, 3, 2.0, 1.0, 0.5))
    )
    watched.now_s += 1.0
    watched.epoch(0)
    auto = watched.document["auto"]
    assert isinstance(auto, dict)
    assert [each["to"] for each in auto["decisions"]] == [vars(AFTER)]
    lines = watched.files[tmp_path / "auto-decisions.csv"].splitlines()
    assert lines[0].startswith("at_epoch,at_s,reason")
    assert lines[1].startswith("1,2.5,gain,3,1,2,2,1,2.0,1.0,0.5")
    assert watched.files[tmp_path / "auto-epochs.csv"].startswith("epoch,end_s,workers")


def test_a_failure_writes_what_an_interruption_would(watched: Watched) -> None:
    watched.epoch(0)
    watched.run.failed()
    document = json.loads((watched.path / "run.json").read_text())
    assert document["state"] == "failed"
    assert document["loss"] == [1.0]
    assert "model_sha256" not in document
