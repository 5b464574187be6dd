"""The folder that `--out` names."""

from __future__ import annotations

import csv
import errno
import json
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from motet.apps import load_model
from motet.datasets import open_dataset
from motet.datasets.facts import DatasetFacts
from motet.domain.errors import BadInput, JobFailed
from motet.report.training.document import TrainDocument
from motet.report.training.folder import RunFolder
from motet.report.training.loss_plot import PlottedLoss
from motet.report.training.record import RunRecord
from motet.runtime.controller.job_plan import plan_job
from motet.runtime.core.options import TrainOptions
from sample_result import EPOCHS, lasso_result

PNG = b"\x89PNG\r\n"


def test_loss_csv_has_a_row_per_epoch_from_1_with_metrics_times_and_bytes(tmp_path: Path) -> None:
    result = lasso_result()
    RunFolder(tmp_path).write_losses(result.epochs)

    with (tmp_path / "loss.csv").open() as file:
        rows = list(csv.DictReader(file))

    assert [int(row["epoch"]) for row in rows] == list(range(1, EPOCHS + 1))
    assert [float(row["loss"]) for row in rows] == result.losses
    assert list(rows[0]) == [
        "epoch",
        "loss",
        "nonzeros",
        "objective",
        "r2",
        "rmse",
        "wall_s",
        "comp_s",
        "comm_s",
        "wait_s",
        "load_s",
        "room_s",
        "model_spill_bytes",
        "model_spill_s",
        "remote_bytes",
        "remote_read_bytes",
        "backup_read_bytes",
        "bytes_pulled",
        "bytes_pushed",
        "instances_per_s",
    ]


def test_a_metric_that_a_spreadsheet_would_run_is_quoted(tmp_path: Path) -> None:
    report = replace(lasso_result().epochs[0], metrics={'=HYPERLINK("x")': 1.0})
    RunFolder(tmp_path).write_losses([report])
    heading = (tmp_path / "loss.csv").read_text().partition("\n")[0]
    assert "'=HYPERLINK" in heading


def test_the_model_can_be_loaded_from_the_folder_without_a_cluster(tmp_path: Path) -> None:
    app = lasso_result().app
    RunFolder(tmp_path).write_model(app)

    assert load_model(tmp_path / "model.npz").coef_.tolist() == app.coef_.tolist()


def test_the_plot_is_a_small_png(tmp_path: Path) -> None:
    RunFolder(tmp_path).write_plot([PlottedLoss("lasso on diabetes", "442 rows", [3.0, 2.0, 1.5])])

    content = (tmp_path / "loss.png").read_bytes()
    assert content.startswith(PNG)
    assert len(content) < 200_000


def test_run_json_holds_the_document_and_what_repeats_the_run(tmp_path: Path) -> None:
    result = lasso_result()
    dataset = open_dataset("diabetes")
    options = TrainOptions(machines=2, workers=2, servers=1, epochs=EPOCHS, seed=7)
    document = TrainDocument.of(result, "diabetes", 2, 1)
    started = datetime(2026, 11, 21, 5, 30, tzinfo=UTC)
    facts = DatasetFacts.of(dataset, with_sha256=True)
    plan = plan_job(result.app, result.app.prepare(dataset, 7), options)
    record = RunRecord.of("finished", ["motet", "train"], started, plan, options, facts)
    RunFolder(tmp_path).write_json("run.json", record.joined_to(document))

    written = json.loads((tmp_path / "run.json").read_text())

    assert written["model_sha256"] == result.model_sha256
    assert (written["command"], written["seed"]) == (["motet", "train"], 7)
    assert (written["state"], written["instances"], written["mini_batches"]) == ("finished", 442, 1)
    assert written["dataset"]["sha256"] == dataset.sha256
    assert written["parameters"]["l1"] == 0.1
    assert written["started_at"] == "2026-11-21T05:30:00+00:00"
    assert {"python", "motet", "numpy"} <= set(written["versions"])


def test_a_folder_that_cannot_be_written_is_refused_when_it_is_named(tmp_path: Path) -> None:
    occupied = tmp_path / "file"
    occupied.write_text("")

    with pytest.raises(BadInput, match="cannot write there"):
        RunFolder(occupied / "deeper")


def test_a_full_disk_names_the_file_that_is_missing(tmp_path: Path) -> None:
    def fill(path: Path) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    with pytest.raises(JobFailed, match=r"model.npz: cannot be written \(No space left"):
        RunFolder(tmp_path).write("model.npz", fill)


def test_a_failed_write_leaves_the_old_file_and_no_half_one(tmp_path: Path) -> None:
    folder = RunFolder(tmp_path)
    folder.write_text("notes.txt", "old")

    def fail(path: Path) -> None:
        path.write_text("half")
        raise RuntimeError("disk full")

    with pytest.raises(RuntimeError):
        folder.write("notes.txt", fail)

    assert {path.name: path.read_text() for path in tmp_path.iterdir()} == {"notes.txt": "old"}
