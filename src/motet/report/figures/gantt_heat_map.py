"""Heat map of the use of machines: the share of their GPUs that jobs hold, over time."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from motet.domain.arrays import Floats
from motet.report.cluster_run.placements import Placements, held_until
from motet.report.figures.gantt_sheet import label_machines, new_gantt_sheet, time_span
from motet.report.rendering.figure_parts import scale_time
from motet.report.rendering.palette import QUIET_INK

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MOST_ROWS, TIME_SLICES = 300, 400


def heat_map(title: str, placements: Placements) -> Figure:
    """A row per machine, or per group of machines where there are more than MOST_ROWS."""
    names = placements.machine_names
    machines_per_row = -(-len(names) // MOST_ROWS)
    rows = -(-len(names) // machines_per_row)
    begin_s, end_s = time_span(placements)
    figure, axes = new_gantt_sheet(title, _subtitle(machines_per_row), rows)
    image = axes.imshow(
        _use(placements, machines_per_row, np.linspace(begin_s, end_s, TIME_SLICES + 1)),
        aspect="auto",
        interpolation="nearest",
        cmap="Blues",
        vmin=0,
        vmax=1,
        extent=(0, end_s - begin_s, rows - 0.5, -0.5),
    )
    axes.grid(visible=False)
    scale_time(axes.xaxis, max(end_s - begin_s, 1e-6))
    label_machines(axes, names, machines_per_row)
    bar = figure.colorbar(image, ax=axes, shrink=0.5, anchor=(0, 1), pad=0.02, aspect=14)
    bar.ax.yaxis.set_major_formatter(lambda share, _: f"{share:.0%}")
    bar.ax.tick_params(colors=QUIET_INK, labelsize=8.5, length=0)
    bar.outline.set_visible(False)
    return figure


def _subtitle(machines_per_row: int) -> str:
    subtitle = "share of its GPUs that jobs hold; too many jobs or machines to draw them one by one"
    if machines_per_row > 1:
        subtitle += f"\na line: the average of {machines_per_row} machines"
    return subtitle


def _use(placements: Placements, machines_per_row: int, edges_s: Floats) -> Floats:
    """Share of the GPUs of each row that jobs hold, `(rows, slices)`."""
    group = placements.machine // machines_per_row
    gpus = np.add.reduceat(
        placements.machine_gpus, np.arange(0, len(placements.machine_gpus), machines_per_row)
    )
    order = np.argsort(group, kind="stable")
    cuts = np.searchsorted(group[order], np.arange(1, len(gpus)))
    held = [np.diff(held_until(placements.of(rows), edges_s)) for rows in np.split(order, cuts)]
    use: Floats = np.array(held) / np.maximum(gpus[:, None] * np.diff(edges_s), 1e-12)
    return use
