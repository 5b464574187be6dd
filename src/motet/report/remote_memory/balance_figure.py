"""Figure of simulated lending: memory use of all machines, and its imbalance over time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from motet.domain.arrays import Floats
from motet.report.rendering.figure_parts import DPI, LEGEND, QUIET, quieten
from motet.report.rendering.palette import INK, job_colour

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

WIDTH_IN, HEIGHT_IN = 9.0, 4.0


@dataclass(frozen=True, eq=False)
class MachineUse:
    """`ordered`: share of its memory that each machine uses, ascending, `(machines,)`.
    `max_median`: by second, `(steps,)`."""

    name: str
    ordered: Floats
    max_median: Floats


@dataclass(frozen=True, eq=False)
class BalanceColumns:
    """Input of the figure."""

    title: str
    uses: Sequence[MachineUse]


def save_balance_figure(columns: BalanceColumns, path: Path) -> None:
    """Write the figure as a PNG."""
    balance_figure(columns).savefig(path, dpi=DPI, format="png", metadata={"Software": "motet"})


def balance_figure(columns: BalanceColumns) -> Figure:
    """Machines in the order of their use on the left, the ratio over time on the right."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(WIDTH_IN, HEIGHT_IN), facecolor="white", layout="constrained")
    figure.get_layout_engine().set(w_pad=0.12, h_pad=0.1)  # type: ignore[union-attr,call-arg]
    figure.suptitle(columns.title, x=0.02, ha="left", fontsize=13, color=INK, fontweight="bold")
    left, right = figure.subplots(1, 2)
    for axes in (left, right):
        quieten(axes)
    _draw_machines(left, columns.uses)
    _draw_ratios(right, columns.uses)
    return figure


def _draw_machines(axes: Axes, uses: Sequence[MachineUse]) -> None:
    _head(
        axes, "Memory use of machines", "% of a machine's memory, machines in its order, at the end"
    )
    for number, use in enumerate(uses):
        places = np.arange(1, len(use.ordered) + 1)
        axes.plot(
            places, 100 * use.ordered, color=job_colour(number), linewidth=1.6, label=use.name
        )
    axes.set_ylim(0, 130)
    axes.set_yticks(range(0, 101, 20))
    axes.legend(**LEGEND, loc="upper left")


def _draw_ratios(axes: Axes, uses: Sequence[MachineUse]) -> None:
    _head(axes, "Maximum / median", "of the machines' memory use, by second")
    for number, use in enumerate(uses):
        axes.plot(use.max_median, color=job_colour(number), linewidth=1.3)
    axes.set_ylim(0, 1.1 * max(float(use.max_median.max()) for use in uses))
    axes.set_xlabel("s", **QUIET)


def _head(axes: Axes, title: str, subtitle: str) -> None:
    axes.set_title(title, loc="left", fontsize=11, color=INK, fontweight="bold", pad=20)
    axes.text(0, 1.035, subtitle, transform=axes.transAxes, **QUIET)
