"""A job under `--auto` over time: epochs as measured and predicted, and roles of machines."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from motet.report.rendering.figure_parts import (
    LEGEND,
    WIDTH_IN,
    entitle,
    quieten,
    save,
    scale_time,
    shortened,
)
from motet.report.rendering.palette import QUIET_INK, REFERENCE, job_colour
from motet.runtime.autotune.history import TuningHistory

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

HEIGHT_IN = 5.0


def save_auto_figure(history: TuningHistory, title: str, subtitle: str, path: Path) -> None:
    """Draw it and write a PNG."""
    save(auto_figure(history, title, subtitle), path)


def auto_figure(history: TuningHistory, title: str, subtitle: str) -> Figure:
    """The figure itself. Imports matplotlib."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(WIDTH_IN, HEIGHT_IN), facecolor="white", layout="constrained")
    upper, lower = figure.subplots(2, 1, sharex=True, height_ratios=[2.2, 1])
    for axes in (upper, lower):
        quieten(axes)
        _mark_changes(axes, history)
    entitle(upper, shortened(title), subtitle)
    _draw_epochs(upper, history)
    _draw_roles(lower, history)
    ends_s = [each.end_s for each in history.epochs]
    lower.set_xlim(0, max(ends_s, default=1.0) * 1.01)
    scale_time(lower.xaxis, max(ends_s, default=1.0))
    return figure


def _draw_epochs(axes: Axes, history: TuningHistory) -> None:
    """The mark of an epoch is at the time of its end."""
    steady = [each for each in history.epochs if each.is_steady]
    mixed = [each for each in history.epochs if not each.is_steady]
    colour = job_colour(0)
    for epochs, filling, label in ((steady, colour, "measured"), (mixed, "white", "with a change")):
        if epochs:
            times, seconds = [e.end_s for e in epochs], [e.measured_s for e in epochs]
            style: dict[str, Any] = {
                "color": filling,
                "edgecolor": colour,
                "linewidth": 1.0,
                "zorder": 3,
            }
            axes.scatter(times, seconds, s=18, label=label, **style)
    starts = [0.0, *(each.end_s for each in history.epochs)]
    label = "predicted"
    for start_s, each in zip(starts, history.epochs, strict=False):
        if each.predicted_s is not None:
            span = [start_s, each.end_s]
            line: dict[str, Any] = {
                "color": job_colour(1),
                "linewidth": 2.2,
                "solid_capstyle": "butt",
            }
            axes.plot(span, [each.predicted_s] * 2, label=label, **line)
            label = "_nolegend_"
    # Room for the legend.
    most_s = max((each.measured_s for each in history.epochs), default=1.0)
    axes.set_ylim(0, 1.25 * most_s)
    axes.set_ylabel("seconds per epoch", color=QUIET_INK, fontsize=9)
    if history.epochs:
        axes.legend(loc="upper right", ncols=3, **LEGEND)


def _draw_roles(axes: Axes, history: TuningHistory) -> None:
    from matplotlib.ticker import MaxNLocator

    times = [0.0, *(each.end_s for each in history.epochs)]
    for place, role in ((2, "workers"), (3, "servers")):
        counts = [getattr(each.roles, role) for each in history.epochs]
        if counts:
            colour = job_colour(place)
            axes.step(
                times, [counts[0], *counts], where="pre", color=colour, linewidth=2.2, label=role
            )
    most = max((max(e.roles.workers, e.roles.servers) for e in history.epochs), default=1)
    axes.set_ylim(0, 1.45 * most)
    axes.yaxis.set_major_locator(MaxNLocator(integer=True))
    axes.set_ylabel("machines", color=QUIET_INK, fontsize=9)
    if history.epochs:
        axes.legend(loc="upper right", ncols=2, **LEGEND)


def _mark_changes(axes: Axes, history: TuningHistory) -> None:
    """Time from the decision to the completion of its plan."""
    for record in history.decisions:
        if record.report is not None:
            axes.axvline(
                record.at_s, color=REFERENCE, linewidth=1.0, linestyle=(0, (1, 2)), zorder=1
            )
            end_s = record.at_s + record.report.plan_s
            axes.axvspan(record.at_s, end_s, color=REFERENCE, alpha=0.15, linewidth=0, zorder=0)
