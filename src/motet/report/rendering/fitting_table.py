"""Tables that leave out columns instead of truncating numbers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rich import box
from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.measure import Measurement
from rich.table import Table
from rich.text import Text

from motet.report.rendering.palette import QUIET_STYLE

UNLIMITED = 10_000


@dataclass(frozen=True)
class FittingTable:
    """Shows the first of several alternatives that fits the width; `choices`: widest first."""

    choices: Sequence[RenderableType]

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Render the first alternative that fits, or the last one if none does."""
        fitting = (each for each in self.choices if _width(console, each) <= options.max_width)
        yield next(fitting, self.choices[-1])

    def __rich_measure__(self, console: Console, options: ConsoleOptions) -> Measurement:
        """From the width of the last alternative to that of the first."""
        return Measurement(_width(console, self.choices[-1]), _width(console, self.choices[0]))


@dataclass(frozen=True)
class ExplainedTable:
    """A table with a legend below it; the legend is as wide as the table."""

    table: Table
    legend: Text

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Render the table, a blank line and the legend."""
        yield self.table
        yield ""
        yield self.legend

    def __rich_measure__(self, console: Console, options: ConsoleOptions) -> Measurement:
        """The width of the table; lines of the legend wrap."""
        return Measurement.get(console, options, self.table)


def _width(console: Console, shown: RenderableType) -> int:
    return Measurement.get(console, console.options.update(max_width=UNLIMITED), shown).maximum


def result_table() -> Table:
    """A table without frame, with grey headings."""
    return Table(
        box=box.SIMPLE_HEAD,
        padding=(0, 1),
        collapse_padding=True,
        show_edge=False,
        pad_edge=False,
        header_style=QUIET_STYLE,
    )
