"""The folder of a training run: loss.csv, loss.png, model.npz, run.json, log.txt."""

from __future__ import annotations

import csv
import io
import os
import shutil
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import IO

from motet.apps.estimator import Estimator
from motet.apps.model_file import MODEL_NAME
from motet.domain.errors import JobFailed, remedy_of_write
from motet.report.rendering.csv_cells import inert_cell
from motet.report.rendering.folder import Folder
from motet.report.training.auto_document import (
    DECISION_COLUMNS,
    EPOCH_COLUMNS,
    decision_rows,
    epoch_rows,
)
from motet.report.training.auto_figure import save_auto_figure
from motet.report.training.loss_plot import PlottedLoss, save_loss_plot
from motet.runtime.autotune.history import TuningHistory
from motet.runtime.core.reporting.reports import EpochReport

LOSSES, PLOT, MODEL, RECORD, LOG = "loss.csv", "loss.png", MODEL_NAME, "run.json", "log.txt"
AUTO_EPOCHS, AUTO_DECISIONS, AUTO_PLOT = "auto-epochs.csv", "auto-decisions.csv", "auto.png"
CHECKPOINTS = "checkpoints"
LOSS_COLUMNS = (
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
)


class RunFolder(Folder):
    """`--out DIR` of a training run."""

    after_remedy = "go on with --resume"

    @property
    def log_file(self) -> Path:
        """The log file of the run."""
        return self.path / LOG

    @property
    def checkpoint_folder(self) -> Path:
        """The folder of the checkpoints for `--resume`."""
        return self.path / CHECKPOINTS

    def clear(self) -> None:
        """Remove the files of an earlier run, and nothing else."""
        for name in (LOSSES, PLOT, MODEL, RECORD, LOG, AUTO_EPOCHS, AUTO_DECISIONS, AUTO_PLOT):
            (self.path / name).unlink(missing_ok=True)
        shutil.rmtree(self.checkpoint_folder, ignore_errors=True)

    def write_losses(self, reports: Sequence[EpochReport]) -> None:
        """`loss.csv`: a row per epoch (from 1) with its loss, metrics, times and bytes."""
        metrics = sorted({name for report in reports for name in report.metrics})
        with_header: list[list[object]] = [["epoch", "loss", *metrics, *LOSS_COLUMNS]]
        with_header += [_loss_row(report, metrics) for report in reports]
        self.write(LOSSES, lambda path: _write_csv(path, with_header))

    def append_loss(self, report: EpochReport) -> None:
        """A further row of `loss.csv`; all epochs have the same metrics. Raises JobFailed."""
        try:
            with (self.path / LOSSES).open("a", newline="", encoding="utf-8") as file:
                _write_lines(file, [_loss_row(report, sorted(report.metrics))])
        except OSError as error:
            raise JobFailed(
                f"{self.path / LOSSES}: cannot be written ({error.strerror or error}); "
                f"{remedy_of_write(error)} and {self.after_remedy}"
            ) from error

    def write_plot(self, curves: Sequence[PlottedLoss], name: str = PLOT) -> None:
        """`loss.png`."""
        self.write(name, lambda path: save_loss_plot(curves, path))

    def write_tuning_history(self, history: TuningHistory, title: str, subtitle: str) -> None:
        """The tuning history of a job with `--auto`: two CSV files and `auto.png`."""
        for name, table in tuning_tables(history).items():
            self.write(name, lambda path, table=table: _write_csv(path, table))  # type: ignore[misc]
        self.write(AUTO_PLOT, lambda path: save_auto_figure(history, title, subtitle, path))

    def write_model(self, app: Estimator) -> None:
        """`model.npz`: the fitted model, which `motet.apps` loads without a cluster."""
        self.write(MODEL, app.save)


def tuning_tables(history: TuningHistory) -> dict[str, list[Sequence[object]]]:
    """Names and lines of the CSV files of a job with `--auto`."""
    return {
        AUTO_EPOCHS: [EPOCH_COLUMNS, *epoch_rows(history)],
        AUTO_DECISIONS: [DECISION_COLUMNS, *decision_rows(history)],
    }


def csv_text(lines: Iterable[Sequence[object]]) -> str:
    """The content of a CSV file."""
    file = io.StringIO()
    _write_lines(file, lines)
    return file.getvalue()


def kept_results(path: Path) -> list[str]:
    """Names of the results of a run in a folder, which need not exist."""
    return [name for name in (RECORD, MODEL) if os.path.exists(path / name)]


def is_finished(path: Path) -> bool:
    """Whether a folder holds the model of a run that ended."""
    return os.path.exists(path / MODEL)


def kept_checkpoints(path: Path) -> list[str]:
    """Names of the checkpoints of a run in a folder, oldest first."""
    return sorted(str(found.relative_to(path)) for found in path.glob(f"{CHECKPOINTS}/epoch-*"))


def has_begun(path: Path) -> bool:
    """Whether a run was started in a folder, even if it wrote neither results nor checkpoints."""
    return os.path.exists(path / LOG)


def _loss_row(report: EpochReport, metrics: Sequence[str]) -> list[object]:
    values = [report.metrics.get(name, "") for name in metrics]
    costs = [getattr(report, name) for name in LOSS_COLUMNS]
    return [report.epoch, report.loss, *values, *costs]


def _write_csv(path: Path, lines: Iterable[Sequence[object]]) -> None:
    with path.open("w", newline="", encoding="utf-8") as file:
        _write_lines(file, lines)


def _write_lines(file: IO[str], lines: Iterable[Sequence[object]]) -> None:
    rows = ([inert_cell(cell) for cell in line] for line in lines)
    csv.writer(file, lineterminator="\n").writerows(rows)
