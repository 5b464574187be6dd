"""What a training continues from, checked before any process is started."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from motet.apps import load_application
from motet.datasets import open_dataset
from motet.domain.errors import Interrupted
from motet.interfaces.cli.screens.run_log import RunLog
from motet.interfaces.cli.screens.train import LineProgress
from motet.interfaces.cli.train.request import TrainFlags, check_request
from motet.report.training.folder import RunFolder
from motet.runtime.controller.job import Job
from motet.runtime.core.options import TrainOptions
from suspending_app import Suspension, suspending

DATA = "synthetic-ratings:users=100,items=40,density=0.3"


@pytest.fixture
def suspended(tmp_path: Path) -> Path:
    """A run that was suspended before its first epoch had ended."""
    app: Any = load_application("nmf")(rank=2, epochs=4, random_state=0)
    rows = app.prepare(open_dataset(DATA, kind="ratings"), 0)
    options = TrainOptions(machines=1, workers=1, servers=1, epochs=4)
    options = replace(options, checkpoint_dir=RunFolder(tmp_path).checkpoint_folder)
    suspension = Suspension(2)
    job = Job(suspending(app, suspension), rows, options, suspension.cluster(1))
    suspension.suspend = job.suspend
    with pytest.raises(Interrupted):
        job.run()
    return tmp_path


def test_a_run_without_a_whole_epoch_is_continued(suspended: Path) -> None:
    remarks: list[str] = []
    flags = TrainFlags("nmf", DATA, epochs=4, settings=("rank=2",), resume=True, out=suspended)
    progress = LineProgress(RunLog(None, echo_remark=remarks.append))

    request = check_request(flags, RunFolder(suspended), progress)

    assert request.options.tol > 0
    assert request.resumed is not None
    assert (request.resumed.epoch_count, request.resumed.reports) == (0, ())
    assert request.resumed.batches > 0
    assert remarks == []
