"""The sheet of a Gantt chart: axes with a row per machine, and the time span."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from motet.report.cluster_run.placements import Placements
from motet.report.rendering.figure_parts import WIDTH_IN, entitle, quieten

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MOST_MACHINES = 64
MACHINE_IN = 0.17
LEAST_HEIGHT_IN, MOST_HEIGHT_IN, MARGIN_IN = 2.2, 10.0, 1.1
LONGEST_NAME = 16


def time_span(placements: Placements) -> tuple[float, float]:
    """First start and last end, in seconds; 0 to 1 without placements."""
    if not len(placements):
        return 0.0, 1.0
    return float(placements.start_s.min()), float(placements.end_s.max())


def new_gantt_sheet(title: str, subtitle: str, rows: int) -> tuple[Figure, Axes]:
    """A figure whose height fits `rows` rows."""
    from motet.report.rendering.notebook_figure import blank_figure

    height_in = min(max(MACHINE_IN * rows, LEAST_HEIGHT_IN), MOST_HEIGHT_IN) + MARGIN_IN
    figure = blank_figure(WIDTH_IN, height_in)
    axes = figure.subplots()
    quieten(axes)
    axes.grid(visible=False)
    entitle(axes, title, subtitle)
    axes.set_ylim(rows - 0.5, -0.5)
    return figure, axes


def label_machines(axes: Axes, names: Sequence[str], machines_per_row: int) -> None:
    """Label every row, or every n-th row if there are more than MOST_MACHINES."""
    rows = -(-len(names) // machines_per_row)
    step = -(-rows // MOST_MACHINES)
    places = range(0, rows, step)
    axes.set_yticks(places, [_short(names[place * machines_per_row]) for place in places])
    axes.tick_params(axis="y", labelsize=8.5 if rows <= 30 else 7)


def _short(name: str) -> str:
    return name if len(name) <= LONGEST_NAME else f"{name[: LONGEST_NAME - 1]}…"
