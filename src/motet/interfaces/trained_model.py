"""The result of `motet.train`: a fitted model with the course of its training."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING

from motet.apps.estimator import Estimator
from motet.report.rendering.html import html_figure, html_page, html_table
from motet.report.rendering.quantities import count_text, duration_text, number_text
from motet.report.training.document import TrainDocument
from motet.report.training.folder import LOSS_COLUMNS
from motet.report.training.loss_plot import PlottedLoss, loss_figure
from motet.runtime.core.reporting.reports import TrainResult

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from pandas import DataFrame


@dataclass(frozen=True, repr=False)
class TrainedModel:
    """A finished training.

    `model`: the fitted application. `result`: epochs, recoveries, reconfigurations. `document`: the
    fields of `motet train --json`.
    """

    model: Estimator
    result: TrainResult
    document: TrainDocument

    @property
    def metrics(self) -> dict[str, float]:
        """Metrics after the last epoch; those of `test` begin with `test_`."""
        return self.document.metrics

    @property
    def losses(self) -> DataFrame:
        """A row per epoch, numbered from 1, with the columns of loss.csv."""
        import pandas as pd

        rows = [
            {
                "epoch": report.epoch,
                "loss": report.loss,
                **report.metrics,
                **{name: getattr(report, name) for name in LOSS_COLUMNS},
            }
            for report in self.result.epochs
        ]
        return pd.DataFrame(rows).set_index("epoch")

    def plot_loss(self) -> Figure:
        """The loss after each epoch."""
        title = f"{self.document.app} on {self.document.data}"
        return loss_figure([PlottedLoss(title, self._shape(), self.result.losses)])

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the model to a file that `motet.load_model` reads."""
        self.model.save(path)

    def __repr__(self) -> str:
        loss = number_text(self.document.final_loss)
        return f"<{self.document.app} on {self.document.data}: loss {loss}, {self._shape()}>"

    def _repr_html_(self) -> str:
        """Metrics and the loss curve, for notebooks."""
        values = {"loss": self.document.final_loss, **self.metrics}
        table = html_table(("", ""), [(name, number_text(it)) for name, it in values.items()])
        heading = f"{self.document.app} on {self.document.data}: {self._shape()}"
        return html_page(heading, table, html_figure(self.plot_loss()))

    def _shape(self) -> str:
        """Epochs and their own time, without the start of the executors; roles."""
        document = self.document
        trained_s = sum(document.epoch_s)
        return (
            f"{count_text(document.epochs, 'epoch')} in {duration_text(trained_s)} with "
            f"{count_text(document.workers, 'worker')} and "
            f"{count_text(document.servers, 'server')}"
        )
