"""What a finished training leaves: the document, and the files of its folder."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from motet.interfaces.cli.train.request import TrainFlags, TrainRequest, more_metrics
from motet.report.rendering.palette import job_colour
from motet.report.rendering.quantities import count_text
from motet.report.training.document import TrainDocument
from motet.report.training.folder import RECORD, RunFolder
from motet.report.training.loss_plot import PlottedLoss
from motet.report.training.record import RunRecord
from motet.runtime.autotune.history import TuningHistory
from motet.runtime.core.reporting.reports import ReconfigurationReport, TrainResult

COLOUR = job_colour(0)


def training_document(
    flags: TrainFlags,
    training: TrainRequest,
    result: TrainResult,
    history: TuningHistory | None = None,
) -> TrainDocument:
    """The document of a finished run, with its metrics on held-out data."""
    return TrainDocument.of(
        result,
        data=flags.data,
        workers=training.options.workers,
        servers=training.options.servers,
        more_metrics=more_metrics(
            training.app,
            training.data,
            training.test,
            result,
            may_resume=flags.out is not None,
        ),
        history=history,
        earlier_s=0.0 if training.resumed is None else training.resumed.spent_s,
    )


def write_results(
    folder: RunFolder,
    training: TrainRequest,
    result: TrainResult,
    document: TrainDocument,
    record: RunRecord,
    on_model_written: Callable[[], None] = lambda: None,
) -> None:
    """Write `loss.csv`, `model.npz`, `run.json` and `loss.png`. Raises JobFailed."""
    folder.write_losses(result.epochs)
    folder.write_model(training.app)
    on_model_written()
    folder.write_json(RECORD, record.joined_to(document))
    marks = [_mark(report) for report in result.reconfigurations if not report.error]
    subtitle = f"{training.data.counts}; {role_counts_text(document.workers, document.servers)}"
    curve = PlottedLoss(title_of(document), subtitle, document.loss, COLOUR, marks=marks)
    folder.write_plot([curve])


def title_of(document: TrainDocument) -> str:
    """`mlr on digits`."""
    return f"{document.app} on {Path(document.data).name}"


def role_counts_text(workers: int, servers: int) -> str:
    """`2 workers, 1 server`."""
    return f"{count_text(workers, 'worker')}, {count_text(servers, 'server')}"


def _mark(report: ReconfigurationReport) -> tuple[float, str]:
    return float(report.at_epoch), f"{report.after.workers}w {report.after.servers}s"
