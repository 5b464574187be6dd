"""The last screen of `motet demo`: results beside the references, and samples of the models."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rich.console import Group, JustifyMethod, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from motet.interfaces.cli.demo.training.preparation import PreparedJob
from motet.interfaces.cli.demo.training.references import Comparison
from motet.interfaces.cli.demo.training.samples import sample_panel
from motet.report.rendering.fitting_table import result_table
from motet.report.rendering.palette import QUIET_STYLE
from motet.report.rendering.quantities import bytes_text, duration_text, number_text
from motet.report.training.document import TrainDocument

COLUMNS: tuple[tuple[str, JustifyMethod], ...] = (
    ("model", "left"),
    ("data", "left"),
    ("loss", "right"),
    ("measure", "left"),
    ("motet", "right"),
    ("alone", "right"),
    ("library", "right"),
    ("start-up", "right"),
    ("epochs", "right"),
    ("moved", "right"),
)

CAPTION = "alone: the same model in one process; library: scikit-learn's own algorithm"


@dataclass(frozen=True)
class DemoResult:
    """A finished job with its document and its comparison.

    `startup_s`: from the start of the command to the job's result, without its epochs.
    """

    prepared: PreparedJob
    document: TrainDocument
    comparison: Comparison
    colour: str
    startup_s: float


def demo_summary(results: Sequence[DemoResult]) -> RenderableType:
    """The table, then the samples in two columns."""
    return Group(Padding(results_table(results), (1, 0, 0, 1)), _samples(results))


def results_table(results: Sequence[DemoResult]) -> Table:
    """A row per job."""
    table = result_table()
    table.caption = CAPTION
    table.caption_justify, table.caption_style = "left", QUIET_STYLE
    for heading, justify in COLUMNS:
        table.add_column(heading, justify=justify, no_wrap=True)
    for result in results:
        table.add_row(*_row(result))
    return table


def _row(result: DemoResult) -> list[Text | str]:
    document, comparison = result.document, result.comparison
    return [
        Text.assemble(("● ", result.colour), (document.app, "bold")),
        document.data.partition(":")[0],
        number_text(document.final_loss),
        comparison.measure,
        Text(number_text(comparison.motet), style="bold"),
        number_text(comparison.alone),
        "-" if comparison.reference is None else number_text(comparison.reference),
        duration_text(result.startup_s),
        duration_text(sum(document.epoch_s)),
        bytes_text(document.bytes_pulled + document.bytes_pushed),
    ]


def _samples(results: Sequence[DemoResult]) -> RenderableType:
    grid = Table.grid(expand=True)
    grid.add_column(ratio=1)
    grid.add_column(ratio=1)
    panels = [sample_panel(result.prepared, result.colour) for result in results]
    for left in range(0, len(panels), 2):
        grid.add_row(*panels[left : left + 2])
    return grid
