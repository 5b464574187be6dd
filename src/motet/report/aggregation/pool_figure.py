"""Figure of a simulated pool of Aggregators: their number over time, ratios, predicted losses."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from motet.domain.arrays import Floats
from motet.report.rendering.figure_parts import (
    DPI,
    LEGEND,
    QUIET,
    quieten,
    scale_time,
)
from motet.report.rendering.palette import INK, QUIET_INK, REFERENCE, job_colour

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

WIDTH_IN, HEIGHT_IN = 9.0, 6.4
_SERVERS, _AGGREGATORS, _LOSS = job_colour(1), job_colour(0), job_colour(3)


@dataclass(frozen=True, eq=False)
class PoolColumns:
    """Input of the figure. From `at_s[i]` to `at_s[i + 1]` on, `(steps,)`: numbers of parameter
    servers and Aggregators, mean and largest predicted loss. `ratios`: `(minutes,)`.
    """

    title: str
    subtitle: str
    at_s: Floats
    servers: Floats
    aggregators: Floats
    mean_loss: Floats
    largest_loss: Floats
    ratios: Floats
    loss_limit: float


def save_pool_figure(pool: PoolColumns, path: Path) -> None:
    """Write the figure as a PNG."""
    pool_figure(pool).savefig(path, dpi=DPI, format="png", metadata={"Software": "motet"})


def pool_figure(pool: PoolColumns) -> Figure:
    """Numbers over time in the first row; ratios and losses in the second."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(WIDTH_IN, HEIGHT_IN), facecolor="white", layout="constrained")
    figure.get_layout_engine().set(w_pad=0.12, h_pad=0.1)  # type: ignore[union-attr,call-arg]
    figure.suptitle(pool.title, x=0.02, ha="left", fontsize=13, color=INK, fontweight="bold")
    grid = figure.add_gridspec(2, 2)
    panels = ((grid[0, :], _draw_numbers), (grid[1, 0], _draw_ratios), (grid[1, 1], _draw_losses))
    for place, draw in panels:
        axes = figure.add_subplot(place)
        quieten(axes)
        draw(axes, pool)
    return figure


def _draw_numbers(axes: Axes, pool: PoolColumns) -> None:
    _head(axes, "CPU servers for aggregation", pool.subtitle)
    at = pool.at_s
    for values, name, colour in (
        (pool.servers, "parameter servers of each job's own", _SERVERS),
        (pool.aggregators, "Aggregators of the shared pool", _AGGREGATORS),
    ):
        axes.fill_between(at, values, step="post", color=colour, alpha=0.18, linewidth=0)
        axes.step(at, values, where="post", color=colour, linewidth=1.3, label=name)
    axes.set_ylim(0, 1.25 * float(max(pool.servers.max(), pool.aggregators.max(), 1)))
    axes.set_xlim(float(at[0]), float(at[-1]))
    scale_time(axes.xaxis, float(at[-1] - at[0]), ticks=10)
    axes.legend(**LEGEND, loc="upper left", ncols=2)


def _draw_ratios(axes: Axes, pool: PoolColumns) -> None:
    below = float(np.mean(pool.ratios < 1)) if len(pool.ratios) else 0.0
    _head(axes, "Aggregators / servers", f"share of the minutes; below 1 in {below:.1%} of them")
    ordered = np.sort(pool.ratios)
    share = np.arange(1, len(ordered) + 1) / max(len(ordered), 1)
    axes.step(ordered, share, where="post", color=_AGGREGATORS, linewidth=1.8)
    axes.axvline(1, color=REFERENCE, linewidth=1, linestyle=(0, (4, 3)))
    axes.set_xlim(0, max(1.1, 1.05 * float(ordered.max(initial=1))))
    axes.set_ylim(0, 1.03)
    axes.set_xlabel("ratio", color=QUIET_INK, fontsize=9)


def _draw_losses(axes: Axes, pool: PoolColumns) -> None:
    _head(axes, "Predicted loss of speed", "of the jobs that run; the line is LossLimit")
    for values, name, colour, wide in (
        (pool.largest_loss, "largest", _LOSS, 0.9),
        (pool.mean_loss, "mean", _AGGREGATORS, 1.3),
    ):
        axes.step(pool.at_s, 100 * values, where="post", color=colour, linewidth=wide, label=name)
    axes.axhline(100 * pool.loss_limit, color=REFERENCE, linewidth=1, linestyle=(0, (4, 3)))
    axes.set_ylim(0, 140 * pool.loss_limit)
    axes.set_xlim(float(pool.at_s[0]), float(pool.at_s[-1]))
    axes.set_ylabel("%", **QUIET)
    scale_time(axes.xaxis, float(pool.at_s[-1] - pool.at_s[0]), ticks=6)
    axes.legend(**LEGEND, loc="upper right", ncols=2)


def _head(axes: Axes, title: str, subtitle: str) -> None:
    axes.set_title(title, loc="left", fontsize=11, color=INK, fontweight="bold", pad=20)
    axes.text(0, 1.035, subtitle, transform=axes.transAxes, **QUIET)
